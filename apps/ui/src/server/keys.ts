/** The key of a page. A code in the address is changed into it, once; whoever finds the address later has nothing of it. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "@reyn/wal";

/** How long a code may wait for its page. */
const LIFE_MS = 60_000;
/** Wrong codes until none is taken any more. */
const TRIES = 5;

export class Keys {
	/** For the address of the page. */
	readonly code = randomBytes(32).toString("hex");
	readonly #token = randomBytes(32).toString("hex");
	readonly #clock: Clock;
	readonly #until: number;
	#left = TRIES;

	constructor(clock: Clock) {
		this.#clock = clock;
		this.#until = clock.now() + LIFE_MS;
	}

	/** Changes the code into the token. @returns undefined: it is wrong, too old, or was used */
	redeem(code: string): string | undefined {
		if (this.#left <= 0 || this.#clock.now() > this.#until) return undefined;
		if (!isEqual(code, this.code)) {
			this.#left--;
			return undefined;
		}
		this.#left = 0;
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
