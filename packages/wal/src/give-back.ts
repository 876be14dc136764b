/** Gives a lease back that nobody knows of. Loaded when an opening has failed so. */
import { retryMs } from "./engine/away.ts";
import type { Acquire, RealmLog } from "./engine/engine.ts";
import { codeOf, WalError } from "./errors.ts";
import type { Timers } from "./ports.ts";

/** So often, for a minute, a log is asked whether it has given a lease after all. */
const GIVE_BACK_TRIES = 64;

/** Nobody knows of a lease whose answer came too late, and it would lock this process out: it is asked for by its name, and given back. */
export async function giveBack(log: RealmLog, options: Acquire, timers: Timers): Promise<void> {
	const isNone = new WalError("WAL_LOCKED", "this lease was given up");
	// Asked only of who would take the lease anew.
	const opening = (): never => {
		throw isNone;
	};
	for (let tries = 0; tries < GIVE_BACK_TRIES; tries++) {
		try {
			return await log.release(await log.acquire({ ...options, steal: false, opening }));
		} catch (error) {
			if (codeOf(error) === "WAL_LOCKED" && error !== isNone) return;
			await new Promise<void>((resolve) => timers.after(retryMs(tries), resolve, false));
		}
	}
}
