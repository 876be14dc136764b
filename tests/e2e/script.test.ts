/** Scripts on the real command line: killed, resumed, edited, watched, and given what is no script. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { allRecords, type MeterReading } from "@reyn/runtime";
import { openWal } from "@reyn/wal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carryOut as run } from "../carry-out.ts";
import { modelCalls, type Place, run as runAlone, start, streamLines } from "../cli.ts";
import { deepTest } from "../deep-test.ts";
import type { Ended } from "../kit/killable.ts";
import { SEED, seeded } from "../kit/seeded.ts";
import { sample, some } from "../sample.ts";

let root: string;
let cwd: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-script-"));
	cwd = join(root, "project");
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
});
afterAll(() => rm(root, { recursive: true, force: true }));

const place = (name: string): Place => ({ cwd, state: join(root, name), trace: join(root, `${name}.calls.jsonl`) });

async function file(name: string, source: string): Promise<string> {
	const path = join(root, name);
	await mkdir(join(path, ".."), { recursive: true });
	await writeFile(path, source);
	return path;
}

/** Five agents one after the other; `changed` puts other prompts in place of some. */
const five = (changed: Readonly<Record<number, string>> = {}): string =>
	`export default async (ctx) => {\n\tconst said: string[] = [];\n\tfor (const prompt of ${JSON.stringify([1, 2, 3, 4, 5].map((n) => changed[n] ?? `What is part ${n}?`))}) said.push(await ctx.agent(prompt));\n\treturn said;\n};\n`;

/** One hash over the names and bytes of all files below a directory; of one that is not there, too. */
async function hashOf(directory: string): Promise<string> {
	const hash = createHash("sha256");
	const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
	for (const path of entries
		.filter((entry) => entry.isFile())
		.map(({ parentPath, name }) => join(parentPath, name))
		.sort())
		hash.update(path).update(await readFile(path));
	return hash.digest("hex");
}

interface Summary {
	readonly run: string;
	readonly status: string;
	readonly result?: unknown;
	readonly reason?: { readonly code?: string };
	readonly exitCode: number;
	readonly meter: Pick<MeterReading, "paid" | "replayed">;
}

/** What a command prints as JSON, which has to be one document. */
async function json<T = Summary>(here: Place, args: readonly string[]): Promise<T> {
	const ended = await run(here, [...args, "--json"]);
	expect(ended.stdout.trimEnd().split("\n"), ended.stderr).toHaveLength(1);
	return JSON.parse(ended.stdout) as T;
}

/** The last line of a stream, which has to be its result, and all of it JSON. */
function resultOf(ended: Ended): Summary & { readonly error?: { readonly code: string } } {
	const lines = streamLines(ended);
	expect(ended.stdout.trimEnd().split("\n")).toHaveLength(lines.length);
	expect(lines.filter(({ type }) => type === "result")).toEqual([lines.at(-1)]);
	return lines.at(-1) as unknown as Summary;
}

/** Ends a run with a signal when so many of its agents have answered. */
async function endAfter(
	here: Place,
	path: string,
	answers: number,
	signal: NodeJS.Signals,
	...more: string[]
): Promise<Ended> {
	const running = start(here, ["--pace", "400", "script", "run", path, "--output-format", "stream-json", ...more]);
	const answer = (line: string): boolean => line.includes('"state":"live"') && !line.includes('"type":"part"');
	await running.line(() => running.lines.filter(answer).length >= answers);
	running.child.kill(signal);
	return running.ended;
}

const KILLS = Number(process.env.REYN_SCRIPT_KILLS ?? sample(1, 2));

test(`killed ${KILLS} times at random moments (seed ${SEED}), a run pays at most for the calls that were open`, async () => {
	const path = await file(
		"work.ts",
		`export default async (ctx) => {
			const first = await ctx.agent("What is known of foxes?");
			const parts = await ctx.parallel([1, 2, 3].map((n) => async () => [await ctx.agent("Look at door " + n), await ctx.agent("Look behind door " + n)]));
			const last = await ctx.phase("end", () => ctx.agent("Sum up the doors"));
			return { first, parts, last, lucky: ctx.random() >= 0 };
		};`,
	);
	const whole = place("whole");
	const expected = await json(whole, ["script", "run", path]);
	const callsOfAWhole = modelCalls(whole).map(({ request }) => request);
	expect(new Set(callsOfAWhole).size).toBe(8);

	const random = seeded(SEED);
	let kills = 0;
	for (let round = 0; kills < KILLS; round++) {
		const here = place(`killed-${round}`);
		let id: string | undefined;
		let killsHere = 0;
		for (;;) {
			const known = await answersIn(here);
			const before = modelCalls(here).length;
			const what = id === undefined ? ["run", path] : ["resume", id];
			const running = start(here, ["--pace", "250", "script", ...what, "--output-format", "stream-json"]);
			// Behind so many lines: its state is there then, and known to be this user's. Whoever ends before is not killed.
			if (killsHere < 4 && kills < KILLS)
				void running
					.line(() => true, random.below(12))
					.then(
						() => running.kill(),
						() => {},
					);
			const end = await running.ended;
			// Nothing whose answer was in the log is asked again.
			const asked = modelCalls(here).slice(before);
			expect(asked.filter(({ request }) => known.has(request))).toEqual([]);
			if (end.signal === "SIGKILL") {
				kills++;
				killsHere++;
				id ??= (await json<Summary[]>(here, ["script", "list"]).catch(() => []))[0]?.run;
				continue;
			}
			expect(end.code, end.stderr).toBe(0);
			expect(resultOf(end)).toMatchObject({ status: "completed", result: expected.result });
			break;
		}
		expect(modelCalls(here).length).toBeLessThanOrEqual(callsOfAWhole.length + 3 * killsHere);
		expect(new Set(modelCalls(here).map(({ request }) => request))).toEqual(new Set(callsOfAWhole));
	}
});

/** The requests whose answers are in the log. */
async function answersIn({ state }: Place): Promise<ReadonlySet<string>> {
	const requests = new Set<string>();
	try {
		await using wal = await openWal(join(state, "state"), { records: allRecords, readOnly: true });
		for await (const { data } of wal.read({ kinds: { only: ["step_completed"] } }))
			if ((data as { kind: string }).kind === "model") requests.add((data as { fp: string }).fp);
	} catch (error) {
		if ((error as { code?: string }).code !== "WAL_IO") throw error;
	}
	return requests;
}

deepTest(
	"after three of five calls a preview says 49 % free and 3600 tokens to pay, before anything is spent",
	async () => {
		const system = "You answer.";
		const prompts = await Promise.all(
			[1200, 800, 1500].map((tokens, i) => promptOf(tokens, `What is part ${i + 1}?`, system)),
		);
		const path = await file(
			"costs.ts",
			`export default async (ctx) => {
			const system = ${JSON.stringify(system)};
			for (const prompt of ${JSON.stringify(prompts)}) await ctx.agent(prompt, { system });
			await ctx.agent("What is part 4?", { system, estimate: 1500 });
			await ctx.agent("What is part 5?", { system, estimate: 2100 });
		};`,
		);
		const here = place("costs");
		const ended = await endAfter(here, path, 3, "SIGINT");
		expect(ended.code).toBe(130);
		const { run: id } = resultOf(ended);
		const before = [await hashOf(here.state), modelCalls(here).length];
		const shown = await run(here, ["script", "resume", id, "--explain"]);
		expect(shown.stdout).toMatch(/^49 % replayed free {3}3500 tokens saved {3}3600 tokens still to pay$/m);
		expect(await json<object>(here, ["script", "resume", id, "--explain"])).toMatchObject({
			percentFree: 49,
			saved: 3500,
			toPay: 3600,
			unknown: 0,
			isWhole: true,
		});
		expect([await hashOf(here.state), modelCalls(here).length]).toEqual(before);

		// As a kill leaves it between the write of the third answer and its acknowledgement.
		const killed: Place = { ...here, state: join(root, "costs-killed"), isCopy: true };
		await cp(here.state, killed.state, { recursive: true });
		const log = join(killed.state, "state/wal.jsonl");
		const lines = (await readFile(log, "utf8")).split("\n");
		const third = lines.findLastIndex((line) => line.includes('"kind":"agent"') && line.includes('"step_completed"'));
		await writeFile(
			log,
			lines.slice(0, third + 1).map((line) => `${line}\n`),
		);
		await rm(join(killed.state, "state/wal.head"));
		expect((await run(killed, ["script", "resume", id, "--explain"])).stdout).toContain("3600 tokens still to pay\n");
	},
);

/** A prompt that costs just so many tokens. */
async function promptOf(tokens: number, question: string, system: string): Promise<string> {
	let prompt = question;
	for (;;) {
		const request = { system, messages: [{ role: "user", text: prompt }], tools: [] } as const;
		for await (const part of offlineModel().generate(request, { signal: new AbortController().signal })) {
			if (part.type !== "usage") continue;
			const lacking = tokens - part.usage.inputTokens - part.usage.outputTokens;
			if (lacking === 0) return prompt;
			prompt = lacking > 0 ? prompt + "x".repeat(Math.max(1, 2 * lacking)) : prompt.slice(0, lacking);
		}
	}
}

describe("a finished run", () => {
	const here = (): Place => place("finished");
	let path: string;
	let id: string;
	beforeAll(async () => {
		path = await file("five.ts", five());
		({ run: id } = await json(here(), ["script", "run", path]));
	});

	test("that has not changed makes no call when it is resumed, and whoever watches is told what was recalled", async () => {
		const calls = modelCalls(here()).length;
		const { status, meter } = await json(here(), ["script", "resume", id, "--isolate"]);
		expect({ status, meter }).toMatchObject({
			status: "completed",
			meter: { paid: { calls: 0 }, replayed: { calls: 5 } },
		});
		expect(modelCalls(here()).length).toBe(calls);
		const { tokens } = meter.replayed;
		expect((await run(here(), ["script", "watch", id])).stdout).toContain(
			`five.ts: completed   ${tokens} tokens recalled, 0 tokens paid\n`,
		);
	});

	test("whose third call is edited has two hits and three live ones, as the preview says", async () => {
		const edited = await file("edited/five.ts", five({ 3: "What is another part?" }));
		const copy: Place = { ...place("edited-state"), isCopy: true };
		await cp(here().state, copy.state, { recursive: true });
		const { calls } = await json<{ calls: { state: string }[] }>(copy, ["script", "resume", id, edited, "--explain"]);
		expect(calls.map(({ state }) => state)).toEqual(["hit", "hit", "live", "live", "live"]);
		expect(await json(copy, ["script", "resume", id, edited])).toMatchObject({
			meter: { paid: { calls: 3 }, replayed: { calls: 2 } },
		});
		expect(modelCalls(copy)).toHaveLength(3);
		const strict = await run(here(), ["script", "resume", id, edited, "--strict"]);
		expect(strict).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(
				/does not do what is recorded: at script\/.*\[2\].*part 3.*another part.*--explain/,
			),
		});
	});

	test("verifies, and fails where the script does something else", async () => {
		const before = await hashOf(here().state);
		expect(await run(here(), ["script", "verify", id, "--isolate"])).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/replays: 5 calls/),
		});
		const edited = await file("edited/five.ts", five({ 3: "What is another part?" }));
		const ended = await run(here(), ["script", "verify", id, edited]);
		expect(ended).toMatchObject({
			code: 1,
			stdout: expect.stringMatching(/\[2\] #\d+: expected agent .*part 3.*; got agent .*another part/),
		});
		expect(await json<object>(here(), ["script", "verify", id, edited])).toMatchObject({
			divergences: [{ path: `script/${id}[2]` }],
		});
		expect(await hashOf(here().state)).toBe(before);
	});

	test("is saved as the script that it was, and never over a file", async () => {
		const kept = join(root, "kept.ts");
		expect(await run(here(), ["script", "save", id, kept])).toMatchObject({ code: 0 });
		expect(await readFile(kept, "utf8")).toBe(five());
		await writeFile(kept, "mine");
		expect(await run(here(), ["script", "save", id, kept])).toMatchObject({
			code: 4,
			stdout: "",
			stderr: expect.stringMatching(/kept\.ts is there already; .*--force/),
		});
		expect(await readFile(kept, "utf8")).toBe("mine");
		expect(await json<object>(here(), ["script", "save", id, kept, "--force"])).toEqual({ run: id, path: kept });
		expect(await readFile(kept, "utf8")).toBe(five());
		const [link, target] = [join(root, "link.ts"), join(root, "target.ts")];
		await writeFile(target, "mine");
		await symlink(target, link);
		expect(await run(here(), ["script", "save", id, link, "--force"])).toMatchObject({ code: 0 });
		expect([await readFile(target, "utf8"), await readFile(link, "utf8")]).toEqual(["mine", five()]);
		expect(await run(here(), ["script", "save", id, join(root, "no/such/kept.ts")])).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/cannot be written \(ENOENT\)/),
		});
	});

	test("is listed and shown, for people and as JSON", async () => {
		expect(await run(here(), ["script", "list"])).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(new RegExp(`^${id}  completed .* five\\.ts`)),
		});
		expect(await json<object[]>(here(), ["script", "list"])).toMatchObject([
			{ run: id, status: "completed", name: "five.ts" },
		]);
		expect((await run(here(), ["script", "watch", id])).stdout).toMatch(
			/✓ agent What is part 5\?.*\n.*five\.ts: completed/,
		);
		expect(await json<object>(here(), ["script", "watch", id])).toMatchObject({
			status: "completed",
			calls: [{}, {}, {}, {}, {}],
		});
		expect(resultOf(await run(here(), ["script", "watch", id, "--output-format", "stream-json"]))).toMatchObject({
			run: id,
			status: "completed",
			exitCode: 0,
		});
	});
});

/** What a process tells of a call that was made. */
const LIVE = '"state":"live"';

deepTest("a second process watches a run to its end, and what it runs meanwhile runs in the first", async () => {
	const here = { ...place("watched"), cwd: join(root, "watched project") };
	await cp(cwd, here.cwd, { recursive: true });
	// It ends when the others have done what they do beside it.
	const untilSeen = five().replace(
		"return said",
		'while (!(await ctx.tool("list")).includes("seen.md")) await ctx.sleep(20);\n\treturn said',
	);
	const path = await file("five.ts", untilSeen);
	const { child, ended, says } = start(here, ["script", "run", path, "--output-format", "stream-json"]);
	await says(LIVE);
	const [found] = await json<Summary[]>(here, ["script", "list"]);
	const id = found?.run ?? "";
	const watching = start(here, ["script", "watch", id, "--output-format", "stream-json"]);
	await watching.says(LIVE);
	expect(await run(here, ["script", "resume", id])).toMatchObject({
		code: 4,
		stdout: "",
		stderr: expect.stringContaining(`is under way in process ${child.pid}`),
	});
	// What is begun meanwhile is begun by the process that has the log, which ends when that is over too.
	const other = await file(
		"other.ts",
		`export default async (ctx, args) => {
			while (!(await ctx.tool("list")).includes("later.md")) await ctx.sleep(20);
			return [await ctx.ask("Well?"), await ctx.agent("Of five?"), args];
		};`,
	);
	const how = ["--args", "[1]", "--answer", "yes", "--output-format", "stream-json"];
	const beside = start(here, ["script", "run", other, ...how]);
	const begun = JSON.parse(await beside.line('{"type":"init"'));
	expect(begun).toMatchObject({ run: expect.stringMatching(/^r[0-9a-f]{8}$/), pid: child.pid });
	const inside = await run(here, ["script", "run", path, "--args-file", await file("args.json", "[")]);
	expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("args.json: expected JSON") });
	await writeFile(join(here.cwd, "seen.md"), "");
	const watched = await watching.ended;
	expect(watched.code).toBe(0);
	expect(streamLines(watched).filter(({ state, kind }) => state === "live" && kind === "agent")).toHaveLength(5);
	expect(streamLines(watched).slice(-2)).toMatchObject([
		{ type: "ended", status: "completed" },
		{ type: "result", status: "completed" },
	]);
	await writeFile(join(here.cwd, "later.md"), "");
	expect(await ended).toMatchObject({ code: 0 });
	const last = streamLines(await beside.ended).at(-1);
	expect(last).toMatchObject({
		type: "result",
		status: "completed",
		result: ["yes", expect.any(String), [1]],
		exitCode: 0,
	});
	expect(await json<object[]>(here, ["script", "list"])).toMatchObject([
		{ run: begun.run, status: "completed" },
		{ run: id, status: "completed" },
	]);
	expect(new Set(modelCalls(here).map(({ pid }) => pid))).toEqual(new Set([child.pid]));
});

deepTest("in a chat a script is run, answered, looked at and verified, and says what it gives", async () => {
	const here = place("in a chat");
	const path = await file(
		"asks.ts",
		"export default async (ctx, args) => [await ctx.agent('A fox?'), await ctx.ask('Well?'), args];",
	);
	const first = await run(here, ["chat"], `/script run ${path} --args {"n":1}\n/script\n`);
	const [, id = ""] = /script run (r[0-9a-f]{8}) started/.exec(first.stdout) ?? [];
	expect(first).toMatchObject({
		code: 0,
		stdout: expect.stringContaining("what it asks, and how it is answered: /questions"),
	});
	expect(first.stdout).toMatch(new RegExp(`^${id}  open .*asks: Well\\?$`, "m"));
	const lines = ["show", "explain", "resume", "verify"].map(
		(word) => `/script ${word} ${id}${word === "resume" ? ' --answer "two doors"' : ""}\n`,
	);
	const then = await run(here, ["chat"], `${lines.join("")}/wal verify\n`);
	expect(then, then.stdout).toMatchObject({ code: 0 });
	for (const said of [
		`open: script asks.ts ${id}; go on with /script resume ${id}`,
		"asks.ts: open",
		"100 % replayed free",
		`script run ${id} goes on`,
		`script run ${id} completed\n[\n`,
		'"two doors"',
		`${id} replays: 2 calls`,
		"sound: ",
	])
		expect(then.stdout).toContain(said);
	expect(modelCalls(here)).toHaveLength(1);
});

describe("a stream ends with its result, and a command with the code that says why", () => {
	const ends: [string, string, string[], number, object][] = [
		["done", "export default () => 1;", [], 0, { status: "completed", result: 1 }],
		[
			"failed",
			"export default () => { throw new Error('no'); };",
			[],
			1,
			{ status: "failed", reason: { message: "no" } },
		],
		["chance", "export default () => Math.random();", [], 1, { status: "failed", reason: { code: "DETERMINISM" } }],
		[
			"waiting",
			"export default (ctx) => ctx.ask('Well?');",
			[],
			4,
			{ status: "waiting", reason: { code: "SCRIPT_WAITING" } },
		],
		["answered", "export default (ctx) => ctx.ask('Well?');", ["--answer", "yes"], 0, { result: "yes" }],
		[
			"stuck",
			"export default () => new Promise(() => {});",
			[],
			1,
			{ status: "failed", reason: { code: "SCRIPT_STUCK" } },
		],
		["not loaded", "export default 3;", [], 2, { error: { code: "SCRIPT_INVALID" } }],
	];
	test.each(ends)("%s", async (name, source, args, code, result) => {
		const path = await file(`${name}.ts`, source);
		const ended = await run(place(`ends-${name}`), ["script", "run", path, ...args, "--output-format", "stream-json"]);
		expect(ended.code, ended.stderr).toBe(code);
		expect(resultOf(ended)).toMatchObject({ ...result, exitCode: code });
		const document = await run(place(`ends-${name}`), ["script", "run", path, ...args, "--json"]);
		expect(document.code).toBe(code);
		expect(JSON.parse(document.stdout)).toMatchObject(result);
	});

	const signals: [NodeJS.Signals, number][] = [
		["SIGINT", 130],
		["SIGTERM", 143],
		["SIGHUP", 129],
	];
	test.each(some(signals, 3))("%s: what is durable stays, and the run goes on", async (signal, code) => {
		const here = place(signal);
		const path = await file("five.ts", five());
		const ended = await endAfter(here, path, 2, signal);
		expect(ended.code).toBe(code);
		const { run: id, ...result } = resultOf(ended);
		expect(result).toMatchObject({ status: "stopped", exitCode: code });
		// The third may have been asked when the signal came.
		expect([2, 3]).toContain(modelCalls(here).length);
		const again = await run(here, ["script", "resume", id]);
		expect(again).toMatchObject({
			code: 0,
			stderr: expect.stringMatching(/replayed free: 2 model calls.*paid now: 3 model calls/),
		});
		expect(JSON.parse(again.stdout)).toHaveLength(5);
	});

	test("for people the last lines say how to go on", async () => {
		const here = place("lines");
		const failed = await run(here, [
			"script",
			"run",
			await file("fails.ts", "export default () => { throw new Error('no'); };"),
		]);
		expect(failed).toMatchObject({
			stdout: "",
			stderr: expect.stringMatching(/failed: no\ngo on with: reyn .*script resume r[0-9a-f]{8}\n/),
		});
		const asks = await run(here, ["script", "run", await file("asks.ts", "export default (ctx) => ctx.ask('Well?');")]);
		expect(asks).toMatchObject({
			stdout: "",
			stderr: expect.stringMatching(/what it asks, and how it is answered: reyn .*questions\n/),
		});
		const [waiting] = await json<Summary[]>(here, ["script", "list"]);
		expect(waiting).toMatchObject({ status: "open", questions: [{ question: "Well?" }] });
		expect(await run(here, ["script", "resume", waiting?.run ?? "", "--answer", "fine"])).toMatchObject({
			code: 0,
			stdout: "fine\n",
		});
	});
});

describe("what is no script, or has no fitting arguments, ends with one line, and changes nothing", () => {
	const here = (): Place => place("bad state");
	const shape =
		'export const args = { type: "object", properties: { topic: { type: "string" } }, required: ["topic"] };\n';
	let id: string;
	const at: Record<string, string> = {};
	beforeAll(async () => {
		const sources = {
			good: `${shape}export default (ctx, args) => ctx.ask(args.topic);`,
			syntax: "const fine = 1;\nexport default async (ctx) => {\n\tconst x = ;\n};",
			imports: 'import { x } from "./x.ts";\nexport default () => x;',
			empty: "",
			none: "export const main = () => 1;",
			throws: "const a = 1;\nthrow new Error('early');\nexport default () => 1;",
			deep: `export default () => ${"(".repeat(60_000)}1${")".repeat(60_000)};`,
		};
		for (const [name, source] of Object.entries(sources)) at[name] = await file(`bad/${name}.ts`, source);
		at.garbage = join(root, "bad/garbage.ts");
		await writeFile(at.garbage, Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167 + 13) % 256)));
		at.folder = join(root, "bad");
		at.missing = join(root, "bad/missing.ts");
		at.other = await file("bad/other.ts", "export default () => 1;");
		at.args = await file("bad/args.json", '{ "topic": ');
		({ run: id } = await json(here(), ["script", "run", at.good as string, "--args", '{"topic":"Well?"}']));
	});

	test.each<[string, () => string[], number, RegExp]>([
		["a syntax error", () => ["run", at.syntax ?? ""], 2, /^reyn: syntax\.ts:3:12: .*\n$/],
		["an import", () => ["run", at.imports ?? ""], 2, /imports\.ts:1:1: \.\/x\.ts is code from elsewhere/],
		["an empty file", () => ["run", at.empty ?? ""], 2, /empty\.ts: expected a default export/],
		[
			"no default export",
			() => ["run", at.none ?? ""],
			2,
			/none\.ts: expected a default export that is a function; found undefined/,
		],
		["a top level that throws", () => ["run", at.throws ?? ""], 2, /throws\.ts:2:\d+: .*early/],
		["binary garbage", () => ["run", at.garbage ?? ""], 2, /garbage\.ts:\d+:\d+: /],
		["what is nested too deeply", () => ["run", at.deep ?? ""], 2, /deep\.ts:1:1: it is nested too deeply/],
		["a directory", () => ["run", at.folder ?? ""], 2, /bad cannot be read \(EISDIR\)/],
		[
			"no such file",
			() => ["run", at.missing ?? ""],
			3,
			/missing\.ts cannot be read \(ENOENT\); give the path of a TypeScript file/,
		],
		[
			"arguments that do not fit",
			() => ["run", at.good ?? "", "--args", '{"topic":3}'],
			2,
			/good\.ts: the arguments do not fit: topic: .*expected string/,
		],
		["no arguments", () => ["run", at.good ?? ""], 2, /good\.ts: the arguments do not fit: args: /],
		["arguments that are no JSON", () => ["run", at.good ?? "", "--args", "{topic}"], 2, /--args: expected JSON; /],
		[
			"a file of arguments that is no JSON",
			() => ["run", at.good ?? "", "--args-file", at.args ?? ""],
			2,
			/args\.json: expected JSON; /,
		],
		[
			"no such file of arguments",
			() => ["run", at.good ?? "", "--args-file", at.missing ?? ""],
			3,
			/the arguments .*missing\.ts cannot be read \(ENOENT\)/,
		],
		[
			"arguments twice",
			() => ["run", at.good ?? "", "--args", "1", "--args-file", at.args ?? ""],
			2,
			/--args or --args-file, not both/,
		],
		["an unknown run", () => ["resume", "r0"], 3, /no script run "r0"; there are r/],
		["a run id that is a path", () => ["resume", "../../x"], 3, /no script run "\.\.\/\.\.\/x"/],
		["an unknown run to watch", () => ["watch", "r0"], 3, /no script run "r0"/],
		["an unknown run to verify", () => ["verify", "r0"], 3, /no script run "r0"/],
		["an unknown run to save", () => ["save", "r0"], 3, /no script run "r0"/],
		[
			"a run of another script",
			() => ["resume", id, at.other ?? ""],
			4,
			/is of good\.ts; found other\.ts\. .*reyn .*script run <file>/,
		],
		["an edit that does not load", () => ["resume", id, at.syntax ?? ""], 4, /is of good\.ts/],
		[
			"other arguments that do not fit",
			() => ["resume", id, "--args", "{}"],
			2,
			/good\.ts: the arguments do not fit: topic: /,
		],
		["no run", () => ["resume"], 2, /missing required argument 'run'/],
		[
			"an unknown flag",
			() => ["run", at.good ?? "", "--arg", "1"],
			2,
			/unknown option '--arg'\s+\(Did you mean --args\?\)/,
		],
		["an unknown command", () => ["rum", at.good ?? ""], 2, /unknown command 'rum'\s+\(Did you mean run\?\)/],
		["an unknown way to reuse", () => ["resume", id, "--reuse", "all"], 2, /Allowed choices are prefix, content/],
	])("%s", async (_, args, code, message) => {
		const before = await hashOf(here().state);
		// Behind a text that is nested too deeply Node reads no other script in its process.
		const ended = await (args().includes(at.deep ?? "") ? runAlone : run)(here(), ["script", ...args()]);
		expect(ended).toMatchObject({ code, stdout: "" });
		expect(ended.stderr).toMatch(message);
		expect(ended.stderr).not.toMatch(/\n\s+at /);
		expect(await hashOf(here().state)).toBe(before);
	});

	test("and the run that is open is still resumable", async () => {
		expect(await run(here(), ["script", "resume", id, "--answer", "yes"])).toMatchObject({ code: 0, stdout: "yes\n" });
	});

	test("where there is no state yet, none is made", async () => {
		const nowhere = place("nowhere");
		await run(nowhere, ["script", "run", at.syntax ?? ""]);
		for (const command of [["list"], ["resume", "r0"], ["watch", "r0"]])
			expect(await run(nowhere, ["script", ...command])).toMatchObject({
				code: 3,
				stdout: "",
				stderr: expect.stringMatching(/there is no history/),
			});
		await expect(readdir(nowhere.state)).rejects.toMatchObject({ code: "ENOENT" });
	});

	test("as JSON it is a document with the code, and the place of a mistake", async () => {
		expect(await json<object>(here(), ["script", "run", at.syntax ?? ""])).toMatchObject({
			error: { code: "SCRIPT_INVALID", details: { file: "syntax.ts", line: 3, column: 12 } },
		});
		expect(await json<object>(here(), ["script", "run", at.good ?? "", "--args", '{"topic":3}'])).toMatchObject({
			error: { code: "SCRIPT_ARGS", details: { path: "topic" } },
		});
		expect(resultOf(await run(here(), ["script", "watch", "r0", "--output-format", "stream-json"]))).toMatchObject({
			error: { code: "RUNTIME_UNKNOWN_SCRIPT_RUN" },
			exitCode: 3,
		});
	});
});

test("nothing that a script says, asks or gives can move the cursor", async () => {
	const here = place("evil");
	const evil = "\\u001b[2J\\u001b]0;title\\u0007\\u202e\\r";
	const path = await file(
		"evil.ts",
		`export default async (ctx) => { console.log("${evil}said"); await ctx.agent("x", { label: "${evil}label" }); await ctx.phase("${evil}phase", () => ctx.now()); return (await ctx.ask("${evil}asked")) + "${evil}given"; };`,
	);
	const shown: string[] = [];
	const waiting = await run(here, ["script", "run", path]);
	const [{ run: id } = { run: "" }] = await json<Summary[]>(here, ["script", "list"]);
	for (const ended of [
		waiting,
		await run(here, ["script", "resume", id, "--explain"]),
		await run(here, ["script", "list"]),
		await run(here, ["script", "resume", id, "--answer", "ok"]),
		await run(here, ["script", "watch", id]),
		await run(here, ["script", "verify", id]),
	])
		shown.push(ended.stdout, ended.stderr);
	for (const word of ["said", "label", "asked", "given"]) expect(shown.join("")).toContain(word);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
	expect(shown.join("")).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
});

test("nor can its text, which Node itself prints where promises fail while the stack is used up", async () => {
	const path = await file(
		"deep.ts",
		`export default async () => {
	const f = () => { (async () => { throw 1 })().catch(() => {}); f(); }; /* \u001b]0;title\u0007\u001b[2J\u202e\rall is well */
	try { f(); } catch { return "caught"; }
};`,
	);
	const { code, stdout, stderr } = await runAlone(place("deep"), ["script", "run", path]);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
	expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
	expect(stderr).toContain("deep.ts:2:");
	expect(code).not.toBe(0);
});

test.each(["", "run", "resume", "explain", "list", "show", "watch", "save", "verify"])(
	"help of script %s has its usage and an example, in 80 columns",
	async (command) => {
		const { code, stdout } = await run(place("help"), ["script", ...(command === "" ? [] : [command]), "--help"]);
		expect(code).toBe(0);
		expect(stdout).toMatch(new RegExp(`^Usage: reyn script ${command}`));
		expect(stdout).toMatch(/\nExample: reyn script /);
		expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
		// What can be given is said to be something.
		expect(stdout).not.toMatch(/^ {2}run\s*$/m);
	},
);
