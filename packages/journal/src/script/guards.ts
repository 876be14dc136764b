/** Runs inside the realm of a script: makes everything throw that differs between runs or machines, and names what to use instead. */
import type { Fail } from "./bootstrap.ts";

/**
 * The text of this function runs in the realm before the script, so it may use nothing from outside itself. What it
 * replaces nobody can reach any more; it is not frozen, and a script that breaks its own realm breaks only that.
 *
 * - Globals are listed that may stay: one that a later Node adds is refused until somebody has looked at it.
 * - There is no local time. `Date` takes numbers and ISO texts and answers in UTC; `Intl` and `toLocale…` want a locale,
 *   and dates a time zone.
 * - There is no code from strings: nobody has read it, and it says `import()` where `loadScript` does not see it.
 */
export function guardRealm(fail: Fail): void {
	type Method = (this: unknown, ...given: unknown[]) => unknown;
	type Members = Record<string, unknown>;

	const { apply, construct, ownKeys } = Reflect;
	const { create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;

	const staying =
		" Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp" +
		" Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError globalThis" +
		" JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array" +
		" Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set Iterator WeakMap" +
		" WeakSet Reflect decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape isFinite isNaN" +
		" DisposableStack AsyncDisposableStack console queueMicrotask ";

	const insteadOf: Members = {
		setTimeout: "ctx.sleep()",
		setInterval: "ctx.sleep() in a loop",
		setImmediate: "queueMicrotask()",
		fetch: "ctx.tool() or ctx.agent()",
		XMLHttpRequest: "ctx.tool() or ctx.agent()",
		WebSocket: "ctx.tool() or ctx.agent()",
		EventSource: "ctx.tool() or ctx.agent()",
		process: "args for what the script needs to know",
		navigator: "args for what the script needs to know",
		require: "ctx.tool(), for a script is one file",
		module: "export",
		exports: "export",
		__filename: "args for what the script needs to know",
		__dirname: "args for what the script needs to know",
		global: "globalThis",
		Buffer: "strings or Uint8Array",
		performance: "ctx.now()",
		crypto: "ctx.uuid() or ctx.random()",
		eval: "a function of the script",
		WeakRef: "a plain reference",
		FinalizationRegistry: "try and finally",
		Atomics: "ctx.parallel()",
		SharedArrayBuffer: "ArrayBuffer",
		WebAssembly: "ctx.tool()",
		Temporal: "Date",
		// Node asks a promise that failed for names of its own: what answers there would run outside of the script's time.
		Proxy: "an object with getters",
	};

	const refused = (what: string, substitute: string): Error =>
		fail("DETERMINISM", `${what} is refused in a script, whose runs must all be the same; use ${substitute}`, {
			name: what,
			substitute,
		});

	const refuse = (target: object, name: string, what: string, substitute: string): void =>
		replace(target, name, () => {
			throw refused(what, substitute);
		});

	guardMath();
	guardDate();
	guardLocales();
	guardPromise();
	guardSymbols();
	guardCodeFromStrings();
	guardTexts();
	guardGlobals();

	/** A comment in a script is no edit, so a function says its name alone, as those of the language do. */
	function guardTexts(): void {
		const { prototype } = Function;
		const native = prototype.toString;
		const { endsWith, startsWith } = String.prototype;
		const guarded = {
			toString(this: unknown): string {
				const whole = apply(native, this, []);
				if (apply(endsWith, whole, ["{ [native code] }"])) return whole;
				const name = getOwnPropertyDescriptor(this as object, "name")?.value;
				const said = typeof name === "string" ? name : "";
				if (!apply(startsWith, whole, ["class"])) return `function ${said}() { [code] }`;
				return said === "" ? "class { [code] }" : `class ${said} { [code] }`;
			},
		};
		replace(prototype, "toString", guarded.toString);
	}

	function guardMath(): void {
		refuse(Math, "random", "Math.random()", "ctx.random()");
	}

	function guardDate(): void {
		const Native = Date;
		const { prototype } = Native;
		const { parse, UTC } = Native;
		const { getTime } = prototype;
		// With a time, ISO texts are local unless they end with a zone; without one they are UTC.
		const zoned = /^[+-]?\d{4,6}(-\d\d){0,2}$|^[+-]?\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
		const { exec } = RegExp.prototype;
		const { isNaN: isNoTime } = Number;

		const parsed = (text: string): number => {
			const time = parse(text);
			if (isNoTime(time) || apply(exec, zoned, [text])) return time;
			throw refused(`the date "${text}" without a time zone`, 'an ISO text, as in "2026-01-01T09:00Z"');
		};

		function Guarded(this: unknown, ...given: unknown[]): unknown {
			if (new.target === undefined) throw refused("Date()", "new Date(await ctx.now()).toISOString()");
			if (given.length === 0) throw refused("new Date()", "new Date(await ctx.now())");
			if (given.length > 1) throw refused("new Date(year, month, …)", "new Date(Date.UTC(year, month, …))");
			return construct(Native, [timeOf(given[0])], new.target);
		}

		function timeOf(value: unknown): number {
			if (typeof value === "string") return parsed(value);
			try {
				return apply(getTime, value, []);
			} catch {
				return +(value as number);
			}
		}

		become(Guarded, Native, 7);
		replace(Guarded, "UTC", UTC);
		replace(Guarded, "parse", (text: unknown) => parsed(`${text}`));
		refuse(Guarded, "now", "Date.now()", "await ctx.now()");
		replace(globalThis, "Date", Guarded);

		const parts = ["Date", "Day", "FullYear", "Hours", "Minutes", "Month", "Seconds"];
		for (const part of parts) {
			refuse(prototype, `get${part}`, `get${part}() of a Date`, `getUTC${part}()`);
			if (part !== "Day") refuse(prototype, `set${part}`, `set${part}() of a Date`, `setUTC${part}()`);
		}
		refuse(prototype, "getYear", "getYear() of a Date", "getUTCFullYear()");
		refuse(prototype, "setYear", "setYear() of a Date", "setUTCFullYear()");
		refuse(prototype, "getTimezoneOffset", "getTimezoneOffset() of a Date", "UTC");
		for (const name of ["toString", "toDateString", "toTimeString"])
			refuse(prototype, name, `${name}() of a Date`, "toISOString() or toUTCString()");
	}

	function guardLocales(): void {
		const { DateTimeFormat, NumberFormat } = Intl;
		const { getCanonicalLocales } = Intl;
		const known = NumberFormat.supportedLocalesOf;

		// What a script hands over may say something else at each reading: it is read once, and what was checked goes on.

		/** A locale that is not known means that of the machine, too. */
		const knownLocales = (what: string, locales: unknown): readonly string[] => {
			const names = getCanonicalLocales(locales as string | undefined);
			if (known(names).length === 0) throw refused(`${what} without a known locale`, 'a locale, as in "en"');
			return names;
		};
		const withZone = (what: string, options: unknown): object => {
			const { timeZone } = (options ?? {}) as { timeZone?: unknown };
			if (timeZone === undefined) throw refused(`${what} without a time zone`, '{ timeZone: "UTC" }');
			return create(Object(options), { timeZone: { value: `${timeZone}` } });
		};

		for (const name of ownKeys(Intl) as string[]) {
			const Native = (Intl as unknown as Record<string, { supportedLocalesOf?: unknown }>)[name];
			if (typeof Native?.supportedLocalesOf !== "function") continue;
			const { supportedLocalesOf } = Native;
			function Guarded(this: unknown, locales: unknown, options: unknown): unknown {
				const checked = [
					knownLocales(`Intl.${name}`, locales),
					name === "DateTimeFormat" ? withZone("Intl.DateTimeFormat", options) : options,
				];
				return construct(Native as typeof NumberFormat, checked as never, new.target ?? Guarded);
			}
			become(Guarded, Native as typeof NumberFormat, 0);
			replace(Guarded, "supportedLocalesOf", supportedLocalesOf);
			replace(Intl, name, Guarded);
		}

		const formats = DateTimeFormat.prototype;
		const needDate = (name: string, date: unknown): void => {
			if (date === undefined) throw refused(`${name}() of a DateTimeFormat without a date`, "a date");
		};
		const { get } = Object.getOwnPropertyDescriptor(formats, "format") as { get: () => (date: unknown) => string };
		defineProperty(formats, "format", {
			get(this: unknown) {
				const format = apply(get, this, []);
				return (date: unknown) => {
					needDate("format", date);
					return format(date);
				};
			},
		});
		wrap(formats, "formatToParts", (given) => needDate("formatToParts", given[0]));

		for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"])
			wrap(Date.prototype, name, (given) => {
				given[0] = knownLocales(`${name}()`, given[0]);
				given[1] = withZone(`${name}()`, given[1]);
			});
		const typedArray = getPrototypeOf(Uint8Array.prototype);
		for (const prototype of [Number.prototype, BigInt.prototype, Array.prototype, typedArray])
			wrap(prototype, "toLocaleString", (given) => {
				given[0] = knownLocales("toLocaleString()", given[0]);
			});
		for (const name of ["toLocaleLowerCase", "toLocaleUpperCase"])
			wrap(String.prototype, name, (given) => {
				given[0] = knownLocales(`${name}()`, given[0]);
			});
		wrap(String.prototype, "localeCompare", (given) => {
			given[1] = knownLocales("localeCompare()", given[1]);
		});
	}

	function guardPromise(): void {
		// What stands behind `await` has to stay, or the realm would wait for what the script makes of it.
		freeze(Promise);
		freeze(Promise.prototype);
	}

	/** Where hooks of the host follow promises, Node keeps on each what is different in every run, under symbols. */
	function guardSymbols(): void {
		const { getOwnPropertySymbols, getOwnPropertyDescriptors } = Object;
		const NativePromise = Promise;
		const isOfNode = (key: PropertyKey): boolean => {
			if (typeof key !== "symbol") return false;
			const kept = getOwnPropertySymbols(new NativePromise(() => {}));
			for (let i = 0; i < kept.length; i++) if (kept[i] === key) return true;
			return false;
		};
		const shown = (keys: readonly PropertyKey[]): PropertyKey[] => {
			const list: PropertyKey[] = [];
			for (let i = 0; i < keys.length; i++) {
				const key = keys[i] as PropertyKey;
				if (!isOfNode(key)) replace(list, list.length, key, true);
			}
			return list;
		};
		replace(Object, "getOwnPropertySymbols", (object: unknown) => shown(getOwnPropertySymbols(object)));
		replace(Reflect, "ownKeys", (object: object) => shown(ownKeys(object)));
		replace(Object, "getOwnPropertyDescriptors", (object: unknown) => {
			const all = getOwnPropertyDescriptors(object) as Record<PropertyKey, PropertyDescriptor>;
			const kept = getOwnPropertySymbols(all);
			for (let i = 0; i < kept.length; i++) if (isOfNode(kept[i] as symbol)) delete all[kept[i] as symbol];
			return all;
		});
	}

	function guardCodeFromStrings(): void {
		const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
		for (const each of kinds) {
			const prototype = getPrototypeOf(each) as { constructor: new () => unknown };
			const { name } = prototype.constructor;
			function Guarded(): never {
				throw refused(`${name}() of a string`, "a function of the script");
			}
			defineProperty(Guarded, "prototype", { value: prototype });
			replace(Guarded, "name", name);
			replace(prototype, "constructor", Guarded);
			if (name === "Function") replace(globalThis, "Function", Guarded);
		}
	}

	/** Frozen too: Node asks the global `Error` for that hook. */
	function guardGlobals(): void {
		for (const name of [...ownKeys(globalThis), ...ownKeys(insteadOf)]) {
			if (typeof name === "symbol" || staying.includes(` ${name} `)) continue;
			const substitute = (insteadOf[name] as string | undefined) ?? "what a script is given";
			const refuse = (): never => {
				throw refused(name, substitute);
			};
			// With `--expose-gc`, V8 gives each realm a `gc` that cannot be redefined: it is refused when it is called, not when it is read.
			const isFixed = getOwnPropertyDescriptor(globalThis, name)?.configurable === false;
			defineProperty(
				globalThis,
				name,
				isFixed ? { value: refuse, writable: false } : { get: refuse, enumerable: false },
			);
		}
		freeze(globalThis);
	}

	/** Takes the place of a constructor, with the same name and the same objects. */
	function become(
		guarded: object,
		native: { readonly name: string; readonly prototype: object },
		length: number,
	): void {
		defineProperty(guarded, "name", { value: native.name, configurable: true });
		defineProperty(guarded, "length", { value: length, configurable: true });
		defineProperty(guarded, "prototype", { value: native.prototype, writable: false });
		replace(native.prototype, "constructor", guarded);
	}

	/** @param check of what is given, where it puts what it has checked */
	function wrap(target: object, name: string, check: (given: unknown[]) => void): void {
		const native = (target as Members)[name] as Method;
		replace(target, name, function (this: unknown, ...given: unknown[]) {
			check(given);
			return apply(native, this, given);
		});
	}

	function replace(target: object, name: PropertyKey, value: unknown, enumerable = false): void {
		defineProperty(target, name, { value, writable: true, enumerable, configurable: true });
	}
}
