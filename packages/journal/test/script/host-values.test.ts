/** A search for values of the host in all that a script is thrown, given or finds: from one of them there is a way to `process`. */
import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { createContext, runInContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { deepTest } from "../../../../tests/deep-test.ts";
import { some } from "../../../../tests/sample.ts";
import { hasLimit } from "../../src/script/time-slice.ts";
import { runBody, testHost } from "./host.ts";
import { Process, script } from "./script-process.ts";

if (!hasLimit) console.warn("skipped: Node.js 22 ends a process whose stack is used up where it follows a promise");

/**
 * `take` notes a value, `attempt` what a function gives or throws, `deep` the same where the stack is nearly used up, with
 * frames of many sizes. `search` walks through all that was noted: prototypes, properties, getters and setters.
 */
const searching = `
	const found = [];
	const take = (value) => { found[found.length] = value; };
	const attempt = (work) => { try { take(work()); } catch (error) { take(error); } };
	const deep = (work) => {
		for (let size = 0; size < 48; size++) {
			let left = 40;
			const dive = (...fill) => {
				try { dive(...fill); } catch (error) { take(error); }
				if (left-- > 0) attempt(work);
			};
			attempt(() => dive(...Array(size).fill(0)));
		}
	};
	const search = () => {
		const seen = new Set();
		const tried = new Set();
		let searched = 0;
		for (const root of found) {
			const open = [root];
			while (open.length > 0) {
				const value = open.pop();
				if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
				seen.add(value);
				searched++;
				try {
					const way = value.constructor.constructor;
					if (!tried.has(way)) {
						tried.add(way);
						if (way("return typeof process")() === "object") return "a way to the process";
					}
				} catch (error) { open.push(error); }
				open.push(Object.getPrototypeOf(value));
				for (const key of Reflect.ownKeys(value)) {
					const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key);
					open.push(held, get, set);
				}
			}
		}
		return searched > 0 ? "nothing" : "nothing to search";
	};
`;

const probes: readonly (readonly [what: string, body: string])[] = [
	[
		"stacks of errors that cannot be read",
		`
		const names = [
			Symbol("name"), null, { toString() { return Symbol(); } }, { toString() { throw new Error("own"); } },
			{ [Symbol.toPrimitive]: () => ({}) }, Object.create(null), 5n, [Symbol()],
		];
		for (const name of names) for (const field of ["name", "message"]) {
			for (const Kind of [Error, TypeError, RangeError, class Own extends Error {}]) {
				const error = new Kind("x");
				Object.defineProperty(error, field, { value: name });
				attempt(() => error.stack); attempt(() => error.toString()); attempt(() => console.log(error)); take(error);
			}
			const error = new AggregateError([new Error("inner")], "x", { cause: 1 });
			Object.defineProperty(error, field, { get() { take(this); throw name; } });
			attempt(() => error.stack); attempt(() => \`\${error}\`);
		}
		Error.prototype.name = Symbol(); attempt(() => new Error("x").stack); attempt(() => null.x);
		try { null.x; } catch (error) { attempt(() => error.stack); }
		for (const toString of [Symbol(), () => { throw Symbol(); }, null]) {
			Error.prototype.toString = toString; attempt(() => new Error("x").stack);
		}`,
	],
	[
		"stacks where the stack is used up",
		`
		const error = () => { const made = new Error("x"); made.name = "N"; return made; };
		deep(() => error().stack); deep(() => { try { null.x; } catch (error) { return error.stack; } });
		deep(() => { const made = {}; Error.captureStackTrace(made); return made.stack; });
		deep(() => console.log(new Error("x")));`,
	],
	[
		"captured stacks",
		`
		const limits = [0, 1, -1, NaN, Infinity, 1e9, "5", Symbol(), null, { valueOf() { throw new Error("own"); } }];
		for (const limit of limits) {
			attempt(() => { Error.stackTraceLimit = limit; });
			attempt(() => new Error("x").stack);
			for (const made of [{}, () => 1, Object.freeze({}), { name: Symbol() }, Promise.resolve(), 5, null, Symbol()])
				attempt(() => { Error.captureStackTrace(made, attempt); take(made); return made.stack; });
		}
		attempt(() => Object.defineProperty(Error, "stackTraceLimit", { get() { take(this); throw new Error("own"); } }));
		attempt(() => new Error("x").stack);
		for (const hook of ["prepareStackTrace", "stackTraceLimit", "captureStackTrace"]) {
			attempt(() => { Error[hook] = (...given) => { take(given); return given; }; });
			attempt(() => Object.defineProperty(Error, hook, { value: (...given) => { take(given); return given; } }));
			attempt(() => delete Error[hook]);
			attempt(() => new Error("x").stack); attempt(() => new RangeError("x").stack);
		}`,
	],
	[
		"the getter and the setter of a stack",
		`
		const { get, set, value } = Object.getOwnPropertyDescriptor(new Error("x"), "stack");
		take([get, set, value]);
		for (const on of [undefined, null, 1, {}, Symbol(), globalThis, ctx, Promise.resolve(), Object.create(new Error("x"))]) {
			if (get) attempt(() => Reflect.apply(get, on, []));
			if (set) attempt(() => Reflect.apply(set, on, [Symbol()]));
		}
		if (get) { const error = new Error("x"); deep(() => Reflect.apply(get, error, [])); }`,
	],
	[
		"what fails later, and its stack",
		`
		const fail = async () => { await 0; throw Object.assign(new Error("own"), { name: Symbol() }); };
		for (const work of [fail, () => ctx.agent("fail"), () => ctx.parallel([fail, () => ctx.agent("fail")]), () => ctx.phase("p", fail)]) {
			const open = work(); take(open);
			try { take(await open); } catch (error) { take(error); attempt(() => error.stack); deep(() => error.stack); }
		}
		take(await Promise.allSettled([fail(), ctx.agent("fail"), Promise.any([fail()])]));
		for await (const each of (async function* () { yield 1; try { await ctx.agent("fail"); } catch (error) { yield error; } })()) take(each);`,
	],
	[
		"calls with arguments of any kind",
		`
		const circle = {}; circle.circle = circle;
		let nested = []; for (let i = 0; i < 1e5; i++) nested = [nested];
		const odd = [
			undefined, null, Symbol(), 1n, NaN, () => 1, circle, nested, new Date(NaN), new Map(), "\\ud800",
			{ toString() { throw new Error("own"); } }, { toJSON() { throw Symbol(); } }, { get label() { throw new Error("own"); } },
			{ then(...given) { take(given); throw Symbol(); } }, Object.create({ constructor: Symbol() }), Object.assign([], { length: 5 }),
		];
		for (const name of Reflect.ownKeys(ctx)) for (const first of odd) for (const second of [undefined, first, { label: first }]) {
			let given;
			attempt(() => (given = ctx[name](first, second)));
			if (given instanceof Promise) given.then(take, take);
		}
		for (const name of Reflect.ownKeys(console)) for (const each of odd) attempt(() => console[name](each));
		for (const each of odd) attempt(() => queueMicrotask(each));
		for (let turn = 0; turn < 50; turn++) await 0;`,
	],
	[
		"calls where the stack is used up",
		`
		for (const work of [
			() => ctx.random(), () => ctx.uuid(), () => ctx.agent(5), () => ctx.parallel(5), () => console.log({}), () => queueMicrotask(() => 1),
			() => new Date(), () => Math.random(), () => process, () => eval("1"), () => Error.prepareStackTrace = 1, () => Symbol.for("x"),
		]) deep(work);`,
	],
	[
		"what the host is given to call",
		`
		const spy = function (...given) { take(this); take(given); return given[0]; };
		class Sub extends Promise { constructor(body) { super((...given) => { take(given); body(...given); }); } then(...given) { take(given); return super.then(...given); } }
		const odd = () => { const call = ctx.agent("x"); Object.defineProperty(call, "constructor", { value: Sub }); return call; };
		await odd().then(spy); await new Sub((resolve) => resolve(odd()));
		const thenable = { then(...given) { take(given); given[0](1); } };
		await ctx.parallel([() => thenable, () => odd(), spy]); await ctx.phase("p", spy); await ctx.pipeline([1], spy, () => thenable, spy);
		for (const name of ["then", "constructor", "toJSON", "name", "code"])
			Object.defineProperty(Object.prototype, name, { get() { take(this); return undefined; }, set: spy, configurable: true });
		await ctx.agent("x"); await ctx.agent("fail").catch(take); await ctx.parallel([() => ctx.agent("fail")]).catch(take);
		for (const name of ["then", "toJSON", "name", "code"]) delete Object.prototype[name];
		Object.defineProperty(Object.prototype, "constructor", { value: Object, writable: true, configurable: true });`,
	],
	[
		"who has called",
		`
		for (const each of ["caller", "arguments", "callee"]) {
			attempt(() => (function () { return this; })[each]); attempt(() => ctx.agent[each]); attempt(() => take[each]);
			attempt(() => (function () { return arguments[each]; })());
			for (const on of [Function.prototype, (function () { return arguments; })()]) {
				const { get, set } = Object.getOwnPropertyDescriptor(on, each) ?? {};
				take(get); take(set);
				if (get) for (const each of [take, ctx.agent, ctx.parallel, () => 1]) attempt(() => Reflect.apply(get, each, []));
			}
		}`,
	],
	[
		"what is on promises",
		`
		for (const made of [Promise.resolve(), ctx.now(), (async () => {})(), Promise.resolve().then(() => 1), ctx.parallel([async () => { const made = Promise.resolve(); take(Reflect.ownKeys(made).map((key) => made[key])); return 1; }])]) {
			const copy = { ...made }; take(copy); take(made);
			for (const each of [made, copy]) { take(Reflect.ownKeys(each).map((key) => each[key])); take(Object.getOwnPropertyDescriptors(each)); }
			await made;
		}`,
	],
	[
		"all that is global",
		`
		for (const key of Reflect.ownKeys(globalThis)) attempt(() => globalThis[key]);
		take(globalThis); take(ctx); take(args); take(console);
		for (const work of [
			() => new WebAssembly.Memory({ initial: 1 }), () => new SharedArrayBuffer(8), () => Atomics.wait(new Int32Array(4), 0, 0, 1),
			() => new FinalizationRegistry(take), () => new WeakRef({}), () => structuredClone({ f() {} }), () => setTimeout(take), () => eval("1"),
			() => new Function("return 1")(), () => (async () => {}).constructor("1"), () => (function* () {}).constructor("1"), () => require("fs"),
			() => fetch("x"), () => new Proxy({}, {}), () => process.exit(), () => crypto.randomUUID(), () => new URL("x:"), () => new AbortController(),
		]) attempt(work);`,
	],
	[
		"formats and texts",
		`
		const bad = [Symbol(), { get timeZone() { throw Symbol(); } }, { toString() { throw new Error("own"); } }, "xx", "en", { timeZone: "x" }, { style: Symbol() }, { localeMatcher: "x" }];
		for (const name of Reflect.ownKeys(Intl)) if (typeof Intl[name] === "function") for (const locale of bad) for (const options of bad) {
			attempt(() => new Intl[name](locale, options)); attempt(() => Intl[name](locale, options)); attempt(() => Intl[name].supportedLocalesOf(locale, options));
		}
		const zoned = new Intl.DateTimeFormat("en", { timeZone: "UTC" });
		take(zoned); attempt(() => zoned.resolvedOptions()); attempt(() => zoned.format); attempt(() => zoned.format(Symbol())); attempt(() => zoned.formatToParts(0));
		for (const text of ["{", "", "[", '{"a":', "nul"]) attempt(() => JSON.parse(text));
		attempt(() => JSON.stringify({ toJSON() { take(this); throw Symbol(); } })); attempt(() => JSON.parse("[1]", function (...given) { take(this); take(given); throw 1; }));
		attempt(() => decodeURIComponent("%")); attempt(() => new RegExp("(")); attempt(() => "x".repeat(-1)); attempt(() => new Array(-1)); attempt(() => 1n / 0n);
		deep(() => JSON.stringify({ a: [{}] })); deep(() => JSON.parse('{"a":[{}]}')); deep(() => zoned.format(0)); deep(() => [3, 1, 2].sort((a, b) => a - b)); deep(() => /(a|b)*c/.exec("abab"));`,
	],
	[
		"names that Node asks for",
		`
		for (const name of ["nodejs.util.inspect.custom", "nodejs.util.promisify.custom", "nodejs.rejection", "nodejs.stream.destroyed"]) {
			const spy = { [Symbol.for(name)]: function (...given) { take(this); take(given); return "x"; } };
			take(spy); attempt(() => console.log(spy)); attempt(() => { throw spy; });
			Promise.reject(spy); Promise.reject(Object.assign(new Error("x"), spy));
		}
		Promise.reject({ get message() { take(this); throw Symbol(); }, get stack() { take(this); throw new Error("own"); } });
		Promise.reject(Object.assign(new Error("x"), { name: Symbol() }));
		await ctx.agent("x"); await ctx.sleep(1);`,
	],
];

/** A search makes some ten thousand errors, and the machine may be busy. */
const LONG_MS = 60_000;

const host = () =>
	testHost(async (_, args) => {
		await new Promise((resolve) => setImmediate(resolve));
		if (args.includes("fail")) throw Object.assign(new TypeError("failed"), { code: "FAILED", detail: { at: [1] } });
		return args.includes("json") ? { list: [{}] } : "text";
	});

describe("no value of the host is found", () => {
	const tried = some(probes, 12);
	describe.each(tried)("%s", (_, body) => {
		test("in a run", async () => {
			const ran = new AsyncLocalStorage<object>().run({ of: "the host" }, () =>
				runBody(`${searching}${body}; return search();`, host(), '{"list":[{}]}', LONG_MS),
			);
			await expect(ran).resolves.toBe("nothing");
		});

		test("in a preview", async () => {
			const preview = await new Process({ sliceMs: LONG_MS }).explain(script(`${searching}${body}; return search();`));
			expect(preview).toMatchObject({ isWhole: true, result: "nothing" });
		});
	});

	deepTest.skipIf(!hasLimit)("calls that are begun where the stack is used up", () => {
		const body = `
			for (const work of [
				() => ctx.agent("x"), () => ctx.agent("fail"), () => ctx.tool("x", { a: [1] }), () => ctx.phase("p", () => 1),
				() => ctx.parallel([() => 1, () => ctx.now()]), () => ctx.pipeline([1], () => 1),
			]) deep(() => { const given = work(); given.then(take, take); return given; });
			for (let turn = 0; turn < 50; turn++) await 0;
		`;
		// Node says on stderr that it could not keep account of promises there.
		const { stdout, status } = spawnSync(
			process.execPath,
			[
				"--conditions=@reyn/source",
				"--input-type=module",
				"--eval",
				`import { runBody } from "./test/script/host.ts"; console.log(await runBody(${JSON.stringify(`${searching}${body}; return search();`)}, undefined, undefined, ${LONG_MS}));`,
			],
			{ encoding: "utf8", cwd: new URL("../..", import.meta.url) },
		);
		expect({ stdout, status }).toEqual({ stdout: "nothing\n", status: 0 });
	});

	test.each([
		["a function", "() => 1"],
		["an error", "new Error('x')"],
		["a list in an object", "Object.assign(Object.create(null), { list: [] })"],
	])("the search finds %s of the host", async (_, planted) => {
		const context = createContext({ planted: runInContext(planted, createContext({ process })) });
		// There the constructors of functions are as they were.
		const way = runInContext(`${searching} take({ in: { a: [planted] } }); search();`, context);
		expect(way).toBe("a way to the process");
	});
});
