/**
 * Runs inside the realm of a script: rewrites the stacks of errors so that they have the lines of the script alone. They are then the
 * same in every run, wherever Reyn is installed.
 */
import type { Fail } from "./bootstrap.ts";

/** What the realm does with errors. */
export interface RealmErrors {
	/** To be called with what was thrown before the script is given it: its stack is written anew, once. Gives it back. */
	clean(error: unknown): unknown;
	/** Takes the places of what makes errors, and of what gives them to the script. */
	guard(fail: Fail): void;
}

/**
 * The text of this function runs in the realm before the script, so it may use nothing from outside itself; and since a
 * script may have changed every prototype there, it calls nothing that it did not keep before.
 *
 * V8 writes into a stack all who have called: files of the host too, which lie where Reyn is installed, and which are others
 * where many recorded answers are given in one go. A script comes by an error in three ways: it makes one, it catches one (its
 * code calls `clean` there), or a promise hands it one.
 *
 * @param moved JSON text: where the code has more than the source
 */
export function realmErrors(file: string, moved: string): RealmErrors {
	interface Native {
		new (...given: unknown[]): object;
		readonly name: string;
		readonly length: number;
		readonly prototype: object;
	}
	interface Written {
		readonly frames: string;
		stack: string;
	}
	interface Place {
		readonly line: number;
		readonly column: number;
		readonly by: number;
	}

	/** The host's frames come before those that wait: with the usual ten of V8, no stack would name the line that does. */
	const FRAMES_TAKEN = 64;
	const FRAMES_SHOWN = 10;

	const { apply, construct, ownKeys } = Reflect;
	const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
	const { isPrototypeOf: isAbove } = Object.prototype;
	const { get: getOf, set: setOf } = WeakMap.prototype;
	const { endsWith, includes, lastIndexOf, slice, startsWith } = String.prototype;
	const { then } = Promise.prototype;
	const NativeError = Error as unknown as Native;
	const { toString: textOf } = Error.prototype;
	const nativePrototype = NativeError.prototype;
	const { captureStackTrace } = Error;
	const toNumber = Number;
	const thenName = "then";
	const places: readonly Place[] = JSON.parse(moved);
	/** What was written of each: its frames, and the whole. */
	const written = new WeakMap<object, Written>();

	define(NativeError, "stackTraceLimit", FRAMES_TAKEN);
	const nativeGet = getOwnPropertyDescriptor(new NativeError(), "stack")?.get;

	return { clean, guard };

	function clean(error: unknown): unknown {
		if (typeof error !== "object" || error === null) return error;
		const known = apply(getOf, written, [error]) as Written | undefined;
		if (known) rename(error, known);
		if (known || !apply(isAbove, nativePrototype, [error])) return error;
		rewrite(error);
		// What a block that is left with `using` throws gathers others that nobody has caught.
		clean(getOwnPropertyDescriptor(error, "error")?.value);
		clean(getOwnPropertyDescriptor(error, "suppressed")?.value);
		return error;
	}

	function rewrite(error: object): void {
		const found = getOwnPropertyDescriptor(error, "stack");
		const { get, value } = found?.configurable ? found : ({ __proto__: null } as PropertyDescriptor);
		const taken: unknown = get && get === nativeGet ? apply(get, error, []) : value;
		const { head, frames } = partsOf(typeof taken === "string" ? taken : "");
		const stack = head + frames;
		apply(setOf, written, [error, { frames, stack }]);
		if (typeof taken === "string") define(error, "stack", stack);
	}

	/** V8 reads name and message when the stack is first read: a constructor of the script's own may have set them by now. */
	function rename(error: object, known: Written): void {
		if (getOwnPropertyDescriptor(error, "stack")?.value !== known.stack || known.frames === "") return;
		try {
			const stack = apply(textOf, error as Error, []) + known.frames;
			if (stack === known.stack) return;
			define(error, "stack", stack);
			known.stack = stack;
		} catch {
			// A name that cannot be read: V8 says nothing of it either.
		}
	}

	/** The frames at its end are replaced by those of the script. */
	function partsOf(stack: string): { readonly head: string; readonly frames: string } {
		const frames: string[] = [];
		let count = 0;
		let end = stack.length;
		for (;;) {
			const start = apply(lastIndexOf, stack, ["\n", end - 1]);
			const line = apply(slice, stack, [start + 1, end]);
			if (start < 0 || !apply(startsWith, line, ["    at "])) break;
			end = start;
			if (apply(includes, line, [` ${file}:`]) || apply(includes, line, [`(${file}:`])) {
				define(frames, count, line);
				count++;
			}
		}
		const head: string = apply(slice, stack, [0, end]);
		let text = "";
		// How deep a stack is when it is used up depends on who has called: on which function it was, too.
		if (head === "RangeError: Maximum call stack size exceeded") return { head, frames: text };
		for (let i = count - 1; i >= 0 && i >= count - FRAMES_SHOWN; i--) text += `\n${inSource(frames[i] as string)}`;
		return { head, frames: text };
	}

	/** A frame ends with line and column, both from 1, and perhaps a bracket. */
	function inSource(frame: string): string {
		const bracket = apply(endsWith, frame, [")"]) ? ")" : "";
		const end = frame.length - bracket.length;
		const afterLine = apply(lastIndexOf, frame, [":"]);
		const beforeLine = apply(lastIndexOf, frame, [":", afterLine - 1]);
		const line = toNumber(apply(slice, frame, [beforeLine + 1, afterLine]));
		let column = toNumber(apply(slice, frame, [afterLine + 1, end]));
		for (let i = 0; i < places.length; i++) {
			const place = places[i] as Place;
			if (place.line !== line || column <= place.column) continue;
			column = column - place.by > place.column ? column - place.by : place.column;
		}
		return `${apply(slice, frame, [0, beforeLine])}:${line}:${column}${bracket}`;
	}

	function guard(fail: Fail): void {
		const Guarded = guarded(NativeError);
		const names = [
			"AggregateError",
			"EvalError",
			"RangeError",
			"ReferenceError",
			"SyntaxError",
			"TypeError",
			"URIError",
		];
		for (const name of [...names, "SuppressedError"]) {
			const native = (globalThis as Record<string, unknown>)[name] as Native | undefined;
			if (native && getPrototypeOf(native) === NativeError) setPrototypeOf(guarded(native), Guarded);
		}
		define(Guarded, "captureStackTrace", (object: object, ...below: unknown[]) => {
			apply(captureStackTrace, NativeError, [object, ...below]);
			rewrite(object);
		});
		// With a hook here a script would be given the frames of the host.
		for (const each of [NativeError, Guarded])
			defineProperty(each, "prepareStackTrace", {
				get: () => undefined,
				set() {
					throw fail("DETERMINISM", "Error.prepareStackTrace is refused in a script; use error.stack, which is text", {
						name: "Error.prepareStackTrace",
						substitute: "error.stack, which is text",
					});
				},
				configurable: false,
			});
		guardPromise();
	}

	/** Takes the place of a constructor of errors, with the same name and the same objects. */
	function guarded(native: Native): object {
		function Guarded(this: unknown, ...given: unknown[]): object {
			const error = construct(native, given, new.target ?? Guarded);
			rewrite(error);
			return error;
		}
		for (const key of ownKeys(native)) {
			if (key === "stackTraceLimit") continue;
			defineProperty(Guarded, key, getOwnPropertyDescriptor(native, key) as PropertyDescriptor);
		}
		define(native.prototype, "constructor", Guarded);
		define(globalThis, native.name, Guarded);
		return Guarded;
	}

	/** All that hands on the reason of a promise asks its `then` for it, but for `await`, which throws it. */
	function guardPromise(): void {
		const handed = (failed: unknown): unknown =>
			typeof failed !== "function"
				? failed
				: (reason: unknown) => apply(failed as () => unknown, undefined, [clean(reason)] as never);
		const { [thenName]: guarded } = {
			[thenName](this: unknown, done: unknown, failed: unknown): unknown {
				return apply(then, this, [done, handed(failed)] as never);
			},
		};
		define(Promise.prototype, thenName, guarded);
	}

	function define(target: object, name: PropertyKey, value: unknown): void {
		defineProperty(target, name, {
			__proto__: null,
			value,
			writable: true,
			enumerable: false,
			configurable: true,
		} as PropertyDescriptor);
	}
}
