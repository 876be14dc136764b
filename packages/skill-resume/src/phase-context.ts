/** The context of a function phase: its durable calls, made by the same code as a script's. */
import { askModel, JournalError, type Lane, type Reconciled, type Tool } from "@reyn/journal";
import {
	agentCall,
	agentStep,
	askCall,
	askStep,
	Draws,
	isBeneath,
	nowStep,
	reasonOf,
	sleepStep,
	startOf,
	toolStepThatThrows,
	unlessAborted,
} from "@reyn/journal/internal";
import type { AgentOptions, BranchesFailed } from "@reyn/journal/script";
import { isReynError } from "@reyn/wal";
import { z } from "zod";
import type { ChildEnd } from "./children.ts";
import type { PhaseContext } from "./define-skill.ts";
import { SkillError } from "./errors.ts";
import { skillNamed } from "./found-skills.ts";
import { notJson } from "./not-json.ts";
import type { SkillPorts } from "./run-skill.ts";

/** Where a phase runs. */
export interface PhaseAt {
	readonly skill: string;
	readonly phase: string;
	readonly visit: number;
	readonly tools: readonly Tool[];
	/** Aborts once its function is over: questions are withdrawn then, and children stop. */
	readonly over: AbortSignal;
	/** Gets each child that runs: the phase is over when they are. */
	child<T>(running: Promise<T>): Promise<T>;
}

export function contextOf(at: PhaseAt, lane: Lane, ports: SkillPorts): PhaseContext {
	const { model, signal, logId } = ports;
	const { skill, visit, tools, over } = at;
	// Drawn from the place, so that a later try draws the same; and from the log, so that another log draws others.
	const draws = new Draws(`${logId}\n${lane.path}`);
	const until = (cancelled: AbortSignal): AbortSignal => {
		const either = AbortSignal.any([cancelled, over]);
		either.throwIfAborted();
		return either;
	};
	return {
		visit,
		signal,
		step: (name, call, { args = {}, ...options }) => lane.perform({ kind: "step", name, args, call, ...options }),
		model: (request) => askModel(lane, model, request),
		async agent(prompt: string, options: AgentOptions = {}) {
			const call = read(at, "agent", agentCall, { ...options, prompt });
			for (const name of call.tools ?? []) toolNamed(at, name);
			const step = said(at, "agent", () => agentStep(call, model, tools, (text) => lane.redact(text)));
			return (await lane.perform(step)).value as never;
		},
		async ask(question, options = {}) {
			const call = read(at, "ask", askCall, { ...options, question });
			const { ask } = ports;
			if (!ask)
				throw new SkillError(
					"SKILL_CALL",
					`phase "${at.phase}" of ${skill} asks a person (${JSON.stringify(question)}), and nobody can be asked: give the port \`ask\``,
					{ skill, phase: at.phase, call: "ask", port: "ask" },
				);
			const put = askStep(call, async ({ signal: cancelled, ...asked }) => {
				const open = until(cancelled);
				const answer = await unlessAborted(ask({ ...asked, lane: lane.path, signal: open }), open);
				if (answer !== undefined && call.choices?.includes(answer) !== false) return answer;
				const found = answer === undefined ? "" : `; found ${JSON.stringify(answer)}, and it takes one of its choices`;
				throw new JournalError("CALL_WAITING", `${skill} waits for an answer: ${question}${found}`, { seq: asked.seq });
			});
			return lane.perform(put);
		},
		async skill(name, input) {
			const { children } = ports;
			const called = skillNamed(children?.found ?? { skills: [], problems: [] }, read(at, "skill", z.string(), name));
			assertJson(at, "skill", "input", input);
			const endOf = (end: ChildEnd): Reconciled<unknown> & { kind: "done" | "failed" } =>
				end.kind === "done"
					? { kind: "done", result: end.output }
					: { kind: "failed", error: failed(name, end.reason) };
			return lane.perform<unknown>({
				...{ kind: "skill", name, args: input === undefined ? {} : { input } },
				// Whatever the skill does, its start is durable before: it names the child, so that no second one is begun.
				purity: "side_effect",
				async call({ signal: cancelled, idempotencyKey = "", lane: inside }) {
					const place = { lane: inside.path, started: startOf(idempotencyKey), signal: until(cancelled) };
					// biome-ignore lint/style/noNonNullAssertion: the skill is one of these.
					const end = endOf(await at.child(children!.run(called, input, place)));
					if (end.kind === "failed") throw end.error;
					return end.result;
				},
				async reconcile(idempotencyKey) {
					const end = children?.endOf(startOf(idempotencyKey));
					return end ? endOf(end) : { kind: "not_done" };
				},
			});
		},
		tool: async (name, args = {}) => {
			const call = read(at, "tool", toolCall, { name, args });
			assertJson(at, "tool", "args", call.args);
			return lane.perform(toolStepThatThrows(toolNamed(at, call.name), call.args));
		},
		async parallel(tasks) {
			return together(skill, await Promise.allSettled(tasks.map(async (task) => task())));
		},
		random: () => draws.random(),
		uuid: () => draws.uuid(),
		now: () => lane.perform(nowStep(ports)),
		sleep: async (ms) => void (await lane.perform(sleepStep(read(at, "sleep", sleepCall, { ms }).ms, ports))),
		abort(reason) {
			throw new SkillError("SKILL_ABORTED", reason, { skill });
		},
	};
}

const toolCall = z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()) });
const sleepCall = z.strictObject({ ms: z.number().nonnegative() });

/** @throws SkillError `SKILL_CALL` */
export function toolNamed({ skill, phase, tools }: Pick<PhaseAt, "skill" | "phase" | "tools">, name: string): Tool {
	const tool = tools.find((each) => each.name === name);
	if (tool) return tool;
	const known = tools.map((each) => each.name);
	throw new SkillError(
		"SKILL_CALL",
		`there is no tool "${name}" for phase "${phase}" of ${skill}; there ${known.length === 0 ? "is none" : `are ${known.join(", ")}`}`,
		{ skill, phase, tool: name, known },
	);
}

/** The arguments of a call. @throws SkillError `SKILL_CALL` naming the phase and the field */
function read<T>(at: PhaseAt, call: string, schema: z.ZodType<T>, given: unknown): T {
	const found = schema.safeParse(given);
	if (found.success) return found.data;
	const issues = found.error.issues.map(({ path, message }) => ({ field: path.map(String).join("."), message }));
	const why = issues.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join("; ");
	throw wrong(at, call, why, issues[0]?.field);
}

/** @throws SkillError `SKILL_CALL` naming the phase and the field */
function assertJson(at: PhaseAt, call: string, name: string, given: unknown): void {
	const lack = notJson(given, name);
	if (lack) throw wrong(at, call, lack.why, lack.path);
}

/** @throws SkillError `SKILL_CALL` for what a script's call is refused for, too */
function said<T>(at: PhaseAt, call: string, make: () => T): T {
	try {
		return make();
	} catch (error) {
		if (isReynError(error, "SCRIPT_INVALID")) throw wrong(at, call, error.message);
		throw error;
	}
}

const wrong = ({ skill, phase }: PhaseAt, call: string, why: string, field?: string): SkillError =>
	new SkillError("SKILL_CALL", `phase "${phase}" of ${skill} calls ${call} with what does not fit: ${why}`, {
		...{ skill, phase, call },
		...(field && { field }),
	});

const failed = (skill: string, reason: string): SkillError =>
	// Its end is recorded, so the same child cannot be asked again.
	Object.assign(new SkillError("SKILL_CHILD", reason, { skill }), { retryable: false });

/** @throws what is no failure of a branch, such as a cancel; else SkillError `SKILL_BRANCHES` where any failed */
function together<T>(skill: string, results: readonly PromiseSettledResult<T>[]): T[] {
	const errors = results.flatMap((each, position) =>
		each.status === "rejected" ? [{ position, error: each.reason as unknown }] : [],
	);
	const ended = errors.find(({ error }) => isBeneath(error) || (error as { code?: unknown }).code === "SKILL_ABORTED");
	if (ended) throw ended.error;
	if (errors.length === 0) return results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
	const failed = errors.map(({ position, error }) => {
		const { message, code } = reasonOf(error);
		return { position, message, ...(code !== undefined && { code }) };
	});
	const detail: BranchesFailed = { failed, branches: results.length };
	const said = failed.map(({ position, message }) => `${position}: ${message}`).join("; ");
	const why = `${failed.length} of ${results.length} branches of ${skill} failed (${said})`;
	// The causes say which calls the run has ended by: a next try makes them again.
	const cause = new AggregateError(errors.map(({ error }) => error));
	throw new SkillError("SKILL_BRANCHES", why, { ...detail }, { cause });
}
