/** `resume`: go on with all that was in flight; before, what that is and what it costs. */
import type { Restored, Runtime } from "@reyn/runtime";
import { codeOf } from "@reyn/wal";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { goesOn, pausedWork } from "../lines/paused.ts";
import { scopeText } from "../lines/scope.ts";
import { callsText, paidBelow } from "../model-calls.ts";
import { modelChanged, modelChangedText } from "../model-changed.ts";
import type { Say } from "../say.ts";
import { callsShape, list, modelChangedShape, pausedShape, resumePreviewShape, seq, session } from "../shapes.ts";
import { clean, oneLine } from "../text.ts";
import { readVerb, workVerb } from "../verb.ts";
import { priceLines, priceOf } from "./plan.ts";
import { goingOn, goingOnLines, goingOnShape } from "./skill-resume.ts";

/** A child goes on with the work around it. */
const runningOf = ({ plans, runs }: Pick<Restored, "plans" | "runs">) => ({
	plans: plans.filter(({ status }) => status === "running"),
	runs: runs.filter(({ status, parent }) => status === "running" && !parent),
});

/** Where work stands: whose it is, and its models. */
const stands = {
	scope: session,
	/** The model that it was begun with. Absent: unknown. */
	model: z.string().exactOptional(),
	/** Absent: it goes on with the same one, or that is unknown. What is recorded counts all the same. */
	modelChanged: modelChangedShape.exactOptional(),
};

const inFlightShape = z.object({
	turns: list(
		z.object({
			...{ ...stands, turn: seq, text: z.string() },
			isCompaction: z.literal(true).exactOptional(),
			/** What is recorded of it: that is not paid again. What it has yet to ask is known to nobody. */
			paid: callsShape,
		}),
	),
	plans: list(
		z.object({
			...{ ...stands, plan: z.string(), goal: z.string(), paid: callsShape },
			/** What would run. Absent: nothing, it is given up. */
			price: resumePreviewShape.exactOptional(),
			/** Why it is given up. Absent: it goes on. */
			givenUp: z.string().exactOptional(),
		}),
	),
	/** Those of skills; a child goes on with the work around it. */
	runs: list(goingOnShape),
	/** How many texts were not shown yet. */
	undelivered: seq,
	/** Moves that a crash has cut, which are finished. */
	moves: list(z.object({ seq, target: seq })),
	/** Tasks that start something, or wait for what they have started. */
	tasks: list(z.object({ task: z.string(), title: z.string() })),
	/** What stays as it is. */
	paused: pausedShape,
});

type InFlight = z.infer<typeof inFlightShape>;

async function inFlight(runtime: Runtime): Promise<InFlight> {
	const restored = runtime.restored();
	const { turns, undelivered } = restored;
	const { plans, runs } = runningOf(restored);
	const standing = ({ scope, model }: Pick<Restored["turns"][number], "scope" | "model">) => {
		const changed = modelChanged(runtime, { scope, ...(model !== undefined && { model }) });
		return { scope, ...(model !== undefined && { model }), ...(changed && { modelChanged: changed }) };
	};
	return {
		turns: turns.map(({ turn, text, isCompaction, ...each }) => ({
			...{ ...standing(each), turn, text: oneLine(text, 300) },
			...(isCompaction && { isCompaction }),
			paid: paidBelow(runtime, each.scope, `turn/${turn}`),
		})),
		plans: await Promise.all(
			plans.map(async (each) => ({
				...{
					...standing(each),
					plan: each.plan,
					goal: each.goal,
					paid: paidBelow(runtime, each.scope, `plan/${each.plan}`),
				},
				...(await priceOrEnd(runtime, each.plan)),
			})),
		),
		runs: await Promise.all(runs.map(({ run }) => goingOn(runtime, run))),
		undelivered: undelivered.length,
		moves: runtime.timeline.unsettled().map(({ seq, target }) => ({ seq, target })),
		tasks: runtime.tasks.pending().map(({ task, title }) => ({ task, title })),
		paused: pausedWork(runtime),
	};
}

/** One whose steps are lost is given up. */
async function priceOrEnd(
	runtime: Runtime,
	plan: string,
): Promise<Pick<InFlight["plans"][number], "price" | "givenUp">> {
	const givenUp = runtime.givesUpPlan(plan);
	if (givenUp !== undefined) return { givenUp };
	try {
		return { price: await priceOf(runtime, plan, undefined) };
	} catch (error) {
		if (codeOf(error) !== "PLAN_LOST") throw error;
		return { givenUp: (error as Error).message };
	}
}

function inFlightLines(
	{ turns, plans, runs, undelivered, moves, tasks, paused }: InFlight,
	say: Say,
): readonly string[] {
	const changedLines = (changed: z.infer<typeof modelChangedShape> | undefined): readonly string[] =>
		changed ? [`  ${modelChangedText(changed)}; what is recorded counts all the same`] : [];
	const told = [
		...moves.map(({ seq, target }) => `finishes the move #${seq} to #${target}, which was cut`),
		...turns.flatMap(({ scope, turn, text, isCompaction, modelChanged: changed, paid }) => [
			`turn #${turn} of ${scopeText(scope)} goes on: ${isCompaction ? "what was said is told in short" : oneLine(text, 70)}`,
			...changedLines(changed),
			`  not paid again: ${callsText(paid)}; what it has yet to ask is paid, and not known`,
		]),
		...plans.flatMap(({ plan, goal, modelChanged: changed, paid, price, givenUp }) => {
			if (!price) return [`plan ${plan} is given up: ${oneLine(givenUp ?? "", 200)}`];
			return [
				`plan ${plan} goes on: ${oneLine(goal, 70)}`,
				...changedLines(changed),
				`  not paid again: ${callsText(paid)}`,
				...priceLines(price).map((line) => `  ${line}`),
			];
		}),
		...runs.flatMap((each) => goingOnLines(each).map((line, at) => (at === 0 ? line : `  ${line}`))),
		...(undelivered > 0 ? [`shows ${undelivered} ${undelivered === 1 ? "text" : "texts"} that you have not seen`] : []),
		...tasks.map(({ task, title }) => `looks after task ${clean(task)}: ${oneLine(title, 70)}`),
	];
	const stays = paused.map(
		(each) => `${each.kind} ${each.id} is paused, and stays so; go on with: ${goesOn(each, say)}`,
	);
	return [...(told.length > 0 ? told : ["nothing is in flight"]), ...stays];
}

export const resume = workVerb({
	name: "resume",
	summary: "go on with everything that was in flight, and deliver the answers",
	params: {},
	example: "",
	begun: z.object({ goesOn: z.boolean() }),
	preview: readVerb({
		name: "resume",
		summary:
			"what would go on, with which model, what is recorded and not paid again, and what is paid, as far as that is known",
		params: {},
		example: "",
		result: inFlightShape,
		at: "as recovered",
		read: inFlight,
		lines: inFlightLines,
	}),
	// What would go on is more than what is known to be durable.
	at: "as recovered",
	async check(runtime, _given, say) {
		const restored = runtime.restored();
		const { turns, undelivered } = restored;
		const { plans, runs } = runningOf(restored);
		// A move that was cut is finished by whoever opens the log for work.
		const cut = runtime.timeline.unsettled();
		const waiting = runtime.tasks.pending();
		if (turns.length + plans.length + runs.length + undelivered.length + cut.length + waiting.length > 0) return;
		const paused = pausedWork(runtime);
		const verbs = paused.map((each) => goesOn(each, say));
		const why = paused.length > 0 ? ` but what is paused; go on with: ${verbs.join(", ")}` : "";
		throw new OperatorError("OPERATOR_NOT_FOUND", `nothing is in flight${why}`, { paused });
	},
	async begin(runtime) {
		const restored = runtime.restored();
		const { turns, undelivered } = restored;
		const { plans, runs } = runningOf(restored);
		const waiting = runtime.tasks.pending();
		runtime.resume();
		return { goesOn: turns.length + plans.length + runs.length + undelivered.length + waiting.length > 0 };
	},
	lines: ({ goesOn }) => [goesOn ? "it goes on" : "nothing is unfinished"],
});
