/** The key of a page. A code in the address is changed into it, once; whoever finds the address later has nothing of it. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "@reyn/wal";

/** How long a code may wait for its page. */
const LIFE_MS = 60_000;
/** Wrong codes until none is taken any more. */
const TRIES = 5;

export class Keys {
	/** For the address of the first page. */
	readonly code: string;
	readonly #token = randomBytes(32).toString("hex");
	readonly #clock: Clock;
	/** The code that waits for its page. */
	#waiting: { readonly code: string; readonly until: number } | undefined;
	#left = TRIES;

	constructor(clock: Clock) {
		this.#clock = clock;
		this.code = this.another();
	}

	/** A code for one more page. One that still waits counts no longer. */
	another(): string {
		const code = randomBytes(32).toString("hex");
		this.#waiting = { code, until: this.#clock.now() + LIFE_MS };
		this.#left = TRIES;
		return code;
	}

	/** Changes the code into the token. @returns undefined: it is wrong, too old, or was used */
	redeem(code: string): string | undefined {
		if (!this.#waiting || this.#left <= 0 || this.#clock.now() > this.#waiting.until) return undefined;
		if (!isEqual(code, this.#waiting.code)) {
			this.#left--;
			return undefined;
		}
		this.#waiting = undefined;
		return this.#token;
	}

	/** Has a request the key? @param headers all of its `Authorization` headers */
	isHeldBy(headers: readonly string[]): boolean {
		const [header = ""] = headers;
		return headers.length === 1 && isEqual(header, `Bearer ${this.#token}`);
	}
}

/** In a time that says nothing of where they differ. */
const isEqual = (a: string, b: string): boolean => timingSafeEqual(digestOf(a), digestOf(b));

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
