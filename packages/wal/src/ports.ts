import { randomBytes } from "node:crypto";

/** Where the time comes from. Order never depends on it: `seq` alone orders. */
export interface Clock {
	/** Milliseconds since 1970. */
	now(): number;
}

/** Where names that must not collide come from. */
export interface Ids {
	/** A fresh lower-case hex string of `bytes` random bytes. */
	hex(bytes: number): string;
}

export const systemClock: Clock = { now: () => Date.now() };

export const randomIds: Ids = { hex: (bytes) => randomBytes(bytes).toString("hex") };
