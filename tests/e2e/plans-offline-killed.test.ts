/**
 * Plans of the bundled model on a copy of these docs, the command line killed wherever a fact says so (a record, a request, a file, a
 * word of it is there), and while it discards, pauses, amends and retries them. What is paid is counted by the file in which the model
 * itself notes each call; what is shown, by what each process has printed. Nothing is paid twice, each answer is that of a plan that
 * nobody killed, and is shown: again only where a kill fell before it was noted that it had been.
 */
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { modelCalls, type Place, reyn, whereOf } from "../cli.ts";
import { type Killable, startProcess } from "../kit/killable.ts";
import { type Line, recordsIn } from "../kit/log-lines.ts";
import { type Random, SEED, seeded } from "../kit/seeded.ts";
import { sample } from "../sample.ts";
import { root as repository } from "../workspace.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plans-offline-"));
	await cp(join(repository, "docs"), join(root, "docs"), { recursive: true });
});
afterAll(() => rm(root, { recursive: true, force: true }));

const GOAL = "compare snapshots and checkpoints, with references";
const CONCURRENCY = 3;
/** The exit code where a step has failed. */
const PLAN_FAILED = 6;
/** Milliseconds of each answer of the model, so that it has a middle. */
const PACE = "60";

interface Plan extends Place {
	readonly random: Random;
	/** Of each message, in all lives: the texts that were shown of it; empty where a kill has cut one. */
	readonly shown: Map<number, string[]>;
	kills: number;
	/** Calls of the model whose answer a kill has taken. */
	lost: number;
}

const planAt = (name: string, random: Random): Plan => ({
	...{ cwd: join(root, "docs"), state: join(root, name, "state"), trace: join(root, `${name}.jsonl`) },
	...{ random, shown: new Map(), kills: 0, lost: 0 },
});

/** What the log says, by a reader of its own. */
interface Known {
	readonly records: readonly Line[];
	of(kind: string): readonly Line[];
	readonly plan: string;
	/** The answers of the model in it, by lane: the fingerprints of what it was asked. */
	readonly answered: ReadonlyMap<string, readonly string[]>;
	/** The messages that are known to be shown. */
	readonly delivered: ReadonlySet<number>;
	/** The steps that have failed, as their last record says. */
	readonly failed: readonly string[];
	/** Once nothing of it is left to do or to say. */
	readonly outcome: "completed" | "discarded" | undefined;
}

async function knownOf({ state }: Place): Promise<Known> {
	const records = await recordsIn(state);
	const of = (kind: string) => records.filter((record) => record.kind === kind);
	const answered = new Map<string, string[]>();
	for (const { data } of of("step_completed"))
		if (data.kind === "model") answered.set(data.lane, [...(answered.get(data.lane) ?? []), data.fp]);
	const ends = new Map<string, string>();
	for (const { kind, data } of records) {
		if (kind === "plan_step_completed" || kind === "plan_step_failed") ends.set(data.step, kind);
		if (kind === "plan_steps_reset") for (const id of data.steps) ends.delete(id);
	}
	const delivered = new Set(of("message_delivered").map(({ data }) => data.message));
	const last = records.findLast(({ kind }) => /^plan_(completed|aborted|steps_reset)$/.test(kind))?.kind;
	const messages = of("assistant_message");
	const isSaid = messages.length > 0 && messages.every(({ seq }) => delivered.has(seq));
	return {
		...{ records, of, answered, delivered, plan: of("plan_started")[0]?.data.plan },
		failed: [...ends].flatMap(([id, kind]) => (kind === "plan_step_failed" ? [id] : [])),
		outcome: !isSaid
			? undefined
			: last === "plan_completed"
				? "completed"
				: last === "plan_aborted"
					? "discarded"
					: undefined,
	};
}

/** What is waited for before a process is killed: so many more of these than there were. */
const counts = {
	records: async ({ state }: Plan) => (await recordsIn(state)).length,
	requests: async (plan: Plan) => modelCalls(plan).length,
	// Steps of plans, results that lie beside the log.
	files: async ({ state }: Plan) => {
		const all = await Promise.all(
			["plans", "results"].map((each) => readdir(join(state, "state", each), { recursive: true }).catch(() => [])),
		);
		return all.flat().length;
	},
	messages: async (_: Plan, { lines }: Killable) => lines.filter((line) => messageOf(line)).length,
	// Before it reads what there is.
	locks: async ({ state }: Plan, { child: { pid } }: Killable) => {
		const held = await readFile(join(state, "state/wal.lock"), "utf8").catch(() => "");
		return held.startsWith(`{"pid":${pid},`) ? 1 : 0;
	},
};

type Fact = readonly [what: keyof typeof counts, most: number];

/** Of a command that works, and of one that only notes what a person wants. */
const atWork: readonly Fact[] = [
	["records", 50],
	["records", 50],
	["requests", 12],
	["files", 8],
	["messages", 1],
];
const inRetry: readonly Fact[] = [
	["records", 16],
	["requests", 3],
	["files", 2],
];
const atOnce: readonly Fact[] = [
	["locks", 1],
	["records", 2],
];

/** The message that a line of `stream-json` shows; without its text where a kill has cut the line. */
function messageOf(line: string): { readonly seq: number; readonly text?: string } | undefined {
	const seq = /^\{"type":"message","message":\{"seq":(\d+),/.exec(line)?.[1];
	if (seq === undefined) return undefined;
	return line.endsWith("}}") ? JSON.parse(line).message : { seq: Number(seq) };
}

/** Looks until so much more of it is there, or the process is over. */
async function untilThere(plan: Plan, facts: readonly Fact[], working: Killable, isOver: () => boolean): Promise<void> {
	const [what, most] = plan.random.pick(facts);
	const count = counts[what];
	const enough = (await count(plan, working)) + 1 + plan.random.below(most);
	while (!isOver() && (await count(plan, working)) < enough) await pause(1);
}

/** A process from its start to its end, or to its kill; held to what it may pay and show. @returns its exit code; undefined: it was killed */
async function live(
	plan: Plan,
	args: readonly string[],
	facts?: readonly Fact[],
	env: NodeJS.ProcessEnv = {},
): Promise<number | undefined> {
	const before = await knownOf(plan);
	const working = startProcess([process.execPath, ...reyn, ...whereOf(plan), "--pace", PACE, ...args], {
		env: { NO_COLOR: "1", REYN_MODEL_TRACE: plan.trace, ...env },
	});
	let isOver = false;
	void working.ended.then(() => {
		isOver = true;
	});
	if (facts) await untilThere(plan, facts, working, () => isOver);
	const { code, signal, stdout, stderr, pid } = await (facts ? working.kill() : working.ended);
	const isKilled = signal === "SIGKILL";
	const after = await knownOf(plan);
	const told = `${args.join(" ")}: ${stderr}\n${after.records.map(({ seq, kind, data }) => `${seq} ${kind} ${data.step ?? data.lane ?? ""}`).join("\n")}`;

	// What it has paid for: what is recorded, and where it was killed at most what was open.
	const paid = modelCalls(plan).flatMap((call) => (call.pid === pid ? [call.request] : []));
	const recorded = minus([...after.answered.values()].flat(), [...before.answered.values()].flat());
	const lost = minus(paid, recorded);
	expect(minus(recorded, paid), `recorded, and never paid; ${told}`).toEqual([]);
	expect(new Set(lost).size, `lost twice in one life; ${told}`).toBe(lost.length);
	expect(lost.length, told).toBeLessThanOrEqual(isKilled ? CONCURRENCY : 0);
	// An attempt that still counts asks nothing that it has an answer to. A kill may take the start of the next one, but not the reset.
	const attempts = new Map(after.of("plan_step_started").map(({ data }) => [data.step, data.attempt]));
	for (const { data } of after.of("plan_steps_reset").slice(before.of("plan_steps_reset").length))
		for (const id of data.steps) attempts.delete(id);
	const counted = [...before.answered].filter(([lane]) => {
		const [of, , step = "", attempt] = lane.split("/");
		return of === "turn" || attempts.get(step) === Number(attempt);
	});
	const known = new Set(counted.flatMap(([, requests]) => requests));
	expect(
		paid.filter((request) => known.has(request)),
		`paid twice; ${told}`,
	).toEqual([]);
	if (before.of("plan_aborted").length > 0) expect(paid, `paid after a discard; ${told}`).toEqual([]);

	// What it has shown: what was not known to be shown before, and once.
	const messages = stdout.split("\n").flatMap((line) => messageOf(line) ?? []);
	const shown = messages.map(({ seq }) => seq);
	expect(new Set(shown).size, `shown twice in one life; ${told}`).toBe(shown.length);
	for (const { seq, text = "" } of messages) {
		expect(before.delivered.has(seq), `#${seq} shown again; ${told}`).toBe(false);
		plan.shown.set(seq, [...(plan.shown.get(seq) ?? []), text]);
	}
	for (const seq of after.delivered)
		if (!before.delivered.has(seq)) expect(shown, `#${seq} is noted as shown, and was not; ${told}`).toContain(seq);

	plan.lost += lost.length;
	if (isKilled) plan.kills++;
	else expect(code, told).toBe(after.outcome === "completed" && after.failed.length > 0 ? PLAN_FAILED : 0);
	return isKilled ? undefined : (code ?? -1);
}

/** The first list without what the second one has, as often as that has it. */
function minus(all: readonly string[], those: readonly string[]): readonly string[] {
	const left = [...those];
	return all.filter((each) => {
		const at = left.indexOf(each);
		if (at >= 0) left.splice(at, 1);
		return at < 0;
	});
}

const stream = ["--output-format", "stream-json"] as const;

/** The command that goes on with the plan, or asks for it. */
function goOn({ of, plan, outcome }: Known): readonly string[] {
	const isOver = outcome !== undefined || of("plan_aborted").length > 0 || of("plan_completed").length > 0;
	if (of("plan_paused").length > 0 && !isOver) return ["plan", "resume", plan, ...stream];
	return of("user_prompt").length > 0 ? ["resume", ...stream] : ["run", "-p", GOAL, ...stream];
}

/** Goes on with it to its end, killed up to so many times. */
async function finish(plan: Plan, kills: number, env?: NodeJS.ProcessEnv): Promise<Known> {
	const most = plan.kills + kills;
	for (let lives = 0; lives < 40; lives++) {
		const known = await knownOf(plan);
		if (known.outcome) return known;
		await live(plan, goOn(known), plan.kills < most ? atWork : undefined, env);
	}
	throw new Error("it does not end");
}

/** Brings a plan to where some of it is done, by kills. Undefined: it has come to its end before. */
async function midway(plan: Plan): Promise<Known | undefined> {
	for (let lives = 0; lives < 20; lives++) {
		const known = await knownOf(plan);
		if (known.of("assistant_message").length > 0) return undefined;
		if (known.of("plan_step_completed").length > 0) return known;
		await live(plan, goOn(known), [["records", 30]]);
	}
	throw new Error("it does not come so far");
}

/** Begins a command again while it has not done its work, killed some times. @returns how often */
async function persist(plan: Plan, args: readonly string[], facts: readonly Fact[], kind: string): Promise<number> {
	const before = plan.kills;
	for (let lives = 0; (await knownOf(plan)).of(kind).length === 0; lives++) {
		expect(lives, args.join(" ")).toBeLessThan(9);
		await live(plan, args, lives < 4 ? facts : undefined);
	}
	return plan.kills - before;
}

/** What a person does to a plan, and is killed in. @returns how often it was */
type Operation = (plan: Plan) => Promise<number>;

const inFlight =
	(kind: string, argsOf: (plan: string) => readonly string[]): Operation =>
	async (plan) => {
		const known = await midway(plan);
		// What has begun is not amended.
		const isLate = kind === "plan_amended" && known?.of("plan_step_started").some(({ data }) => data.step === "s5");
		return known && !isLate ? persist(plan, argsOf(known.plan), atOnce, kind) : 0;
	};

/** A plan whose steps had too few rounds is over, and one of them runs again with enough. */
const retry: Operation = async (plan) => {
	const { plan: id, failed } = await finish(plan, 0, { REYN_PLAN_STEP_MAX_ITERATIONS: "1" });
	expect(failed.length).toBeGreaterThan(1);
	return persist(plan, ["plan", "retry", id, plan.random.pick(failed), ...stream], inRetry, "plan_steps_reset");
};

const operations: Readonly<Record<string, Operation>> = {
	discard: inFlight("plan_aborted", (plan) => ["plan", "discard", plan]),
	pause: inFlight("plan_paused", (plan) => ["plan", "pause", plan]),
	amend: inFlight("plan_amended", (plan) => ["plan", "amend", plan, "--describe", "s5=Compare both in short", "--yes"]),
	retry,
};

/** By what was done to the plan: the answer that all such plans have. */
type Answers = Map<string, string>;

async function check(plan: Plan, { of, plan: id, outcome, failed, answered }: Known, answers: Answers): Promise<void> {
	const [started, ended] = [of("plan_started"), of(outcome === "completed" ? "plan_completed" : "plan_aborted")];
	const said = of("assistant_message");
	expect([started.length, said.length, said.map(({ data }) => data.from.id)]).toEqual([
		1,
		ended.length,
		said.map(() => id),
	]);
	expect([...plan.shown.keys()].sort()).toEqual(said.map(({ seq }) => seq).sort());
	for (const message of said) {
		const shown = plan.shown.get(message.seq) ?? [];
		const text = await wholeOf(plan, message);
		expect(shown.filter((each) => each !== "" && each !== text)).toEqual([]);
		expect(shown).toContain(text);
	}
	const text = await wholeOf(plan, said.at(-1) as Line);
	if (outcome === "discarded") expect(text).toContain(`Plan ${id} was discarded`);
	const how = `${outcome}, ${of("plan_amended").length > 0 ? "amended" : "as it was"}, failed: ${failed}`;
	expect(text.replaceAll(id, "PLAN"), how).toBe(answers.get(how) ?? text.replaceAll(id, "PLAN"));
	answers.set(how, text.replaceAll(id, "PLAN"));
	// Nothing is recorded twice in an attempt.
	for (const [lane, requests] of answered) expect(new Set(requests).size, lane).toBe(requests.length);
	expect(modelCalls(plan)).toHaveLength([...answered.values()].flat().length + plan.lost);
}

/** A long answer lies beside the log. */
async function wholeOf({ state }: Place, { data }: Line): Promise<string> {
	if (!data.spilled) return data.text;
	const files = await readdir(join(state, "state/results"), { recursive: true });
	const file = files.find((name) => name.replaceAll("/", "").includes(data.spilled.sha256)) as string;
	return readFile(join(state, "state/results", file), "utf8");
}

const KILLS = Number(process.env.REYN_RUNS ?? sample(2, 6));

test(`of plans of the bundled model on real files, ${KILLS} kills: nothing is paid twice, each answer is shown, a discard is final`, async () => {
	const random = seeded(SEED);
	const answers: Answers = new Map();
	const whole = planAt("whole", random);
	const { answered, outcome } = await finish(whole, 0);
	await check(whole, await knownOf(whole), answers);
	const least = [...answered.values()].flat().sort();
	expect([outcome, whole.lost, least.length > 8]).toEqual(["completed", 0, true]);

	const among = new Map(Object.keys(operations).map((name) => [name, 0]));
	let [plans, kills, operated, lost, again] = [0, 0, 0, 0, 0];
	for (; kills < KILLS || operated * 4 < KILLS; plans++) {
		const plan = planAt(`plan-${plans}`, random);
		const isOperated = operated * 4 <= kills;
		// The one that was killed least, so that each has its share.
		const [name, before] = [...among].reduce((least, each) => (each[1] < least[1] ? each : least));
		const killed = isOperated ? await (operations[name] as Operation)(plan) : 0;
		among.set(name, before + killed);
		operated += killed;
		const known = await finish(plan, isOperated ? 1 : 4);
		await check(plan, known, answers);
		expect(known.outcome).toBe(known.of("plan_aborted").length > 0 ? "discarded" : "completed");
		if (!isOperated) expect([...known.answered.values()].flat().sort()).toEqual(least);
		kills += plan.kills;
		lost += plan.lost;
		for (const shown of plan.shown.values()) again += shown.length - 1;
		await rm(join(root, `plan-${plans}`), { recursive: true });
	}
	console.log(
		`${kills} kills in ${plans} plans, ${operated} of them in ${JSON.stringify(Object.fromEntries(among))}; ${lost} open calls lost; ${again} answers shown again, as a kill fell before it was noted that they were`,
	);
});
