/** What a script reads in the stack of an error: lines of its own, the same in every run and wherever Reyn is installed. */
import { expect, test } from "vitest";
import { runBody, runSource, testHost } from "./host.ts";
import { echo, Process, script, writer } from "./script-process.ts";

test.each([false, true])(
	"a script may make a call of the stack of an error: its replay makes the same one (isolated: %s)",
	async (isolate) => {
		const source = script(`
		await ctx.agent("first");
		let stack;
		try { null.x; } catch (error) { stack = error.stack; }
		return await ctx.agent(stack);
	`);
		const run = new Process({ model: echo(async () => "answer"), isolate });
		const ended = await run.work(source);
		const replay = run.next();
		expect([await replay.work(source), replay.made]).toEqual([ended, []]);
	},
);

/** Ways to come by an error, each leaves it in `error`. */
const ways: Readonly<Record<string, string>> = {
	"that is made": 'error = new Error("no");',
	"that is made without new": 'error = TypeError("no");',
	"of a class of its own": 'class Own extends RangeError {} error = new Own("no");',
	"made as something else": 'error = Reflect.construct(Error, ["no"], Array);',
	"of an object that takes a stack": "error = {}; Error.captureStackTrace(error);",
	"that the language throws": "try { null.x; } catch (caught) { error = caught; }",
	"that a function of the language throws": 'try { JSON.parse("{"); } catch (caught) { error = caught; }',
	"taken apart where it is caught": "try { null.x; } catch ({ stack }) { error = { stack }; }",
	"taken apart over several lines":
		"try { null.x; } catch ({\n stack, // its text\n message: [first],\n}) { error = { stack }; }",
	"of a promise that failed": "await (async () => null.x)().catch((reason) => { error = reason; });",
	"in the second place of then": "await (async () => null.x)().then(undefined, (reason) => { error = reason; });",
	"of promises that were all waited for": "[{ reason: error }] = await Promise.allSettled([(async () => null.x)()]);",
	"of promises of which any was to end":
		"try { await Promise.any([(async () => null.x)()]); } catch (caught) { error = caught.errors[0]; }",
	"that is gathered when a block is left":
		"try { using a = { [Symbol.dispose]() { null.a; } }; null.x; } catch (caught) { error = caught.error; }",
	"that was gathered before":
		"try { using a = { [Symbol.dispose]() { null.a; } }; null.x; } catch (caught) { error = caught.suppressed; }",
	"that gathers others": "try { await Promise.any([(async () => null.x)()]); } catch (caught) { error = caught; }",
	"of a branch": "try { await ctx.phase('a', async () => null.x); } catch (caught) { error = caught; }",
	"of a call": 'try { await ctx.tool("fails"); } catch (caught) { error = caught; }',
	"of what is refused": "try { Date.now(); } catch (caught) { error = caught; }",
	"of a stack that is used up": "const dive = () => dive(); try { dive(); } catch (caught) { error = caught; }",
};

const knowsUsing = "SuppressedError" in globalThis;

test.each(Object.entries(ways).filter(([, way]) => knowsUsing || !way.includes("using ")))(
	"the stack of an error %s has lines of the script alone",
	async (what, way) => {
		const host = testHost(async () => {
			throw new Error("no");
		});
		const body = `let error; ${way} return String(error.stack);`;
		const [, ...frames] = String(await runBody(body, host)).split("\n");
		// Who gathers failures was called by nobody, V8 names only who called the constructor that was asked for, and who used the
		// stack up is another one each time.
		if (!/gathers|something else|used up/.test(what)) expect(frames).not.toEqual([]);
		for (const frame of frames) expect(frame).toMatch(/^ {4}at (async )?([\w.<> [\]]+ \()?s\.ts:\d+:\d+\)?$/);
	},
);

test("a stack names the place in the source, although what is caught is looked at first", async () => {
	const body = [
		'try { null.x; } catch (error) { return [new Error("one").stack, (() => {',
		'	try { null.x; } catch ({ message }) { try { null.y; } catch (other) { return new Error("two").stack; } }',
		"})()]; }",
	].join("\n");
	const lines = `\n${body}`.split("\n");
	const placeOf = (text: string): string => {
		const line = lines.findIndex((each) => each.includes(text));
		return `s.ts:${line + 1}:${(lines[line] as string).indexOf(text) + 1}`;
	};
	const [one, two] = (await runBody(body)) as string[];
	expect(one?.split("\n")[1]).toContain(placeOf('new Error("one")'));
	expect(two?.split("\n")[1]).toContain(placeOf('new Error("two")'));
});

test("what a script writes into a stack stays, whoever catches it", async () => {
	const body = `
		const error = new Error("x");
		error.stack = "    at its own (node:place:1:1)";
		const getter = new Error("y");
		Object.defineProperty(getter, "stack", { get: () => "from a getter" });
		const like = Object.assign(Object.create(Error.prototype), { stack: 5 });
		const stacks = [];
		for (const each of [error, getter, like, "text", null])
			try { throw each; } catch (caught) { stacks.push(caught === each && (caught?.stack ?? null)); }
		return stacks;
	`;
	expect(await runBody(body)).toEqual(["    at its own (node:place:1:1)", "from a getter", 5, null, null]);
});

test("errors are what they were: their classes, names and prototypes", async () => {
	const body = `
		class Own extends TypeError { constructor(text) { super(text, { cause: "c" }); this.name = "Own"; } }
		const own = new Own("m");
		let thrown;
		try { null.x; } catch (error) { thrown = error; }
		return [
			own instanceof Own && own instanceof TypeError && own instanceof Error, own.cause, String(own), own.constructor === Own,
			thrown instanceof TypeError, thrown.constructor === TypeError, Object.getPrototypeOf(TypeError) === Error,
			TypeError.name, TypeError.length, new AggregateError([1], "m").errors, Error("m") instanceof Error,
			Object.keys(own), Promise.prototype.then.name, Promise.prototype.then.length,
		];
	`;
	expect(await runBody(body)).toEqual([
		true,
		"c",
		"Own: m",
		true,
		true,
		true,
		true,
		"TypeError",
		1,
		[1],
		true,
		["name"],
		"then",
		2,
	]);
});

test("a pattern where an error is caught sees what is around it, and not what its block declares", async () => {
	const body = `
		const code = "outer", key = "message", f = () => "outer f", all = [];
		try { throw {}; } catch ({ message = code }) { const code = 7; all.push(message, code); }
		try { throw new Error("m"); } catch ({ [key]: text }) { const key = 1; all.push(text, key); }
		try { throw {}; } catch ({ g = () => code }) { const code = "inner"; all.push(g(), code); }
		try { throw {}; } catch ({ a = f() }) { function f() { return "inner f"; } all.push(a, f()); }
		try { throw [1, [2]]; } catch ([a, [b], ...rest]) { var last = a + b; let c = () => a + 1; all.push(c(), rest.length); }
		for (const n of [1, 2]) { try { throw { n }; } catch ({ n: again }) { if (again === 1) continue; all.push(again); } }
		return [...all, last];
	`;
	const expected = ["outer", 7, "m", 1, "outer", "inner", "outer f", "inner f", 2, 0, 2, 3];
	expect(await runBody(body)).toEqual(expected);
});

test("a stack begins with the name that an error has when it is caught", async () => {
	const body = `
		class NotFound extends Error { constructor(text) { super(text); this.name = "NotFound"; } }
		const heads = [];
		try { throw new NotFound("x"); } catch (error) { heads.push(error.stack.split("\\n")[0], error.stack.split("\\n").length > 1); }
		return heads;
	`;
	expect(await runBody(body)).toEqual(["NotFound: x", true]);
});

test("where the stack is used up, no stack says by whom", async () => {
	const body = `
		const a = (n) => b(n + 1), b = (n) => c(n + 1), c = (n) => a(n + 1);
		try { a(0); } catch (error) { return error.stack; }
	`;
	expect(await runBody(body)).toBe("RangeError: Maximum call stack size exceeded");
});

const begin = "const out: unknown[] = []; ";
const end = "export default async () => out;";

test.each([
	["at the end of a file", `${begin}${end} try { out.push(1); } catch ({ message }) { out.push(message); }`, [1]],
	["before an export", `${begin}try { throw { a: 1 }; } catch ({ a }) { out.push(a) }${end}`, [1]],
	[
		"before an export of a value",
		`${begin}try { throw { a: 1 }; } catch ({ a }) { out.push(a) }export default (() => out);`,
		[1],
	],
	[
		"before a list of exports",
		`${begin}try { throw { a: 1 }; } catch ({ a }) { out.push(a) }export { main as default }; const main = () => out;`,
		[1],
	],
])("a pattern in a catch %s", async (_, source, expected) => {
	expect(await runSource(source)).toEqual(expected);
});

test.each([
	["a name", "const \\u0024 = 5; try { throw 1; } catch (e) { return [e, \\u0024]; }", [1, 5]],
	["the name that is caught", "try { throw 3; } catch (\\u0024) { return \\u0024; }", 3],
	["a name in a pattern", "try { throw { b: 1 }; } catch ({ b: \\u00240 }) { return \\u00240; }", 1],
	["a name that a pattern uses", "const \\u00240 = 7; try { throw {}; } catch ({ a = \\u00240 }) { return a; }", 7],
	["two names", "const $ = 2, \\u0024\\u0024 = 3; try { throw 1; } catch (e) { return [e, $, $$]; }", [1, 2, 3]],
	[
		"a name in a loop",
		"const all = []; for (const \\u{24} of [1, 2]) try { throw 3; } catch (e) { all.push(e, $); } return all;",
		[3, 1, 3, 2],
	],
])("%s of a script's own is not taken for what its catches call", async (_, body, expected) => {
	expect(await runBody(body)).toEqual(expected);
});

test.each([false, true])("the failure of a call has its name, live and in a replay (isolated: %s)", async (isolate) => {
	const fails = writer(async () => {
		throw Object.assign(new TypeError("no"), { code: "C" });
	});
	const run = new Process({ isolate, tools: [fails] });
	const source = script("try { await ctx.tool('write'); } catch (error) { return [String(error), error.code]; }");
	const ended = { status: "completed", result: ["TypeError: no", "C"] };
	expect([await run.work(source), await run.next().work(source)]).toEqual([ended, ended]);
});
