/** A script in a process of its own: the same records as in that of its host, which believes nothing and loses nothing. */
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { CHILD_WRITES, type FromChild, frameOf, HEAD, type ToChild } from "../../src/script/channel.ts";
import { checkScript, loadScript } from "../../src/script/index.ts";
import { type Child, type ChildEvents, spawnChild } from "../../src/script/start-child.ts";
import { hasLimit } from "../../src/script/time-slice.ts";
import { Process, type ProcessOptions, script, writer } from "./script-process.ts";

const children: Child[] = [];
/** In place of a real process. */
let start: ((events: ChildEvents) => Child) | undefined;
// Files of tests share their modules: a mock has some of its own.
vi.hoisted(() => vi.resetModules());
afterAll(() => {
	vi.doUnmock("../../src/script/start-child.ts");
	vi.resetModules();
});
vi.mock(import("../../src/script/start-child.ts"), async (original) => {
	const { startChild, ...more } = await original();
	return {
		...more,
		startChild(events) {
			const child = (start ?? startChild)(events);
			children.push(child);
			return child;
		},
	};
});
afterEach(() => {
	children.length = 0;
	start = undefined;
	vi.useRealTimers();
	vi.restoreAllMocks();
});

const options = {
	tools: [
		writer(({ at }) => {
			if (at !== "broken") return `wrote ${at}`;
			throw Object.assign(new Error("no such file"), { code: "ENOENT", detail: { at } });
		}),
	],
	ask: async () => "yes",
} satisfies ProcessOptions;

const all = script(`
	console.log("begun", ctx.uuid());
	const shared = [];
	const checked = await ctx.parallel([1, 2, 3].map((n) => async () => {
		shared.push(await ctx.agent("check " + n + " " + ctx.random()));
		if (n === 2) await ctx.tool("write", { at: "broken" }).catch((error) => shared.push(error.message + error.code + error.detail.at));
		return shared.length;
	}));
	await ctx.sleep(1);
	const said = await ctx.phase("say", async () => {
		const answer = await ctx.ask("go on?", { choices: ["yes", "no"] });
		return ctx.pipeline(["x", "y"], (item) => ctx.tool("write", { at: item + ctx.uuid() }), (text) => text + answer);
	});
	Promise.reject(new Error("left alone"));
	const raced = await Promise.race([ctx.agent("slow"), ctx.agent("fast")]);
	console.log(typeof await ctx.now());
	return { checked, shared, said, raced, dice: ctx.random() };
`);

/** What is in a log, but for times. */
const recordsOf = ({ log }: Process): unknown =>
	log.records.map(({ seq, kind, data }) => [seq, kind, JSON.stringify(data).replace(/\b1[0-9]{12}(\.\d+)?\b/g, "T")]);

/** When it is told depends on what else the process does. */
const leftAlone = "nobody waited for what failed here: Error: left alone";

describe("it is the same run in a process of its own", () => {
	test("records, lines and result, and so is its preview", async () => {
		const [here, isolated] = [new Process(options), new Process({ ...options, isolate: true })];
		const [expected, got] = [await here.work(all), await isolated.work(all)];
		expect(expected).toMatchObject({ status: "completed" });
		expect(got).toEqual(expected);
		expect(recordsOf(isolated)).toEqual(recordsOf(here));
		expect(isolated.printed).toContainEqual(expect.stringContaining(leftAlone));
		const [said, heard] = [here, isolated].map(({ printed }) => printed.filter((line) => !line.includes(leftAlone)));
		expect(heard).toEqual(said);
		const edited = all.replace("slow", "slower");
		expect(await isolated.next().explain(edited)).toEqual(await here.next().explain(edited));
		expect(children.length).toBe(2);
	});

	test.each([
		["begun here, gone on with there", false],
		["begun there, gone on with here", true],
	])("%s: nothing is called twice", async (_, isolate) => {
		const whole = new Process(options);
		const { result } = (await whole.work(all)) as { result: unknown };
		const cut = new Process({ ...options, isolate, appends: Math.floor(whole.log.records.length / 2) });
		expect(await cut.work(all)).toMatchObject({ status: "killed" });
		const next = cut.next({ isolate: !isolate });
		expect(await next.work(all)).toEqual({ status: "completed", result });
		const twice = cut.made.filter((call) => next.made.includes(call));
		// The calls that were under way at the cut, if any, are models': the effect in doubt would be "retry".
		expect(twice.filter((call) => call.startsWith("write"))).toEqual([]);
		expect(children.length).toBe(1);
	});

	test.each([
		["its own error", 'const error = new TypeError("own"); error.code = "OWN"; error.detail = { n: 1 }; throw error;'],
		["an error without more", 'throw new Error("plain");'],
		["a phase whose name has half a character", 'await ctx.phase("a\\ud83e", () => ctx.now());'],
		["a phase with a long name", 'await ctx.phase("x".repeat(1001), () => ctx.now());'],
		["the failure of a call", 'await ctx.tool("write", { at: "broken" });'],
		[
			"failures of branches and calls",
			'await ctx.parallel([() => ctx.tool("write", { at: "broken" }), () => { throw new Error("x"); }]);',
		],
	])("that ends by %s", async (_, body) => {
		const source = script(body);
		const [here, isolated] = [new Process(options), new Process({ ...options, isolate: true })];
		const [expected, got] = [await here.work(source), await isolated.work(source)];
		expect(expected.status).toBe("failed");
		expect(got).toEqual(expected);
		expect((got as { error: Error }).error.stack).toBe((expected as { error: Error }).error.stack);
		expect(recordsOf(isolated)).toEqual(recordsOf(here));
	});

	test("what is wrong with a script is said as without", async () => {
		const module = loadScript("nothing(); export default () => {};", "s.ts");
		const check = (isolate: boolean) => checkScript(module, {}, { isolate }).catch((error) => error);
		const { message, code, detail } = await check(false);
		expect(code).toBe("SCRIPT_INVALID");
		expect(await check(true)).toMatchObject({ message, code, detail });
	});
});

test("its process can do nothing", async () => {
	const child = spawnChild(join(import.meta.dirname, "walls.ts"), join(import.meta.dirname, "../.."));
	let said = "";
	for (const fd of [2, CHILD_WRITES]) child.stdio[fd]?.on("data", (bytes) => (said += bytes));
	await once(child, "close");
	expect(JSON.parse(said)).toEqual({ done: [], env: {}, cwd: "/" });
});

test("a Node without the permission model is refused", async () => {
	vi.spyOn(process, "allowedNodeEnvironmentFlags", "get").mockReturnValue(new Set());
	const run = new Process({ ...options, isolate: true });
	expect(await run.work(all)).toMatchObject({ error: { code: "SCRIPT_ISOLATION" } });
	expect(run.made).toEqual([]);
});

describe("it ends, and its host does not", () => {
	const twice = script('await ctx.tool("write", { at: "a" }); return ctx.tool("write", { at: "b" });');

	test("killed in the middle of an effect, which is not made again", async () => {
		const tools = [
			writer(({ at }) => {
				children.at(-1)?.kill();
				return `wrote ${at}`;
			}),
		];
		const killed = new Process({ tools, isolate: true });
		expect(await killed.work(twice)).toMatchObject({
			status: "stopped",
			error: { code: "SCRIPT_LOST", detail: { how: "it was ended by SIGKILL" } },
		});
		const next = killed.next({ isolate: false });
		expect(await next.work(twice)).toEqual({ status: "completed", result: "wrote b" });
		expect([...killed.made, ...next.made]).toEqual(['write {"at":"a"}', 'write {"at":"b"}']);
	});

	test.skipIf(!hasLimit)("a loop without an end is cut as it is here", async () => {
		const source = script('await ctx.tool("write", { at: "a" }); void ctx.tool("write", { at: "b" }); for (;;);');
		const [here, isolated] = [false, true].map((isolate) => new Process({ ...options, isolate, sliceMs: 1000 }));
		const [expected, got] = [await here?.work(source), await isolated?.work(source)];
		expect(expected).toMatchObject({ status: "failed", error: { code: "SCRIPT_TIMEOUT" } });
		expect(got).toEqual(expected);
		expect(isolated?.made).toEqual(['write {"at":"a"}']);
	});

	test("what V8 does not stop: a list that says it is endless", async () => {
		const source = script('await ctx.tool("write", { at: "a" }); [].lastIndexOf.call({ length: 2 ** 53 - 1 }, 1);');
		const run = new Process({ ...options, isolate: true, sliceMs: 100 });
		expect(await run.work(source)).toMatchObject({
			status: "stopped",
			error: { code: "SCRIPT_LOST", message: expect.stringContaining("did not answer") },
		});
		expect(run.made).toEqual(['write {"at":"a"}']);
	});

	test("all memory used up", async () => {
		const source = script('await ctx.agent("a"); const all = []; for (;;) all.push(new Array(1e6).fill(1.5));');
		const run = new Process({ ...options, isolate: true, sliceMs: 20_000 });
		expect(await run.work(source)).toMatchObject({
			status: "stopped",
			error: { code: "SCRIPT_LOST", message: expect.stringContaining("512 MiB of memory") },
		});
	});

	test("stopped by its host", async () => {
		const kill = vi.fn();
		start = (events) => ({ ...fake(({ type }) => (type === "open" ? opened : undefined))(events), kill });
		const run = new Process({ ...options, isolate: true });
		setImmediate(() => setImmediate(() => run.stop()));
		expect(await run.work(twice)).toMatchObject({ status: "stopped", error: { message: "killed" } });
		expect(kill).toHaveBeenCalled();
	});
});

/** What a child says to what it hears: reports, bytes, or that it is gone; undefined: nothing. */
type Says = (message: ToChild | { type: "seed" }) => FromChild | Buffer | { gone: string } | undefined;

function fake(says: Says): (events: ChildEvents) => Child {
	return (events) => ({
		write(frame) {
			const said = says(JSON.parse(frame.toString("utf8", HEAD)));
			setImmediate(() => {
				if (said && "gone" in said) events.gone(said.gone);
				else if (said) events.data(said instanceof Uint8Array ? said : frameOf(said));
			});
		},
		kill: () => setImmediate(() => events.gone("it was ended by SIGKILL")),
	});
}

const report = { operations: [], printed: [] };
const opened: FromChild = { ...report, type: "opened", exports: {} };
const rested: FromChild = { ...report, type: "rested" };
const lines = (text: string): Buffer => {
	const bytes = Buffer.from(text);
	const head = Buffer.alloc(HEAD);
	head.writeUInt32LE(bytes.length);
	return Buffer.concat([head, bytes]);
};
const tooLong = Buffer.alloc(HEAD);
tooLong.writeUInt32LE(2 ** 31);
const fork = (branches: number, at?: readonly [number, number]) =>
	({ op: "fork", kind: "parallel", name: "", branches, at }) as const;
const now = { op: "call", name: "now", args: "{}" } as const;
const nested = Array.from({ length: 300 }, (_, i) => fork(1, i > 0 ? [i - 1, 0] : undefined));
const failed = { type: "failed", said: { message: "" }, isCut: false };
const asks = (operations: unknown): Buffer => lines(JSON.stringify({ ...rested, operations }));

describe("of a process that says what it likes, nothing is believed", () => {
	const source = script('return ctx.tool("write", { at: "a" });');

	test.each<[what: string, says: unknown, how: string]>([
		["no JSON", lines("{"), "cannot be read"],
		["no report", lines("[]"), "cannot be read"],
		["another kind of report", lines('{"type":"begun","operations":[],"printed":[]}'), "cannot be read"],
		["a report with more in it", lines(JSON.stringify({ ...rested, more: 1 })), "cannot be read"],
		["a report without an end", tooLong, "2147483648 bytes"],
		["two reports", Buffer.concat([frameOf(rested), frameOf(rested)]), "without being asked"],
		["that it is open, once more", opened, '"opened"'],
		["a call that there is not", asks([{ op: "call", name: "exec", args: "{}" }]), "cannot be read"],
		["a call of a branch that there is not", asks([{ ...now, at: [0, 0] }]), "fork 0 of 0"],
		["a call of a branch beyond the last", asks([fork(1), { ...now, at: [0, 1] }]), "branch 1 of 1"],
		["the end of branches that there are not", asks([{ op: "join", fork: 0 }]), "fork 0 of 0"],
		["more branches than fit", asks([fork(1), fork(100_000)]), "more than 100000"],
		["more calls than fit", asks(Array(10_001).fill(now)), "more than 10000 calls"],
		["branches without a floor", asks(nested), "256 levels"],
		["two branches of a phase", asks([{ ...fork(2), kind: "phase" }]), "cannot be read"],
		["the seed of a branch that there is not", { ...report, type: "seed", at: [0, 0] }, "fork 0 of 0"],
		["a failure of a call that it did not make", { ...report, type: "failed by", call: 0 }, "call 0"],
		["a cause that there is not", { ...report, ...failed, causes: [7] }, "call 7"],
		["a result that is no JSON", { ...report, type: "completed", result: "{" }, "result is no JSON"],
		["nothing more", { gone: "it ended with 0" }, "it ended with 0"],
	])("%s", async (_, says, how) => {
		start = fake(({ type }) => (type === "open" ? opened : (says as FromChild)));
		const run = new Process({ ...options, isolate: true });
		expect(await run.work(source)).toMatchObject({
			status: "stopped",
			error: { code: "SCRIPT_LOST", detail: { how: expect.stringContaining(how) } },
		});
		expect(run.made).toEqual([]);
		expect(await run.next({ isolate: false }).work(source)).toEqual({ status: "completed", result: "wrote a" });
	});

	test("nor in a preview", async () => {
		start = fake(({ type }) => (type === "open" ? opened : lines("{")));
		await expect(new Process({ ...options, isolate: true }).explain(source)).rejects.toMatchObject({
			code: "SCRIPT_LOST",
		});
	});

	test.each<[what: string, says: FromChild | { gone: string }, how: string]>([
		["an end", { ...report, type: "completed" }, '"completed"'],
		["calls", { ...opened, operations: [now] }, "it made calls"],
		["nothing more", { gone: "it could not be started" }, "could not be started"],
	])("before it has begun: %s", async (_, says, how) => {
		start = fake(() => says);
		const run = new Process({ ...options, isolate: true });
		expect(await run.work(source)).toMatchObject({
			status: "stopped",
			error: { code: "SCRIPT_LOST", detail: { how: expect.stringContaining(how) } },
		});
	});

	test("what it asks for when it is over is not begun", async () => {
		const operations = [{ op: "call", name: "tool", args: '{"name":"write","args":{"at":"late"}}' } as const];
		start = fake(({ type }) => (type === "open" ? opened : { ...report, operations, type: "completed" }));
		const run = new Process({ ...options, isolate: true });
		expect(await run.work(source)).toEqual({ status: "completed", result: undefined });
		expect(run.made).toEqual([]);
	});

	test("a report may come in pieces", async () => {
		const whole = frameOf({ ...report, type: "completed", result: '"ä"' });
		start = (events) => {
			const child = fake(({ type }) => (type === "open" ? opened : undefined))(events);
			return {
				...child,
				write(frame) {
					child.write(frame);
					if (frame.includes('"run"')) for (const byte of whole) events.data(Buffer.of(byte));
				},
			};
		};
		expect(await new Process({ ...options, isolate: true }).work(source)).toMatchObject({ result: "ä" });
	});

	test("it does not answer any more", async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		start = fake(({ type }) => {
			if (type === "open") return opened;
			setImmediate(() => vi.advanceTimersByTime(60_000));
			return undefined;
		});
		const run = new Process({ ...options, isolate: true });
		expect(await run.work(source)).toMatchObject({ error: { message: expect.stringContaining("did not answer") } });
	});
});
