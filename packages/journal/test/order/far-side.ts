/** What a program calls, and the ledger of it: outside the program, over all its lives. Time passes only from timer to timer. */
import type { BlobStore, Clock, Seq, Timers } from "@reyn/wal";
import { isInner } from "../../src/script/branches.ts";
import { type Call, callsOf, type Kind, type Nested, type Program } from "./program.ts";

/** Milliseconds that pass when nothing else happens. */
export class Time implements Clock, Timers {
	#now: number;
	readonly #waiting = new Set<{ readonly at: number; readonly run: () => void }>();

	constructor(now = 1_000_000) {
		this.#now = now;
	}

	now(): number {
		return this.#now;
	}

	after(ms: number, run: () => void): () => void {
		const timer = { at: this.#now + ms, run };
		this.#waiting.add(timer);
		return () => this.#waiting.delete(timer);
	}

	/**
	 * Gives what a promise gives.
	 *
	 * @param turns of the event loop after which all that needs no time has happened
	 * @throws when nothing will ever settle it
	 */
	async until<T>(promise: Promise<T>, turns: number): Promise<T> {
		let isSettled = false;
		const settled = (): void => {
			isSettled = true;
		};
		promise.then(settled, settled);
		for (let idle = 0; ; idle++) {
			for (let turn = 0; turn < turns && !isSettled; turn++) await new Promise((resolve) => setImmediate(resolve));
			if (isSettled) return promise;
			if (this.#waiting.size > 0) {
				this.#advance();
				idle = 0;
			} else if (idle === IDLE) throw new Stuck();
		}
	}

	#advance(): void {
		this.#now = Math.max(this.#now, Math.min(...[...this.#waiting].map(({ at }) => at)));
		for (const timer of [...this.#waiting].filter(({ at }) => at <= this.#now)) {
			this.#waiting.delete(timer);
			timer.run();
		}
	}
}

/** The program waits for something that will never happen. */
export class Stuck extends Error {}

const IDLE = 50;

/** A call that was really made. */
export interface Made {
	readonly life: number;
	readonly id: string;
	readonly kind: Kind;
	/** What was asked. */
	readonly key: string;
	/** What names its answer, and no other's. */
	readonly token: string;
	/** How long the log was then. */
	readonly tip: Seq;
	readonly failed: boolean;
	/** It failed, and its policy has another try. */
	readonly followed: boolean;
}

export class FarSide {
	readonly made: Made[];
	readonly time: Time;
	readonly life: number;
	readonly #specs: ReadonlyMap<string, Call | Nested>;
	readonly #delays: readonly number[];
	readonly #tip: () => Seq;

	constructor(program: Program, { life, delays, tip, made, now }: FarSideOptions) {
		this.#specs = new Map([...callsOf(program)].map((each) => [each.id, each]));
		this.life = life;
		this.#delays = delays;
		this.#tip = tip;
		this.made = [...made];
		this.time = new Time(now);
	}

	spec(text: string): Call | Nested {
		return this.#specs.get(idOf(text)) as Call | Nested;
	}

	/** The answer to a text, when its time has come. */
	async answer(
		kind: Kind,
		text: string,
		{ key = text, attempt = 1, isModel = false }: { key?: string; attempt?: number; isModel?: boolean } = {},
	): Promise<string> {
		const { id, ...spec } = this.spec(text);
		const manner = spec.type === "call" ? spec : undefined;
		const times = this.made.filter((each) => each.key === key).length;
		const fails = manner ? this.#fails(manner, times) : false;
		// What the world says, and what is computed, is the same each time.
		const token =
			kind === "look" && !fails
				? `${id}.w${numberOf(key)}`
				: kind === "count"
					? `${id}.p`
					: `${id}.${this.#countOf(id)}`;
		const followed = fails && attempt < (manner?.tries ?? 1);
		this.made.push({ life: this.life, id, kind, key, token, tip: this.#tip(), failed: fails, followed });
		await new Promise<void>((resolve) => void this.time.after(this.#delayOf(id, this.made.length), resolve));
		if (!fails || !manner) return manner?.large ? `${token} ${"x".repeat(33_000)}` : token;
		throw Object.assign(new Error(`${token}:no`), {
			code: "REFUSED",
			// The policy that models have pauses by chance.
			...(manner.retryable && !isModel ? { retryable: true } : {}),
			...(manner.detail ? { detail: { left: kind === "count" ? 0 : times } } : {}),
		});
	}

	#fails({ fails }: Pick<Call, "fails">, times: number): boolean {
		switch (fails) {
			case "never":
				return false;
			case "once":
				return times === 0;
			case "in the first life":
				return this.life === 1;
			case "in later lives":
				return this.life > 1;
			case "always":
				return true;
		}
	}

	#countOf(id: string): number {
		return this.made.filter((each) => each.id === id).length;
	}

	#delayOf(id: string, n: number): number {
		return this.#delays[(Number(id.slice(1)) + n) % this.#delays.length] as number;
	}
}

interface FarSideOptions {
	readonly life: number;
	readonly delays: readonly number[];
	readonly tip: () => Seq;
	/** By the lives before. */
	readonly made: readonly Made[];
	readonly now: number;
}

/** The same for the same text. */
const numberOf = (text: string): number => {
	let number = 0;
	for (const letter of text) number = (number * 31 + letter.charCodeAt(0)) % 99991;
	return number;
};

/** Of a text, the call that it is the argument of. */
export const idOf = (text: string): string => text.slice(0, text.indexOf("("));

/** A store that knows which answers lie in it. */
export function tokenStore(store: BlobStore): BlobStore & { readonly begins: ReadonlyMap<string, string> } {
	const begins = new Map<string, string>();
	return {
		begins,
		put: (name, bytes) => {
			begins.set(name, new TextDecoder().decode(bytes.subarray(0, 200)));
			return store.put(name, bytes);
		},
		get: (name) => store.get(name),
		list: (prefix) => store.list(prefix),
		delete: (name) => store.delete(name),
	};
}

/** Behind how many records stands the one that says that a program has failed? Undefined: none does so behind the first `from`. */
export function failedIn(records: readonly { readonly kind: string }[], from: number): number | undefined {
	const at = records.findLastIndex(({ kind }) => kind === "lane_failed" || kind === "script_failed") + 1;
	return at > from ? at : undefined;
}

/** The answers whose outcome is among some records. @param inside those of steps inside a call too */
export function tokensIn(
	records: readonly { readonly kind: string; readonly data: unknown }[],
	begins: ReadonlyMap<string, string>,
	inside = true,
): Set<string> {
	const tokens = new Set<string>();
	for (const { kind, data } of records) {
		if (kind !== "step_completed" && kind !== "step_failed") continue;
		const { lane, purity, result, reason, spilled, retryable, told } = data as {
			lane: string;
			purity: string;
			retryable?: boolean;
			told?: boolean;
			result?: unknown;
			reason?: { message: string };
			spilled?: { sha256: string };
		};
		// What fails inside a call fails the call, and until that is recorded the call is open.
		if ((kind === "step_failed" || !inside) && isInner(lane)) continue;
		// A model's call has a policy of its own: between two tries it is open.
		if (kind === "step_failed" && purity === "llm" && retryable && !told) continue;
		const beside = spilled && [...begins].find(([name]) => name.includes(spilled.sha256))?.[1];
		const text = beside ?? JSON.stringify(reason?.message ?? result) ?? "";
		for (const [token] of text.matchAll(/[cn]\d+\.[\dwp]+/g)) tokens.add(token);
	}
	return tokens;
}
