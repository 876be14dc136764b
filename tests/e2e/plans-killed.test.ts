/**
 * Plans on a small repository over a provider's wire, the command line killed at any moment of them, and while it discards, pauses,
 * amends or retries one: no answer of a step that is over is asked for again, each effect is made once, each plan has one outcome and
 * says it once, and what was discarded stays so.
 */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { startProcess } from "../kit/killable.ts";
import { recordsIn } from "../kit/log-lines.ts";
import { type Random, SEED, seeded } from "../kit/seeded.ts";
import { sample } from "../sample.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plans-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const files = {
	"sum.js": "export const sum = (a, b) => a + b;\n",
	"mean.js": 'import { sum } from "./sum.js";\nexport const mean = (all) => all.reduce(sum, 0) / all.length;\n',
	"README.md": "# Mean\n\nThe mean of numbers, with the sum of them.\n",
};

const LONG = "A line that the step has found. ".repeat(60);

/** The steps, what each does first, and what it then says. What `s2` says lies beside the log; `s3` leaves its mark in the world. */
const steps = [
	{ id: "s1", tools: ["read"], depends_on: [], call: { name: "read", args: { path: "sum.js" } }, says: "sum adds" },
	{ id: "s2", tools: ["list"], depends_on: [], call: { name: "list", args: { path: "." } }, says: LONG },
	{
		...{ id: "s3", tools: ["shell"], depends_on: [], says: "marked" },
		call: { name: "shell", args: { command: "echo s3 >> ledger" } },
	},
	{
		id: "s4",
		tools: ["read"],
		depends_on: ["s1", "s2"],
		call: { name: "read", args: { path: "mean.js" } },
		says: LONG,
	},
	{ id: "s5", tools: [], depends_on: ["s3", "s4"], says: "The mean is the sum by the length." },
] as const;

const CONCURRENCY = 3;
/** The exit code where a step has failed. */
const PLAN_FAILED = 6;
const GOAL = "Plan it: how is the mean made?";
const ANSWER = steps[4].says;

// biome-ignore lint/suspicious/noExplicitAny: the body of a request, and the data of records
type Said = any;

/** The steps of which the provider wants to hear nothing. */
const refused = new Set<string>();

/** The step that a request is for; undefined: it is of the turn. */
const stepOf = ({ messages }: Said): string | undefined => /^Step (\w+):/m.exec(textOf(messages))?.[1];

const textOf = (messages: Said[]): string => {
	const { content } = messages.find(({ role }) => role === "user");
	return typeof content === "string" ? content : content.map(({ text }: Said) => text).join("\n");
};

async function replyTo(body: Said): Promise<Reply> {
	await pause(15);
	const id = stepOf(body);
	if (id !== undefined && refused.has(id)) return { refusal: { status: 400, body: { error: { message: "no" } } } };
	if (id === undefined) {
		const proposed = steps.map(({ id, tools, depends_on }) => ({ id, tools, depends_on, description: `Do ${id}` }));
		const args = JSON.stringify({ goal: GOAL, steps: proposed });
		return { calls: [{ id: "call_plan", name: "plan", args }] };
	}
	const step = steps.find((each) => each.id === id);
	if (!step) throw new Error(`no step ${id}`);
	const isFirst = !body.messages.some(({ role }: Said) => role === "assistant");
	if (!("call" in step) || !isFirst) return { text: step.says };
	return { calls: [{ id: `call_${id}`, name: step.call.name, args: JSON.stringify(step.call.args) }] };
}

/** Of each attempt of a step so many answers are paid for. */
const ROUNDS: Readonly<Record<string, number>> = { s1: 2, s2: 2, s3: 2, s4: 2, s5: 1 };

interface Place {
	readonly cwd: string;
	readonly state: string;
	readonly wire: Wire;
	readonly random: Random;
	/** All that was printed for people. */
	said: string;
	kills: number;
	/** The last process was killed: what it wrote last may not be known to be durable. */
	isCut: boolean;
}

async function newPlace(name: string, wire: Wire, random: Random): Promise<Place> {
	const cwd = join(root, name, "files");
	await mkdir(cwd, { recursive: true });
	for (const [path, text] of Object.entries(files)) await writeFile(join(cwd, path), text);
	return { cwd, state: join(root, name, "state"), wire, random, said: "", kills: 0, isCut: false };
}

/** What the log says of the plan and its session. */
interface Known {
	readonly records: readonly Said[];
	readonly plan: string | undefined;
	/** The records of a kind, of the plan where they are of one. */
	of(kind: string): readonly Said[];
	/** The ids of the steps that are over, as their last record says. */
	readonly over: ReadonlySet<string>;
	/** How many calls of the model are durable, answered or refused. */
	readonly paid: number;
	/** Its outcome, once nothing of it is left to say. */
	readonly outcome: "completed" | "discarded" | undefined;
}

async function knownOf({ state, isCut }: Place): Promise<Known> {
	const records = [...(await recordsIn(state))];
	// Written, and not known to be durable: a command that only looks does not see it, and nobody was told of it. The next writer
	// makes it durable, also one that has nothing to write.
	if (isCut && ["plan_steps_reset", "plan_resumed"].includes(records.at(-1)?.kind ?? "")) records.pop();
	const of = (kind: string): readonly Said[] => records.filter((record) => record.kind === kind);
	const over = new Set<string>();
	for (const { kind, data } of records) {
		if (kind === "plan_step_completed" || kind === "plan_step_failed") over.add(data.step);
		if (kind === "plan_steps_reset") for (const id of data.steps) over.delete(id);
	}
	const last = records.findLast(({ kind }) =>
		["plan_completed", "plan_aborted", "plan_steps_reset"].includes(kind),
	)?.kind;
	const isSaid =
		of("message_delivered").length === of("assistant_message").length && of("assistant_message").length > 0;
	const outcomes = { plan_completed: "completed", plan_aborted: "discarded" } as Readonly<
		Record<string, Known["outcome"]>
	>;
	return {
		...{ records, of, over },
		plan: of("plan_started")[0]?.data.plan,
		paid: [...of("step_completed"), ...of("step_failed")].filter(({ data }) => data.kind === "model").length,
		outcome: isSaid && last !== undefined ? outcomes[last] : undefined,
	};
}

const sizeOf = async ({ state }: Place): Promise<number> =>
	(await stat(join(state, "state/wal.jsonl")).catch(() => undefined))?.size ?? 0;

type Moment = "its start" | "its first record" | "a request" | "a late request";

const atWork: readonly Moment[] = ["its start", "its first record", "a request", "a request", "a request"];
/** Of a command that asks no model. */
const atOnce: readonly Moment[] = ["its start", "its first record"];

/** Resolves at a moment by chance of a process that was just started: since its start, its first record or a request of it. */
async function momentToKill(place: Place, moments: readonly Moment[], over: Promise<unknown>): Promise<void> {
	const { wire, random } = place;
	const [size, asked] = [await sizeOf(place), wire.asked.length];
	// Killed before it has made its state its own, that is somebody else's: the next command says so, and asks for `--trust`.
	const since = size === 0 ? "a request" : random.pick(moments);
	const requests = since === "a late request" ? 5 + random.below(4) : 1 + random.below(8);
	const after = random.below(
		{ "its start": 600, "its first record": 30, "a request": 60, "a late request": 20 }[since],
	);
	const has = {
		"its start": () => true,
		"its first record": async () => (await sizeOf(place)) > size,
		"a request": () => wire.asked.length - asked >= requests,
		"a late request": () => wire.asked.length - asked >= requests,
	};
	let isOver = false;
	void over.then(() => {
		isOver = true;
	});
	while (!isOver && !(await has[since]())) await pause(3);
	await pause(after);
}

/**
 * A process from its start to its end, or to its kill at a moment by chance: so many milliseconds after its start, or after a request of
 * it. Held to what it may pay for.
 *
 * @returns its exit code; undefined: it was killed
 */
async function live(
	place: Place,
	args: readonly string[],
	moments: readonly Moment[] | undefined,
): Promise<number | undefined> {
	const { wire } = place;
	const before = await knownOf(place);
	const asked = wire.asked.length;
	const where = ["--cwd", place.cwd, "--state", place.state];
	const env = { NO_COLOR: "1", REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url };
	const working = startProcess([process.execPath, ...reyn, ...where, ...args], { env });
	const over = working.ended.then(() => true as const);
	const isOver = moments
		? await Promise.race([over, momentToKill(place, moments, over).then(() => false)])
		: await over;
	const { code, stdout, stderr } = isOver ? await working.ended : await working.kill();
	place.said += stdout;
	place.isCut = !isOver;
	// What it has sent is there by then.
	await pause(30);
	const after = await knownOf(place);
	const requests = wire.asked.slice(asked);
	const lost = requests.length - (after.paid - before.paid);
	const told = `${args.join(" ")}: ${stderr}\n${after.records.map(({ seq, kind, data }) => `${seq} ${kind} ${data.step ?? data.lane ?? ""}`).join("\n")}`;
	// A kill may take the answers that were open; nothing else is paid for and not recorded.
	// Its record was there after all, as the one before it was killed in the midst of it.
	const isBegun = stderr.includes("it runs when the plan goes on");
	if (isOver && !isBegun) expect([lost, code], told).toEqual([0, refused.size > 0 ? PLAN_FAILED : 0]);
	else expect(lost, told).toBeLessThanOrEqual(CONCURRENCY);
	const reset = new Set(
		after
			.of("plan_steps_reset")
			.slice(before.of("plan_steps_reset").length)
			.flatMap(({ data }) => data.steps),
	);
	const paidAgain = requests.map(stepOf).filter((id) => id !== undefined && before.over.has(id) && !reset.has(id));
	expect(paidAgain, told).toEqual([]);
	if (before.of("plan_aborted").length > 0) expect(requests.map(stepOf), told).toEqual([]);
	if (!isOver) place.kills++;
	return isOver ? (code ?? -1) : undefined;
}

/** Goes on with the plan to its end, killed up to so many times. */
async function finish(place: Place, kills: number): Promise<Known> {
	const most = place.kills + kills;
	for (let lives = 0; lives < 40; lives++) {
		const known = await knownOf(place);
		if (known.outcome) return known;
		await live(place, goOn(known), place.kills < most ? atWork : undefined);
	}
	throw new Error("it does not end");
}

/** The command that goes on with the plan, or asks for it. */
function goOn({ records, of, plan }: Known): readonly string[] {
	const last = records.findLast(({ kind }) => kind.startsWith("plan_"))?.kind;
	if (last === "plan_paused") return ["plan", "resume", plan as string, "--mode", "all"];
	return of("user_prompt").length > 0 ? ["resume", "--mode", "all"] : ["run", "-p", GOAL, "--mode", "all"];
}

/** What has to be so of a plan that is over, however it came there. */
async function check(place: Place, { of, plan, outcome }: Known): Promise<void> {
	const from = of("assistant_message").filter(({ data }) => data.from?.kind === "plan");
	const ends = of(outcome === "completed" ? "plan_completed" : "plan_aborted").length;
	expect([of("plan_started").length, from.length, new Set(from.map(({ data }) => data.from.id))]).toEqual([
		1,
		ends,
		new Set([plan]),
	]);
	for (const { data } of from)
		expect(data.text).toContain(outcome === "completed" ? ANSWER : `Plan ${plan} was discarded`);
	expect(place.said).toContain(from.at(-1)?.data.text.slice(0, 30));
	// No attempt of a step has more answers than it takes, and no more effects.
	const answers = of("step_completed").filter(({ data }) => data.kind === "model" && data.lane.startsWith("plan/"));
	for (const lane of new Set(answers.map(({ data }) => data.lane))) {
		const count = answers.filter(({ data }) => data.lane === lane).length;
		expect(count, lane).toBeLessThanOrEqual(ROUNDS[lane.split("/")[2]] ?? 0);
	}
	const last = place.wire.asked.findLast((body) => stepOf(body) === "s5");
	if (outcome === "completed")
		expect(textOf((last as Said).messages)).toContain(of("plan_amended").length > 0 ? "Say it" : "Do s5");
	const ledger = await readFile(join(place.cwd, "ledger"), "utf8").catch(() => "");
	const begun = new Set(
		of("plan_step_started")
			.filter(({ data }) => data.step === "s3")
			.map(({ data }) => data.attempt),
	);
	const marks = ledger.split("\n").length - 1;
	expect(marks).toBeLessThanOrEqual(begun.size);
	if (outcome === "completed") expect(marks).toBe(begun.size);
}

/** Begins a command again while it has not done its work, killed some times. @returns how often */
async function persist(
	place: Place,
	args: readonly string[],
	moments: readonly Moment[],
	isDone: (known: Known) => boolean,
): Promise<number> {
	const before = place.kills;
	for (let lives = 0; !isDone(await knownOf(place)); lives++) {
		expect(lives, args.join(" ")).toBeLessThan(9);
		await live(place, args, lives < 4 ? moments : undefined);
	}
	return place.kills - before;
}

/** Brings a plan to where some of it is done, by a kill. */
async function midway(place: Place): Promise<Known> {
	for (let lives = 0; lives < 20; lives++) {
		const known = await knownOf(place);
		if (known.over.size > 0) return known;
		await live(place, goOn(known), ["a late request"]);
	}
	throw new Error("it does not come so far");
}

/** What a person does to a plan in flight, and is killed in. @returns how often it was */
type Operation = (place: Place) => Promise<number>;

const inFlight =
	(
		kind: string,
		moments: readonly Moment[],
		argsOf: (plan: string, random: Random) => readonly string[],
		isLate: (known: Known) => boolean = () => false,
	): Operation =>
	async (place) => {
		const known = await midway(place);
		// It may have come to its end before it was killed.
		if (known.plan === undefined || known.of("assistant_message").length > 0 || isLate(known)) return 0;
		return persist(place, argsOf(known.plan, place.random), moments, ({ of }) => of(kind).length > 0);
	};

/** A plan is over, and one of its steps has failed. */
const retry: Operation = async (place) => {
	refused.add("s4");
	const { plan = "" } = await finish(place, 0);
	refused.clear();
	return persist(
		place,
		["plan", "retry", plan, "s4", "--mode", "all"],
		atWork,
		({ of }) => of("plan_steps_reset").length > 0,
	);
};

const operations: Readonly<Record<string, Operation>> = {
	discard: inFlight("plan_aborted", atOnce, (plan) => ["plan", "discard", plan]),
	pause: inFlight("plan_paused", atOnce, (plan) => ["plan", "pause", plan]),
	amend: inFlight(
		"plan_amended",
		atOnce,
		(plan) => ["plan", "amend", plan, "--describe", "s5=Say it", "--yes"],
		({ of }) => of("plan_step_started").some(({ data }) => data.step === "s5"),
	),
	retry,
	"resume --from": inFlight("plan_steps_reset", atWork, (plan, random) => [
		...["plan", "resume", plan, "--from", random.pick(steps).id],
		...["--mode", "all"],
	]),
};

const KILLS = Number(process.env.REYN_RUNS ?? sample(2, 6));

test(`of plans, ${KILLS} kills: none pays twice, each says its one outcome once, a discard is final`, async () => {
	const random = seeded(SEED);
	await using wire = await openWire(chat, replyTo);
	const whole = await newPlace("whole", wire, random);
	const known = await finish(whole, 0);
	await check(whole, known);
	expect([known.outcome, known.paid]).toEqual(["completed", 10]);

	const among = new Map(Object.keys(operations).map((name) => [name, 0]));
	let [plans, kills, operated] = [0, 0, 0];
	for (; kills < KILLS || operated * 4 < KILLS; plans++) {
		const place = await newPlace(`plan-${plans}`, wire, random);
		const isOperated = plans % 2 === 0;
		// The one that was killed least, so that each has its share.
		const [name, before] = [...among].reduce((least, each) => (each[1] < least[1] ? each : least));
		const killed = isOperated ? await (operations[name] as Operation)(place) : 0;
		among.set(name, before + killed);
		operated += killed;
		const known = await finish(place, isOperated ? 1 : 4);
		await check(place, known);
		expect(known.outcome).toBe(known.of("plan_aborted").length > 0 ? "discarded" : "completed");
		kills += place.kills;
	}
	console.log(`${kills} kills in ${plans} plans, ${operated} of them in ${JSON.stringify(Object.fromEntries(among))}`);
});
