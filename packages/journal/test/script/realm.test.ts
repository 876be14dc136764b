/** The realm of a script: its exports, errors, arguments and JSON. */
import { spawnSync } from "node:child_process";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { loadScript } from "../../src/script/load.ts";
import { openRealm } from "../../src/script/realm.ts";
import { runBody, runSource, testHost } from "./host.ts";

const open = (source: string) => openRealm(loadScript(source, "s.ts"), testHost());

describe("a script is opened", () => {
	test("its exports beside the function are data", async () => {
		const realm = await open(`
			export const description: string = "sorts", { a, ...rest } = { a: 1, b: 2 };
			const list = [1];
			export { list as "a list", main as default };
			async function main() {}
		`);
		expect(realm.exports).toEqual({ description: "sorts", a: 1, rest: { b: 2 }, "a list": [1] });
	});

	test.each([
		["an arrow", "export default async (ctx, args) => args.n + 1;"],
		["a function", "export default async function (ctx, args) { return args.n + 1; }\n(0);"],
		["a function with a name", "export default function main(ctx, args) { return args.n + 1; }"],
		["a name", "const main = (ctx, args) => args.n + 1;\nexport default main"],
		["a call", "const make = (n) => (ctx, args) => args.n + n;\nexport default make(1);"],
		[
			"one behind a blanked import",
			'let n = 1\nimport { type A } from "a"\n(0)\nexport default (ctx, args) => args.n + n',
		],
	])("its function may be written as %s", async (_, source) => {
		await expect(runSource(source, testHost(), '{"n":1}')).resolves.toBe(2);
	});

	test.each([
		["without a default export", "export const a = 1;", "SCRIPT_INVALID", "found undefined"],
		["whose default export is no function", "export default { run() {} };", "SCRIPT_INVALID", "found an object"],
		[
			"whose top level throws",
			'const a = 1;\n  throw new Error("no"); export default () => {};',
			"SCRIPT_INVALID",
			/^s\.ts:2:9: .*no$/,
		],
		["whose top level throws a text", 'throw "no"; export default () => {};', "SCRIPT_INVALID", "no"],
		[
			"whose top level throws what nobody can read",
			"throw { get message() { throw 1; } }; export default () => {};",
			"SCRIPT_INVALID",
			"unreadable",
		],
		[
			"which exports a helper",
			"export default () => {}; export const a = { f() {} };",
			"SCRIPT_INVALID",
			"function at exports.a.f",
		],
		[
			"which is random at its top level",
			"export const a = Math.random(); export default () => {};",
			"DETERMINISM",
			"ctx.random()",
		],
	])("one %s is refused", async (_, source, code, message) => {
		const words = typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message);
		await expect(open(source)).rejects.toMatchObject({ code, message: words, detail: expect.anything() });
	});
});

describe("errors", () => {
	test("the stack names the lines of the script, and nothing else", async () => {
		const error = (await runSource(
			"import type { ScriptContext } from '@reyn/journal';\nconst fail = (what: string): never => {\n\tthrow new RangeError(what);\n};\nexport default async (ctx: ScriptContext): Promise<void> => {\n\tfail('no');\n};",
		).catch((thrown) => thrown)) as Error;
		expect(error.stack).toBe("RangeError: no\n    at fail (s.ts:3:8)\n    at main (s.ts:6:2)");
		expect(error).toBeInstanceOf(Error);
	});

	test("the stack of a failed call names the line that waits", async () => {
		const host = testHost(async () => {
			throw Object.assign(new Error("no model"), { code: "NO_MODEL", detail: { id: 1 } });
		});
		const body =
			"try {\n await ctx.agent('x');\n} catch ({ message, code, detail, stack, name }) { return [message, code, detail, name, stack]; }";
		const [message, code, detail, name, stack] = (await runBody(body, host)) as unknown[];
		expect([message, code, detail, name]).toEqual(["no model", "NO_MODEL", { id: 1 }, "Error"]);
		expect(stack).toContain("at async main (s.ts:3:2)");
	});

	test("it does so through branches", async () => {
		const error = (await runBody(
			"await ctx.phase('p', async () => {\n await ctx.sleep(0);\n throw new Error('no'); });",
		).catch((thrown) => thrown)) as Error;
		expect(error.stack?.split("\n    at ").slice(1)).toEqual(["s.ts:4:8", "async main (s.ts:2:1)"]);
	});

	test("one of the host comes out as it went in", async () => {
		const failure = new Error("cancelled");
		const host = testHost(() => Promise.reject(failure));
		await expect(runBody("await ctx.phase('p', () => ctx.agent('x'));", host)).rejects.toBe(failure);
	});

	test("one of the script keeps its name, code and detail", async () => {
		const body = "throw Object.assign(new TypeError('no'), { code: 'OWN', detail: [1] });";
		await expect(runBody(body)).rejects.toMatchObject({ name: "TypeError", message: "no", code: "OWN", detail: [1] });
	});
});

describe("arguments", () => {
	test.each([
		["ctx.agent()", "1 to 2 arguments; found 0"],
		["ctx.agent(5)", "the prompt to be a string; found a number"],
		["ctx.agent('x', 'y')", "the options to be an object; found a string"],
		["ctx.agent('x', { maxturns: 1 })", 'label, system, tools, maxTurns, estimate, schema; found "maxturns"'],
		["ctx.agent('x', { maxTurns: 0 })", 'the option "maxTurns" to be a whole number above 0'],
		["ctx.agent('x', { tools: ['a', 1] })", 'the option "tools" to be a list of strings'],
		["ctx.agent('x', { schema: [] })", "to be an object; found a list"],
		["ctx.agent('x', {}, 1)", "found 3"],
		["ctx.tool('x', 'y')", "the arguments to be an object"],
		["ctx.ask('x', { choices: 'a' })", 'the option "choices"'],
		["ctx.sleep(-1)", "a number from 0"],
		["ctx.sleep(NaN)", "a number from 0"],
		["ctx.now(1)", "0 arguments; found 1"],
		["ctx.parallel([ctx.now()])", "found a promise at position 0: write () =>"],
		["ctx.parallel(() => 1)", "a list of functions; found a function"],
		["ctx.pipeline([1])", "2 or more arguments"],
		["ctx.pipeline({}, () => 1)", "the items to be a list"],
		["ctx.phase('x')", "2 arguments; found 1"],
		["ctx.phase(() => 1, 'x')", "the name to be a string"],
		[
			"ctx.phase('a\\ud83e', () => 1)",
			"the name to have whole characters; found half of one: cut texts with Array.from",
		],
		[
			"String.prototype.isWellFormed = () => true; ctx.phase('\\udd8a\\ud83e', () => 1)",
			"the name to have whole characters",
		],
	])("%s is refused at once", async (call, words) => {
		const body = `try { ${call}; } catch ({ code, message }) { return [code, message]; }`;
		await expect(runBody(body)).resolves.toEqual(["SCRIPT_INVALID", expect.stringContaining(words)]);
	});

	test.each([
		["a cycle", "(() => { const a = {}; a.b = { a }; return a; })()", "args.b.a", "a cycle"],
		["a function", "{ a: [0, () => 1] }", "args.a[1]", "function"],
		["a symbol", "{ a: Symbol() }", "args.a", "symbol"],
		["a BigInt", "{ a: { b: 1n } }", "args.a.b", "bigint"],
		["undefined in a list", "{ a: [undefined] }", "args.a[0]", "undefined"],
		["a hole in a list", "{ a: [, 1] }", "args.a[0]", "undefined"],
		["NaN", "{ a: NaN }", "args.a", "NaN"],
		["Infinity", "{ a: -Infinity }", "args.a", "-Infinity"],
		["a date", "{ a: new Date(0) }", "args.a", "Date"],
		["a map", "new Map()", "args", "Map"],
		["a promise", "{ a: ctx.now() }", "args.a", "Promise"],
	])("%s is no JSON, and the error says where", async (_, args, path, found) => {
		const call = `try { ctx.tool("t", ${args}); } catch ({ code, message, detail }) { return [code, message, detail.path]; }`;
		await expect(runBody(call)).resolves.toEqual(["SCRIPT_NOT_JSON", `expected JSON; found ${found} at ${path}`, path]);
	});

	test("what is JSON arrives as JSON.stringify writes it", async () => {
		const value = { a: [1, -0, 1e21, "é\u2028\ud800", true, null, { __proto__: null, b: {} }], "c d": "", 1: "one" };
		const host = testHost();
		await runBody(`await ctx.tool("t", { ...args, gone: undefined });`, host, JSON.stringify(value));
		expect(host.notes).toEqual([`root: tool {"name":"t","args":${JSON.stringify(value)}}`]);
	});

	test("a result that is no JSON is refused, with its path; none at all is undefined", async () => {
		await expect(runBody("return { a: () => 1 };")).rejects.toMatchObject({
			code: "SCRIPT_NOT_JSON",
			detail: { path: "result.a" },
		});
		await expect(runBody("return;")).resolves.toBeUndefined();
	});

	test("each call carries its own", async () => {
		const host = testHost(async (op) => (op === "now" ? 7 : op === "sleep" ? undefined : op));
		const result = await runBody(
			`return [
				await ctx.agent("p", { label: "l", system: undefined, tools: ["t"], maxTurns: 2, estimate: 0, schema: { type: "object" } }),
				await ctx.tool("t"), await ctx.ask("q", { choices: ["a"] }), await ctx.now(), (await ctx.sleep(1.5)) ?? null,
				ctx.random(), ctx.uuid(),
			];`,
			host,
		);
		expect(result).toEqual(["agent", "tool", "ask", 7, null, 0.25, "00000000-0000-4000-8000-000000000000"]);
		expect(host.notes).toEqual([
			'root: agent {"prompt":"p","label":"l","tools":["t"],"maxTurns":2,"estimate":0,"schema":{"type":"object"}}',
			'root: tool {"name":"t","args":{}}',
			'root: ask {"question":"q","choices":["a"]}',
			"root: now {}",
			'root: sleep {"ms":1.5}',
		]);
	});

	test("a prototype that the script has changed does not change them", async () => {
		const work = `
			await ctx.agent("p", { tools: ["a", "b"], schema: { list: [1, { deep: "x" }] } });
			const both = await ctx.parallel([() => ctx.ask("q"), async () => ctx.tool("t", { n: [1, 2] })]);
			const three = await ctx.pipeline([1, 2], (n) => ctx.tool("s", { n }), (text) => text + "!");
			return { both, three };
		`;
		const poison = `
			const bad = () => { throw new Error("poisoned"); };
			Object.defineProperty(Object.prototype, "toJSON", { value: () => "poisoned", writable: true });
			Object.defineProperty(Object.prototype, "label", { value: "poisoned", writable: true });
			Object.defineProperty(Object.prototype, "get", { value: bad, writable: true });
			Object.defineProperty(Array.prototype, "0", { set: bad, get: () => "poisoned" });
			for (const name of ["map", "push", "join", "slice", "concat", "forEach", "length"]) try { Array.prototype[name] = bad; } catch {}
			Array.prototype[Symbol.iterator] = bad;
			String.prototype.toString = String.prototype.slice = String.prototype.toJSON = bad;
			Number.prototype.toString = Number.prototype.toJSON = bad;
			Function.prototype.call = Function.prototype.apply = Function.prototype.bind = bad;
			WeakMap.prototype.get = WeakMap.prototype.set = bad;
			JSON.stringify = JSON.parse = Object.keys = Object.defineProperty = Array.isArray = Reflect.apply = bad;
			try { Promise.prototype.then = bad; } catch {}
			try { Promise.resolve = bad; } catch {}
		`;
		const [clean, poisoned] = [testHost(async (op) => op), testHost(async (op) => op)];
		const expected = await runBody(work, clean);
		expect(expected).toEqual({ both: ["ask", "tool"], three: ["tool!", "tool!"] });
		expect(clean.notes).toHaveLength(9);
		await expect(runBody(poison + work, poisoned)).resolves.toEqual(expected);
		expect(poisoned.notes).toEqual(clean.notes);
	});
});

describe("branches", () => {
	test("each call is seen from its branch, across every await, and forks are joined", async () => {
		const host = testHost(async (op) => {
			for (let turns = op === "ask" ? 5 : 1; turns > 0; turns--) await nextTurn();
			return op;
		});
		await runBody(
			`
			await ctx.agent("before");
			await ctx.phase("gather", async () => {
				await ctx.parallel([
					async () => { await ctx.ask("0"); await Promise.resolve(); await ctx.agent("0 again"); },
					async () => { await ctx.agent("1"); for await (const n of [1, 2]) await ctx.agent("1, " + n); },
				]);
				await ctx.agent("in the phase");
			});
			await ctx.pipeline(["a", "b"], (item) => ctx.ask(item), (answer, item, i) => ctx.agent(item + i));
			await ctx.agent("after");
			`,
			host,
		);
		const of = (lane: string): string[] =>
			host.notes.filter((note) => note.startsWith(`${lane}: `)).map((note) => note.slice(lane.length + 2));
		const agent = (prompt: string): string => `agent {"prompt":"${prompt}"}`;
		expect(of("root")).toEqual([
			agent("before"),
			'fork 0 phase "gather" 1',
			"join 0",
			'fork 2 pipeline "" 2',
			"join 2",
			agent("after"),
		]);
		expect(of("0.0")).toEqual(['fork 1 parallel "" 2', "join 1", agent("in the phase")]);
		expect(of("1.0")).toEqual(['ask {"question":"0"}', agent("0 again")]);
		expect(of("1.1")).toEqual([agent("1"), agent("1, 1"), agent("1, 2")]);
		expect(of("2.0")).toEqual(['ask {"question":"a"}', agent("a0")]);
		expect(of("2.1")).toEqual(['ask {"question":"b"}', agent("b1")]);
		expect(host.notes.indexOf("0.0: join 1")).toBeGreaterThan(host.notes.indexOf(`1.0: ${agent("0 again")}`));
	});

	test("all are over before one failure is told, with every failed one and its position", async () => {
		const host = testHost(async (_, args) => {
			if (args.includes("bad")) throw Object.assign(new Error("no"), { code: "NO" });
			await nextTurn();
			return "good";
		});
		const body = `
			try {
				await ctx.parallel([
					() => ctx.agent("good"), () => ctx.agent("bad"), () => { throw "text"; },
					async () => { await ctx.agent("good"); await ctx.agent("last"); },
				]);
			} catch ({ code, detail }) { return { code, detail }; }
		`;
		await expect(runBody(body, host)).resolves.toEqual({
			code: "SCRIPT_BRANCH_FAILED",
			detail: {
				failed: [
					{ position: 1, message: "no", code: "NO" },
					{ position: 2, message: "text" },
				],
				branches: 4,
			},
		});
		expect(host.notes.slice(-2)).toEqual(['0.3: agent {"prompt":"last"}', "root: join 0"]);
	});

	test("a stage that fails ends its item only", async () => {
		const host = testHost();
		const failure = runBody(
			"await ctx.pipeline([1, 2], async (n) => { if (n === 1) throw new Error('one'); return n; }, (n) => ctx.agent('' + n));",
			host,
		);
		await expect(failure).rejects.toMatchObject({
			code: "SCRIPT_BRANCH_FAILED",
			message: expect.stringContaining("1 of 2 branches of ctx.pipeline() failed, the first with: one"),
			detail: { failed: [{ position: 0, message: "one" }], branches: 2 },
		});
		expect(host.notes).toContain('0.1: agent {"prompt":"2"}');
	});

	test("results are in order of position, and none is none", async () => {
		const body =
			"return [await ctx.parallel([async () => { await 0; await 0; return 1; }, () => 2]), await ctx.parallel([]), await ctx.pipeline([], () => 1)];";
		await expect(runBody(body)).resolves.toEqual([[1, 2], [], []]);
	});

	test("a phase gives what its body gives, and fails as its body fails", async () => {
		await expect(runBody("return ctx.phase('p', async () => 5);")).resolves.toBe(5);
		const host = testHost();
		await expect(runBody("await ctx.phase('p', () => { throw new RangeError('no'); });", host)).rejects.toThrow(/^no$/);
		expect(host.notes).toEqual(['root: fork 0 phase "p" 1', "root: join 0"]);
	});
});

test("a function says its name, and nothing that a comment or the layout would change", async () => {
	const body = `const texts = (f) => [String(f), f + "", \`\${f}\`, f.toString(), Function.prototype.toString.call(f)];
		const named = function two(a, b) { return a + b; };
		return [(n) => n /* why */, named, class Three { static name = 3; }, { four() {} }.four, async function* () {}, Math.max, ctx.now]
			.map((f) => [...new Set(texts(f))].join("|"));`;
	await expect(runBody(body)).resolves.toEqual([
		"function () { [code] }",
		"function two() { [code] }",
		"class { [code] }",
		"function four() { [code] }",
		"function () { [code] }",
		"function max() { [native code] }",
		"function now() { [code] }",
	]);
	await expect(runBody("return Function.prototype.toString.call({});")).rejects.toThrow(
		/requires that 'this' be a Function/,
	);
});

test("what a script prints is one text a line", async () => {
	const host = testHost();
	await runBody(
		"console.log('a', 1, { b: [2] }, undefined, new Map(), () => 1); console.error(new Error('no'));",
		host,
	);
	expect(host.notes[0]).toBe('log: a 1 {"b":[2]} undefined an object function () { [code] }');
	expect(host.notes[1]).toMatch(/^log: Error: no\n {4}at main \(s\.ts:2:/);
});

describe("in a process of its own", () => {
	const processes = [process.execPath];
	const inProcess = (body: string) =>
		spawnSync(
			processes[0] as string,
			[
				"--conditions=@reyn/source",
				"--input-type=module",
				"--eval",
				`import { runBody, testHost } from "./test/script/host.ts"; ${body}`,
			],
			{ encoding: "utf8", cwd: new URL("../..", import.meta.url) },
		);
	const ignoring = `
		const host = testHost(() => Promise.reject(new Error("refused")));
		await runBody(\`
			ctx.agent("ignored");
			ctx.parallel([() => ctx.agent("ignored")]);
			ctx.agent("derived").then((text) => text);
			(async () => { await ctx.agent("in a function"); })();
			await ctx.agent("waited for").catch(() => {});
			await new Promise((resolve) => queueMicrotask(resolve));
		\`, host);
		await new Promise((resolve) => setTimeout(resolve, 5));
		console.log(host.notes.filter((note) => note.startsWith("log: ")).map((note) => note.split("\\\\n")[0]).join("|"));
	`;

	test("a rejection that the script ignores does not end it, and types are stripped without a warning", () => {
		const { status, stdout, stderr } = inProcess(ignoring);
		expect(stderr).toBe("");
		expect(status).toBe(0);
		expect(stdout.trim().split("|")).toEqual([
			"log: nobody waited for what failed here: Error: refused",
			"log: nobody waited for what failed here: Error: refused\n    at async s.ts:6:19",
		]);
	});

	test.each([
		["of a subclass", "class P extends Promise {} new P((_, fail) => fail(no));"],
		["of a subclass, at once", "class P extends Promise {} P.reject(no);"],
		[
			"of a subclass without a prototype",
			"class P extends Promise {} Object.setPrototypeOf(P.prototype, null); new P((_, fail) => fail(no));",
		],
		["without a prototype", "Object.setPrototypeOf(Promise.reject(no), null);"],
		[
			"with any prototype",
			"Object.setPrototypeOf(Promise.reject(no), { get constructor() { throw no; }, get then() { throw no; } });",
		],
		[
			"with another constructor",
			"const p = Promise.reject(no); Object.defineProperty(p, 'constructor', { value: class extends Promise {} }); p.then(() => 1);",
		],
		["made for another class", "Reflect.construct(Promise, [(_, fail) => fail(no)], Object);"],
		[
			"made for a class without a prototype",
			"function F() {} F.prototype = Object.create(null); Reflect.construct(Promise, [(_, fail) => fail(no)], F);",
		],
		[
			"of a function in a branch",
			"await ctx.parallel([() => void (async () => { await ctx.now(); throw no; })()]); await ctx.now();",
		],
		[
			"that nobody can read",
			"Object.setPrototypeOf(Promise.reject({ get message() { throw no; }, get name() { throw no; } }), null); Promise.reject(no);",
		],
	])("a promise %s does not end it, nor another run", (_, body) => {
		const { status, stdout, stderr } = inProcess(`
			const slowly = () => testHost(() => new Promise((resolve) => setTimeout(resolve, 20, "an answer")));
			const host = slowly();
			process.on("unhandledRejection", () => process.exit(5));
			const other = runBody("await ctx.agent('x'); return ctx.agent('y');", slowly());
			await runBody(${JSON.stringify(`const no = new Error("no"); ${body}; await ctx.agent("x");`)}, host);
			console.log(await other, host.notes.filter((note) => note.startsWith("log: nobody waited for what failed here: Error: no")).length);
		`);
		expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "an answer 1\n", stderr: "" });
	});

	test("it may have been started with --expose-gc: a script runs, and collects nothing", () => {
		const { status, stdout, stderr } = inProcess(`
			process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
			console.log(await runBody("return 1;"), await runBody("gc();").catch(({ code }) => code));
		`);
		expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "1 DETERMINISM\n", stderr: "" });
	});

	test("listeners of the host hear of no promise of a script", () => {
		const { status, stdout, stderr } = inProcess(`
			for (const name of ["unhandledRejection", "rejectionHandled", "multipleResolves"])
				process.on(name, () => console.log("heard of", name));
			const host = testHost(() => new Promise((resolve) => setTimeout(resolve, 5)));
			await runBody("const late = Promise.reject(1); new Promise((done, fail) => { done(); fail(2); }); await ctx.agent('x'); late.catch(() => 1);", host);
			await new Promise((resolve) => setTimeout(resolve, 5));
			Promise.reject(3).catch(() => {});
			const late = Promise.reject(4);
			await new Promise((resolve) => setTimeout(resolve, 5));
			late.catch(() => 1);
		`);
		expect({ status, stdout }).toEqual({
			status: 0,
			stdout: "heard of unhandledRejection\nheard of rejectionHandled\n",
		});
		expect(stderr).not.toContain("handled asynchronously");
	});

	test("a rejection of the host itself does, while a script runs and after", () => {
		const during = inProcess(`
			const host = testHost(() => new Promise((resolve) => setTimeout(resolve, 50, "late")));
			setTimeout(() => Promise.reject(new Error("of the host")), 5);
			await runBody("await ctx.agent('x');", host);
			console.log("not reached");
		`);
		expect(during).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("of the host") });
		const after = inProcess(`
			await runBody("");
			process.on("exit", () => console.log("ended"));
			Promise.reject(new Error("of the host"));
			await new Promise((resolve) => setTimeout(resolve, 5));
			console.log("not reached");
		`);
		expect(after).toMatchObject({ status: 1, stdout: "ended\n", stderr: expect.stringContaining("of the host") });
		const heard = inProcess(`
			process.on("unhandledRejection", (reason) => console.log(reason.message));
			const host = testHost(async () => {
				Promise.reject(new Error("in a call"));
				await new Promise((resolve) => setTimeout(resolve, 5));
			});
			await runBody("await ctx.parallel([() => ctx.agent('x')]); Promise.reject(new Error('of the script'));", host);
			Promise.reject(new Error("behind it"));
			await new Promise((resolve) => setTimeout(resolve, 5));
		`);
		expect(heard).toMatchObject({ status: 0, stdout: "in a call\nbehind it\n", stderr: "" });
	});
});
