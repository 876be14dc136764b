/** What becomes of a step of a plan whose server misbehaves: it goes on, or fails and says why; each answer is paid once, and the plan comes to its end. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Tool } from "@reyn/journal";
import { openRuntime, type RuntimeEvent } from "@reyn/runtime";
import { systemTimers, type Timers } from "@reyn/wal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { type Spoken, spoken } from "../../packages/ai-sdk/test/spoken.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { startProcess } from "../kit/killable.ts";
import { type Line, recordsIn } from "../kit/log-lines.ts";

let root: string;
let states = 0;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-steps-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const of = spoken.find(({ name }) => name.startsWith("chat completions")) as Spoken;

const steps = [
	{ id: "a", description: "Do a", tools: ["look"], depends_on: [] },
	{ id: "b", description: "Do b", tools: [], depends_on: ["a"] },
];
const look: Tool = { name: "look", description: "looks", parameters: {}, purity: "world", call: async () => "a den" };
const proposalOf = (all: readonly object[]): Reply => ({
	calls: [{ id: "call_1", name: "plan", args: JSON.stringify({ goal: "Find out", steps: all }) }],
});

/** The step that a request is for; undefined: it is of the turn. */
const stepOf = (body: unknown): string | undefined => /\\nStep (\w+):/.exec(JSON.stringify(body))?.[1];

const asksOf = ({ asked }: Wire, step: string): number => asked.filter((body) => stepOf(body) === step).length;

/** No answer takes too long, but those that never come: they have by the time that they are asked for. */
const LIMIT_MS = 20_000;
const limits = new Set<() => void>();
const timers: Timers = {
	after(ms, run, keepsAlive) {
		if (ms !== LIMIT_MS) return systemTimers.after(ms, run, keepsAlive);
		limits.add(run);
		return () => void limits.delete(run);
	},
};

/** Answers step `a` by the replies, one after the other, then that it is done; `b` by one, or with what it was told of `a`. */
const speaking = (replies: readonly Reply[], last?: Reply): Promise<Wire> => {
	const left = [...replies];
	return openWire(of.speaker, (body) => {
		const step = stepOf(body);
		if (step === undefined) return proposalOf(steps);
		if (step === "a") {
			const reply = left.shift() ?? { text: "did a" };
			if (reply.isSilent) for (const giveUp of [...limits]) giveUp();
			return reply;
		}
		return last ?? { text: `b heard: ${/FAILED: [^)]*|did a/.exec(JSON.stringify(body))?.[0]}` };
	});
};

const refused = (status: number, headers = {}): Reply => ({
	refusal: { status, headers, body: { error: { message: "busy", type: "t", code: status } } },
});
const call = (name: string, args: string): Reply => ({ calls: [{ id: "call_2", name, args }] });
const often = (reply: Reply): readonly Reply[] => Array.from({ length: 20 }, () => reply);

interface Outcome {
	readonly replies: readonly Reply[];
	/** How often step `a` is asked for, in both lives. */
	readonly asked: number;
	/** Why it fails, if it does. */
	readonly fails?: RegExp;
}

const outcomes: Readonly<Record<string, Outcome>> = {
	"a stream that is cut before its first word": { replies: [{ text: "half", cutAt: 0 }], asked: 2 },
	"a stream that is cut in the middle": { replies: [{ text: "half", cutAt: 2 }], asked: 2 },
	"a stream that is cut in the middle of a call": { replies: [{ ...call("look", "{}"), cutAt: 2 }], asked: 2 },
	"a stream that fails in the middle": { replies: [{ text: "half", failsAs: of.busy }], asked: 2 },
	"two 500s": { replies: [refused(500), refused(500)], asked: 3 },
	"500s without end": { replies: often(refused(500)), asked: 4, fails: /gave no answer in 4 tries/ },
	"a hang": { replies: [{ isSilent: true }], asked: 2 },
	"hangs without end": { replies: often({ isSilent: true }), asked: 4, fails: /gave no answer in 4 tries/ },
	"a 429 with retry-after": { replies: [refused(429, { "retry-after": "0" })], asked: 2 },
	"a 429 whose retry-after nobody waits for": {
		replies: often(refused(429, { "retry-after": "86400" })),
		...{ asked: 1, fails: /it says to ask again in 86400 s/ },
	},
	"the limit of tokens": { replies: [{ text: "half", finish: "length" }], asked: 1, fails: /was cut after 7 tokens/ },
	"a filter": { replies: [{ text: "half", finish: "filter" }], asked: 1, fails: /by a filter/ },
	"a 400": { replies: [refused(400)], asked: 1, fails: /busy/ },
	"a 401": { replies: [refused(401)], asked: 1, fails: /busy/ },
	"a 403": { replies: [refused(403)], asked: 1, fails: /busy/ },
	"arguments that are no JSON": { replies: [call("look", "everywhere")], asked: 2 },
	"a tool that it has not": { replies: [call("fly", "{}")], asked: 2 },
};

describe("a step, and", () => {
	test.each(Object.entries(outcomes))("%s: it goes on, or fails and says why", async (_, { replies, ...expected }) => {
		await using wire = await speaking(replies);
		const state = join(root, `${states++}`);
		const events: RuntimeEvent[] = [];
		const brought: string[] = [];
		const open = () =>
			openRuntime({
				...{ state, model: of.model(wire), unanswered: "deny" },
				tools: [look],
				onEvent: (event) => void events.push(event),
				onMessage: async ({ text }) => void brought.push(text),
				modelPolicy: { retry: { initialIntervalMs: 1 }, timeoutMs: LIMIT_MS },
				timers,
			});
		{
			await using first = await open();
			await first.prompt("Find out, in the background.");
			await first.idle();
		}
		await using second = await open();
		second.resume();
		await second.idle();
		const { fails } = expected;
		expect([asksOf(wire, "a"), asksOf(wire, "b"), wire.asked.length]).toEqual([expected.asked, 1, expected.asked + 2]);
		const ends = events.filter(({ type }) => type === "plan_end");
		expect(ends).toMatchObject([{ outcome: "completed", failed: fails ? ["a"] : [] }]);
		const reasons = events.flatMap((event) =>
			event.type === "plan_step" && event.change.status === "failed" ? [event.change.reason] : [],
		);
		expect(reasons).toEqual(fails ? [expect.stringMatching(fails)] : []);
		expect(brought).toHaveLength(1);
		expect(brought[0]).toMatch(fails ? /b heard: FAILED: / : /^b heard: did a$/);
		const retries = events.filter((event) => event.type === "plan_step" && event.change.status === "retrying");
		const told = replies.some(({ calls, cutAt }) => calls && cutAt === undefined);
		expect(retries).toHaveLength(told ? 0 : expected.asked - 1);
	});
});

test("a retry-after is honoured over kills of the command line: nothing is asked before the moment that it names", async () => {
	const SECONDS = 4;
	await using wire = await openWire(chat, (body) => {
		const step = stepOf(body);
		if (step === undefined) return proposalOf(steps.map((each) => ({ ...each, tools: [] })));
		arrivals.push([step, Date.now()]);
		return arrivals.length === 1 ? refused(429, { "retry-after": `${SECONDS}` }) : { text: `did ${step}` };
	});
	const arrivals: (readonly [step: string, at: number])[] = [];
	const [cwd, state] = [join(root, "waiting"), join(root, "waiting-state")];
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "# Foxes\n");
	const start = (...args: readonly string[]) =>
		startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args], {
			env: { NO_COLOR: "1", REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url },
		});
	const refusal = async () =>
		(await recordsIn(state)).find(({ kind, data }) => kind === "step_failed" && data.pauseMs > 0);
	const first = start("run", "-p", "Find out, in the background.");
	while (!(await refusal())) await pause(2);
	await first.kill();
	const { ts, data } = (await refusal()) as Line;
	expect(data.pauseMs).toBeGreaterThanOrEqual(SECONDS * 1000);
	// The second one is killed while it waits, too, if it was started in time.
	const second = start("resume", "--output-format", "stream-json");
	await second.line('{"type":"plan_started"');
	await second.kill();
	const ended = await start("resume").ended;
	expect([ended.code, ended.stdout]).toEqual([0, "[p2] did b\n"]);
	expect(arrivals.map(([step]) => step)).toEqual(["a", "a", "b"]);
	expect(arrivals[1]?.[1]).toBeGreaterThanOrEqual(ts + data.pauseMs);
});

test.each([
	["a step should have found", undefined, { status: "completed", failed: 1 }, /b heard: FAILED: /],
	[
		"its last step should have",
		refused(400),
		{ status: "failed", failed: 2 },
		/This plan has no answer: its last step, b, /,
	],
] as const)(
	"an answer without what %s ends the process that tells it with 6, also where another one has made it",
	async (...[name, last, listed, answer]) => {
		await using wire = await speaking([refused(400)], last);
		const [cwd, state] = [join(root, name), join(root, `${name}-state`)];
		await mkdir(cwd);
		await writeFile(join(cwd, "foxes.md"), "# Foxes\n");
		{
			// Nobody is there to be told.
			await using runtime = await openRuntime({ state, model: of.model(wire), tools: [look], unanswered: "deny" });
			await runtime.prompt("Find out, in the background.");
			await runtime.idle();
			expect(runtime.plans()).toMatchObject([listed]);
		}
		const resume = () =>
			startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, "--trust", "resume"], {
				env: { NO_COLOR: "1" },
			}).ended;
		const { code, stdout } = await resume();
		expect([code, stdout]).toEqual([6, expect.stringMatching(answer)]);
		// What was told once is over: nothing is in flight.
		expect(await resume()).toMatchObject({ code: 3, stdout: "" });
		expect(wire.asked).toHaveLength(3);
	},
);
