/** `status`: all that is unfinished: questions without an answer, plans, skills, scripts, what tasks start, and moves that a crash has cut. */
import type { Runtime } from "@reyn/runtime";
import { taskStatusSchema } from "@reyn/tasks";
import { z } from "zod";
import { planLines } from "../lines/plan.ts";
import { questionLines } from "../lines/question.ts";
import { scopeText } from "../lines/scope.ts";
import { runLines } from "../lines/script.ts";
import { list, planShape, questionShape, scriptRunShape, seq, session, skillRunShape } from "../shapes.ts";
import { clean, oneLine } from "../text.ts";
import { readVerb } from "../verb.ts";
import { withCost } from "./plan.ts";
import { skillLines, skillsOf } from "./skill.ts";

export const status = readVerb({
	name: "status",
	summary:
		"all that is unfinished: questions without an answer, plans, skills, scripts, tasks that start something, a rewind that was cut",
	params: {},
	example: "",
	result: z.object({
		turns: list(
			z.object({ scope: session, turn: seq, text: z.string(), isCompaction: z.literal(true).exactOptional() }),
		),
		plans: list(planShape),
		skills: list(skillRunShape),
		scripts: list(scriptRunShape),
		questions: list(questionShape),
		/** Those that start something here, which is not over. */
		tasks: list(
			z.object({ task: z.string(), title: z.string(), status: taskStatusSchema, waits: z.string().exactOptional() }),
		),
		/** Whose files, or what else lies beside the log, may be half moved. */
		moves: list(z.object({ seq, target: seq })),
		/** The process that has it open and hears others; null: none answers. Absent: nobody was asked. */
		holder: z.int().positive().nullable().exactOptional(),
	}),
	async read(runtime, _given, holder) {
		const pid = holder && ((await holder(runtime.wal.id)) ?? null);
		const restored = runtime.restored();
		const { turns } = restored;
		const plans = await Promise.all(restored.plans.map((each) => withCost(runtime, each)));
		return {
			...{ turns, plans },
			skills: await skillsOf(runtime),
			scripts: runtime.scripts.list().filter(({ status }) => status === "open"),
			questions: runtime.questions(),
			tasks: await tasksOf(runtime),
			moves: runtime.timeline.unsettled().map(({ seq, target }) => ({ seq, target })),
			...(pid !== undefined && { holder: pid }),
		};
	},
	lines({ turns, plans, skills, scripts, questions, tasks, moves, holder }, say) {
		const isBegun = [...plans, ...skills].some(({ status }) => status === "running");
		const told = [
			...turns.map(({ scope, turn, text, isCompaction }) => {
				const what = isCompaction
					? "has yet to tell in short what was said"
					: `has no answer yet: ${oneLine(text, 70)}`;
				return `#${turn} ${scopeText(scope)} ${what}`;
			}),
			...(plans.length > 0 ? planLines(plans) : []),
			...(skills.length > 0 ? skillLines(skills) : []),
			...(scripts.length > 0 ? runLines(scripts, say) : []),
			...questions.flatMap((each) => questionLines(each, say)),
			...tasks.map(({ task, title, status, waits }) =>
				[
					clean(task),
					status,
					oneLine(title, 70),
					...(waits === undefined ? [] : [`waits: ${oneLine(waits, 300)}`]),
				].join("  "),
			),
			...moves.map(
				({ seq, target }) => `#${seq} the move to #${target} was cut; the next command that writes finishes it`,
			),
		];
		if (told.length === 0) told.push("nothing is unfinished");
		if (holder != null) told.push(`process ${holder} has it open`);
		if (holder === null && (isBegun || turns.length > 0 || scripts.length > 0))
			told.push(`no process answers for it; go on with: ${say`resume`}`);
		return told;
	},
});

/** As they were last seen; a ready one whose skill does not load waits for that. */
async function tasksOf(runtime: Runtime) {
	const pending = runtime.tasks.pending();
	const isSkill = pending.some(({ starts }) => starts && "skill" in starts);
	const { problems } = isSkill ? await runtime.skills() : { problems: [] };
	return pending.map(({ task, title, status, starts }) => {
		const problem = problems.find(({ name }) => starts && "skill" in starts && starts.skill === name);
		return { task, title, status, ...(problem && { waits: problem.error.message }) };
	});
}
