/** Nothing in a realm differs between runs, and no object of the host can be reached from it. */
import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { runBody, testHost } from "./host.ts";

describe("what differs between runs throws DETERMINISM and says what to use", () => {
	test.each([
		["Math.random", "Math.random()", "ctx.random()"],
		["Math.random in a method", "[1, 2].map(Math.random)", "ctx.random()"],
		["a date of now", "new Date()", "ctx.now()"],
		["a date of now by Reflect", "Reflect.construct(Date, [])", "ctx.now()"],
		["a date of now by a subclass", "new (class extends Date {})()", "ctx.now()"],
		["a date of now by a date's constructor", "new (new Date(0).constructor)()", "ctx.now()"],
		["Date as a function", "Date()", "ctx.now()"],
		["Date.now", "Date.now()", "ctx.now()"],
		["a local date", "new Date(2026, 0, 1)", "Date.UTC"],
		["a text in local time", 'new Date("2026-01-01T09:00")', "ISO text"],
		["Date.parse in local time", 'Date.parse("Jan 1 2026")', "ISO text"],
		["local hours", "new Date(0).getHours()", "getUTCHours()"],
		["local hours, set", "new Date(0).setHours(1)", "setUTCHours()"],
		["a date as text", '"" + new Date(0)', "toISOString()"],
		["the time zone", "new Date(0).getTimezoneOffset()", "UTC"],
		["a formatter without a locale", "new Intl.NumberFormat()", "locale"],
		["a formatter without new", "Intl.NumberFormat()", "locale"],
		["a formatter with a locale that nobody knows", 'new Intl.NumberFormat("xx")', "locale"],
		["a formatter of dates without a zone", 'new Intl.DateTimeFormat("en")', "timeZone"],
		[
			"a formatter found on its objects",
			'new (new Intl.DateTimeFormat("en", { timeZone: "UTC" }).constructor)("en")',
			"timeZone",
		],
		["a format of now", 'new Intl.DateTimeFormat("en", { timeZone: "UTC" }).format()', "a date"],
		["parts of now", 'new Intl.DateTimeFormat("en", { timeZone: "UTC" }).formatToParts()', "a date"],
		["a local date as text", "new Date(0).toLocaleString()", "locale"],
		["a local day as text", 'new Date(0).toLocaleDateString("en")', "timeZone"],
		["a number as local text", "(1.5).toLocaleString()", "locale"],
		["a list as local text", "[1.5].toLocaleString()", "locale"],
		["the order of the machine", '"a".localeCompare("b")', "locale"],
		["the letters of the machine", '"i".toLocaleUpperCase()', "locale"],
		["setTimeout", "setTimeout(() => {}, 1)", "ctx.sleep()"],
		["setInterval", "setInterval(() => {}, 1)", "ctx.sleep()"],
		["setImmediate", "setImmediate(() => {})", "queueMicrotask()"],
		["a timer by the global object", 'globalThis["setTimeout"]', "ctx.sleep()"],
		["fetch", 'fetch("http://localhost")', "ctx.tool()"],
		["XMLHttpRequest", "new XMLHttpRequest()", "ctx.tool()"],
		["WebSocket", 'new WebSocket("ws://localhost")', "ctx.tool()"],
		["process", "process.env", "args"],
		["require", 'require("fs")', "ctx.tool()"],
		["module", "module.exports", "export"],
		["global", "global.process", "globalThis"],
		["Buffer", "Buffer.alloc(1)", "Uint8Array"],
		["performance", "performance.now()", "ctx.now()"],
		["crypto", "crypto.randomUUID()", "ctx.uuid()"],
		["WeakRef", "new WeakRef({}).deref()", "reference"],
		["FinalizationRegistry", "new FinalizationRegistry(() => {})", "finally"],
		["Atomics", "Atomics.wait(new Int32Array(4), 0, 0, 1)", "ctx.parallel()"],
		["shared memory", "new SharedArrayBuffer(8)", "ArrayBuffer"],
		["WebAssembly", "new WebAssembly.Memory({ initial: 1 })", "ctx.tool()"],
		["Proxy", "new Proxy({}, {})", "getters"],
		["eval", 'eval("1")', "a function"],
		["eval under another name", '(0, eval)("1")', "a function"],
		["the constructor of functions", 'new Function("return 1")()', "a function"],
		["the one of a function", 'ctx.agent.constructor("return process")()', "a function"],
		["the one of async functions", '(async () => {}).constructor("return 1")', "a function"],
		["the one of generators", 'Object.getPrototypeOf(function* () {}).constructor("yield 1")', "a function"],
		["the one of async generators", 'new (async function* () {}.constructor)("yield 1")', "a function"],
		["a hook on stack traces", "Error.prepareStackTrace = (_, frames) => frames", "error.stack"],
	])("%s", async (_, expression, substitute) => {
		const failure = runBody(`return [await (${expression})];`);
		await expect(failure).rejects.toMatchObject({ code: "DETERMINISM", message: expect.stringContaining(substitute) });
	});

	describe("what says something else at the second reading is read once", () => {
		// Far from any machine's own, so that one of them shows what it is.
		const objects = `
			const once = (first, later) => { let reads = 0; return () => (reads++ === 0 ? first : later); };
			const getter = () => Object.defineProperty({}, "timeZone", { get: once("Australia/Eucla"), enumerable: true });
			const inherited = () => { const get = once("Australia/Eucla"); return new (class { get timeZone() { return get(); } })(); };
			const length = () => Object.defineProperty({ 0: "tr" }, "length", { get: once(1, 0) });
			const item = () => Object.defineProperty(["tr"], 0, { get: once("tr", "xx") });
			const text = () => { const get = once("tr", "xx"); return [{ toString: () => get() }]; };
		`;
		const said = (expression: string): Promise<unknown> => runBody(`${objects} return ${expression};`);
		const timeZone = "Australia/Eucla";

		test.each(["getter()", "inherited()"])("a time zone: %s", async (options) => {
			expect(await said(`new Intl.DateTimeFormat("en", ${options}).resolvedOptions().timeZone`)).toBe(timeZone);
			expect(await said(`Intl.DateTimeFormat("en", ${options}).resolvedOptions().timeZone`)).toBe(timeZone);
			for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"] as const)
				expect(await said(`new Date(0).${name}("en", ${options})`)).toBe(new Date(0)[name]("en", { timeZone }));
			expect(await said(`[new Date(0)].toLocaleString("en", ${options})`)).toBe(
				new Date(0).toLocaleString("en", { timeZone }),
			);
		});

		test.each(["length()", "item()", "text()"])("a locale: %s", async (locales) => {
			const formats = ["Collator", "DateTimeFormat", "ListFormat", "NumberFormat", "PluralRules", "RelativeTimeFormat"];
			for (const name of formats) {
				const made = `new Intl.${name}(${locales}, { timeZone: "UTC" })`;
				expect([name, await said(`${made}.resolvedOptions().locale`)]).toEqual([name, "tr"]);
			}
			expect(await said(`(1234.5).toLocaleString(${locales})`)).toBe("1.234,5");
			expect(await said(`[1234.5].toLocaleString(${locales})`)).toBe("1.234,5");
			expect(await said(`new Date(0).toLocaleDateString(${locales}, { timeZone: "UTC" })`)).toBe("01.01.1970");
			expect(await said(`"i".toLocaleUpperCase(${locales})`)).toBe("İ");
			expect(await said(`"öa".localeCompare("oz", ${locales})`)).toBe(1);
		});

		test("and what is nothing at the first reading is refused", async () => {
			for (const options of ["{ get timeZone() { return undefined; } }", "null", "undefined", "5"])
				await expect(runBody(`return new Date(0).toLocaleString("en", ${options});`)).rejects.toMatchObject({
					code: "DETERMINISM",
				});
			for (const locales of ["[]", "{ length: 0 }", '["xx"]'])
				await expect(runBody(`return (1.5).toLocaleString(${locales});`)).rejects.toMatchObject({
					code: "DETERMINISM",
				});
		});

		test("all else of the options is used as it is", async () => {
			const options = 'Object.create({ dateStyle: "long", timeZone: "UTC" })';
			expect(await runBody(`return new Intl.DateTimeFormat("en", ${options}).format(0);`)).toBe("January 1, 1970");
		});
	});

	test("a call after the end", async () => {
		const host = testHost();
		await runBody(
			"Promise.resolve().then(() => {}).then(() => {}).then(() => ctx.agent('late').catch(() => {}));",
			host,
		);
		await new Promise((resolve) => setImmediate(resolve));
		expect(host.notes.filter((note) => !note.startsWith("log: "))).toEqual([]);
	});
});

test("what the host throws is not handed on where nobody can read it", async () => {
	const host = testHost();
	host.draws = () => {
		throw Object.defineProperty(new Error("unreadable"), "message", {
			get() {
				throw new Error("of the host");
			},
		});
	};
	const body = "try { ctx.random(); } catch (error) { return [foreign(error), error.message]; }";
	await expect(runBody(probe + body, host)).resolves.toEqual([false, "a call out of the script failed"]);
});

test("nobody answers when the script is over", async () => {
	const { promise, resolve } = Promise.withResolvers<void>();
	const host = testHost(() => promise);
	await runBody('ctx.agent("open").then(() => console.log("went on"));', host);
	resolve();
	await new Promise((done) => setImmediate(done));
	expect(host.notes).toEqual(['root: agent {"prompt":"open"}']);
});

/** A value is of the realm when what made its constructor is the realm's own, guarded Function. */
const probe = `
	const foreign = (value) => {
		for (let at = value; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
			const { constructor } = at;
			if (typeof constructor === "function" && constructor.constructor !== Function) return true;
		}
		return false;
	};
`;

describe("no object of the host is found", () => {
	test.each([
		["the function of a call", "return foreign(ctx.agent);"],
		[
			"all of ctx and the console",
			"return [...Object.values(ctx), ...Object.values(console), queueMicrotask].some(foreign);",
		],
		["the global object", "return foreign(globalThis) || foreign(console);"],
		["args", "return foreign(args) || foreign(args.list) || foreign(args.list[0]);"],
		["the promise of a call", "const call = ctx.agent('x'); await call; return foreign(call) || foreign(call.then());"],
		["an answer", "return foreign(await ctx.agent('json')) || foreign(await ctx.agent('x'));"],
		[
			"an error of a call",
			"try { await ctx.agent('fail'); } catch (error) { return foreign(error) || foreign(error.detail); }",
		],
		["an error that is none", "try { await ctx.agent('fail oddly'); } catch (error) { return foreign(error); }"],
		["an error of a fork", "try { await ctx.phase('fail', () => 1); } catch (error) { return foreign(error); }"],
		[
			"an error of a branch",
			"try { await ctx.parallel([() => ctx.agent('fail')]); } catch (error) { return foreign(error) || foreign(error.detail.failed[0]); }",
		],
		[
			"an error where the stack ends",
			`
			let found = false;
			const dive = () => { try { ctx.random(); ctx.uuid(); console.log("x"); } catch (error) { found ||= foreign(error); } dive(); };
			try { dive(); } catch (error) { found ||= foreign(error); }
			return found;`,
		],
		[
			"the caller of a function",
			"const f = function () { return f.caller; }; try { return foreign(f()); } catch (error) { return foreign(error); }",
		],
		["the this of a function", "return (function () { return this; })() !== undefined;"],
		["the frames of a stack", "const made = {}; Error.captureStackTrace(made); return typeof made.stack !== 'string';"],
		[
			"what a promise's species sees",
			`
			let found = false;
			class Spy extends Promise { constructor(body) { super((...given) => { found ||= given.some(foreign); body(...given); }); } }
			const call = ctx.agent('x'); Object.defineProperty(call, "constructor", { value: Spy });
			await call.then((value) => value);
			return found;`,
		],
		[
			"what a thenable sees",
			`
			let found = false;
			const thenable = { then(...given) { found ||= given.some(foreign); given[0](1); } };
			await ctx.parallel([() => thenable]); await ctx.phase('p', () => thenable); await thenable;
			return found;`,
		],
		[
			"what a poisoned then of all objects sees",
			`
			let found = false;
			Object.defineProperty(Object.prototype, "then", { get() { found ||= foreign(this); return undefined; }, configurable: true });
			await ctx.agent('x'); await ctx.parallel([() => ctx.ask('y')]);
			try { await ctx.agent('fail'); } catch {}
			delete Object.prototype.then;
			return found;`,
		],
		[
			"what a getter of options sees",
			`
			let found = false;
			const spy = Object.defineProperty({}, "label", { get(...given) { found ||= given.some(foreign) || foreign(this); return "x"; }, enumerable: true });
			await ctx.agent('x', spy);
			return found;`,
		],
	])("%s", async (_, body) => {
		const host = testHost(async (_op, args) => {
			if (args.includes("fail oddly")) throw { odd: true };
			if (args.includes("fail")) throw Object.assign(new Error("failed"), { code: "FAILED", detail: { at: [1] } });
			return args.includes("json") ? { list: [{}] } : "text";
		});
		const fork = host.fork;
		host.fork = (kind, name, branches) => {
			if (name === "fail") throw new Error("no fork");
			return fork(kind, name, branches);
		};
		await expect(runBody(probe + body, host, '{"list":[{}]}')).resolves.toBe(false);
	});

	test("the probe finds a function of the host", async () => {
		const { createContext, runInContext } = await import("node:vm");
		const context = createContext({ planted: () => 1 });
		expect(runInContext(`${probe} [foreign(planted), foreign(() => 1)]`, context).join()).toBe("true,false");
	});
});

test("what the host stores is not laid on the promises of a script", async () => {
	const made: object[] = [];
	const hook = createHook({
		init(_id, type, _trigger, resource) {
			if (type === "PROMISE" && !(resource instanceof Promise)) made.push(resource);
		},
	}).enable();
	const body = "await ctx.now(); await ctx.parallel([() => 1, async () => { await ctx.now(); }]);";
	try {
		await new AsyncLocalStorage<object>().run({ of: "the host" }, () => runBody(body));
	} finally {
		hook.disable();
	}
	const laid = made.flatMap((each) => Object.getOwnPropertySymbols(each).map((key) => (each as Fields)[key]));
	expect(made.length).toBeGreaterThan(10);
	expect(laid.filter((value) => typeof value === "object" || typeof value === "function")).toEqual([]);
});

type Fields = Readonly<Record<symbol, unknown>>;

test("what hooks of the host keep on promises is not found", async () => {
	const hook = createHook({ init() {} }).enable();
	const body = `
		const made = Promise.resolve(), copy = { ...made }, own = { [Symbol("own")]: 1, a: 2 };
		const keys = (of) => [Object.getOwnPropertySymbols(of), Reflect.ownKeys(of), Reflect.ownKeys(Object.getOwnPropertyDescriptors(of))];
		return [made, copy, own].map((of) => keys(of).map((list) => list.length));
	`;
	try {
		const none = [0, 0, 0];
		await expect(runBody(body)).resolves.toEqual([none, none, [1, 2, 2]]);
	} finally {
		hook.disable();
	}
});

describe("what stays the same everywhere may be used", () => {
	test.each([
		["new Date(0).toISOString()", "1970-01-01T00:00:00.000Z"],
		["new Date(new Date(5)).getTime()", 5],
		['new Date("2026-01-01").getTime() === Date.UTC(2026, 0, 1)', true],
		['Date.parse("2026-01-01T09:00:00.5+01:00")', Date.UTC(2026, 0, 1, 8, 0, 0, 500)],
		['isNaN(new Date("no date"))', true],
		["new Date(0) instanceof Date && (() => {}) instanceof Function", true],
		["new (class Day extends Date {})(0).getUTCDay()", 4],
		['new Intl.DateTimeFormat("en", { timeZone: "UTC" }).format(new Date(0))', "1/1/1970"],
		['new Date(0).toLocaleDateString("de", { timeZone: "UTC" })', "1.1.1970"],
		['(1234.5).toLocaleString("de")', "1.234,5"],
		['["b", "ä", "a"].sort((a, b) => a.localeCompare(b, "de"))', ["a", "ä", "b"]],
		["await Promise.all([1, Promise.resolve(2)])", [1, 2]],
		["await new Promise((resolve) => queueMicrotask(() => resolve(3)))", 3],
		[
			'(() => { class Own extends Error { constructor() { super("x"); this.name = "Own"; } } return new Own().name; })()',
			"Own",
		],
	])("%s", async (expression, value) => {
		await expect(runBody(`return ${expression};`)).resolves.toEqual(value);
	});
});
