/**
 * Plans whose first step runs the bundled skill, over a provider's wire, the command line killed while that works: each call of it begins
 * one child, which goes on in the next process; an answer that is durable is not asked for again, and each plan says its answer once.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Ended, startProcess } from "../kit/killable.ts";
import { recordsIn } from "../kit/log-lines.ts";
import { SEED, seeded } from "../kit/seeded.ts";
import { sample } from "../sample.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-skills-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: the body of a request, and the data of records
type Said = any;

const steps = [
	{ id: "a", description: "digest it", tools: ["skill_digest"], depends_on: [] },
	{ id: "b", description: "say it", tools: [], depends_on: ["a"] },
];

/** The turn, the step twice, the skill, and the last step. */
const CALLS = 5;

async function replyTo({ messages }: Said): Promise<Reply> {
	await pause(10);
	const [system, user] = messages;
	if (system.content.startsWith("Sum up")) return { text: "a ferry crosses the river" };
	if (!/^Step \w:/m.test(JSON.parse(JSON.stringify(user.content))))
		return { calls: [{ id: "call_plan", name: "plan", args: JSON.stringify({ goal: "ferries", steps }) }] };
	if (/^Step b:/m.test(user.content)) return { text: "It is a ferry." };
	if (messages.some(({ role }: Said) => role === "tool")) return { text: "digested" };
	return { calls: [{ id: "call_a", name: "skill_digest", args: JSON.stringify({ topic: "ferry" }) }] };
}

interface Place {
	readonly cwd: string;
	readonly state: string;
	readonly wire: Wire;
}

const env = (wire: Wire) => ({
	...{ NO_COLOR: "1", REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url },
});

const started = ({ cwd, state, wire }: Place, args: readonly string[]) =>
	startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args], { env: env(wire) });

const done = (place: Place, ...args: readonly string[]): Promise<Ended> => started(place, args).ended;

/** Kills it so many records after the child has begun, or when it has ended. @returns was it killed? */
async function killed(place: Place, args: readonly string[], records: number): Promise<boolean> {
	const working = started(place, args);
	let isOver = false;
	const over = working.ended.then(() => {
		isOver = true;
	});
	for (;;) {
		const all = await recordsIn(place.state);
		const begun = all.findIndex(({ kind }) => kind === "skill_run_started");
		if (isOver) return false;
		if (begun >= 0 && all.length > begun + records) break;
		await pause(1);
	}
	await working.kill();
	await over;
	return true;
}

const PLANS = Number(process.env.REYN_RUNS ?? sample(1, 3));

test(`of ${PLANS} plans with a skill, each killed twice in it: one child, nothing paid twice, one answer`, async () => {
	const random = seeded(SEED);
	await using wire = await openWire(chat, replyTo);
	let [kills, interrupted] = [0, 0];
	for (let at = 0; at < PLANS; at++) {
		const place: Place = { cwd: join(root, `${at}/files`), state: join(root, `${at}/state`), wire };
		await mkdir(place.cwd, { recursive: true });
		await writeFile(join(place.cwd, "river.md"), "A ferry crosses the river.\n");
		const asked = wire.asked.length;
		const first = random.below(5);
		let lives = 0;
		if (await killed(place, ["run", "-p", "Plan: ferries?", "--mode", "all"], first)) lives++;
		const { plan } = (await recordsIn(place.state)).find(({ kind }) => kind === "plan_started")?.data ?? {};
		const shown = JSON.parse((await done(place, "plan", "show", plan, "--json")).stdout);
		expect(shown.steps[0].children).toMatchObject([{ skill: "digest" }]);
		if ((await killed(place, ["resume", "--mode", "all"], first + 1 + random.below(4))) && lives > 0) lives++;
		const last = await done(place, "resume", "--mode", "all");
		kills += lives;
		if (lives > 0) interrupted++;
		const records = await recordsIn(place.state);
		const of = (kind: string) => records.filter((each) => each.kind === kind);
		const told = `${last.stderr}\n${records.map(({ seq, kind, data }) => `${seq} ${kind} ${data.lane ?? ""}`).join("\n")}`;
		expect([last.code, of("skill_run_started").length, of("skill_run_completed").length], told).toEqual([0, 1, 1]);
		expect([of("plan_completed").length, of("assistant_message").map(({ data }) => data.text)], told).toEqual([
			1,
			["It is a ferry."],
		]);
		// A kill takes the answer that is open, and no other.
		expect(wire.asked.length - asked, told).toBeLessThanOrEqual(CALLS + lives);
		expect(wire.asked.length - asked, told).toBeGreaterThanOrEqual(CALLS);
		const written = join(place.state, "agents/default/workspace");
		// A kill within the write leaves a file beside it.
		expect((await readdir(written)).filter((name) => name.endsWith(".md"))).toEqual(["digest-ferry.md"]);
		expect(await readFile(join(written, "digest-ferry.md"), "utf8")).toBe("# ferry\n\na ferry crosses the river\n");
	}
	expect(interrupted).toBeGreaterThan(0);
	console.log(`${kills} kills in ${PLANS} plans`);
});
