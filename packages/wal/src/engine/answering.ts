/** Gives each call of an engine a limit of time: one that is not answered may have happened or not. */
import { WalError } from "../errors.ts";
import type { Timers } from "../ports.ts";
import { delegate } from "./delegate.ts";
import type { RealmLog } from "./engine.ts";

/**
 * The same log, whose calls reject with `WAL_INDETERMINATE` after so many milliseconds without an answer. A subscription may wait for
 * ever: it does that when nothing comes.
 *
 * @param ms undefined: no limit
 */
export function answering(log: RealmLog, ms: number | undefined, timers: Timers): RealmLog {
	if (ms === undefined) return log;
	const late = (): WalError => new WalError("WAL_INDETERMINATE", `the engine has not answered for ${ms} ms`, { ms });
	const soon = <T>(call: Promise<T>): Promise<T> =>
		new Promise((resolve, reject) => {
			const cancel = timers.after(ms, () => reject(late()));
			call.then(resolve, reject).finally(cancel);
		});
	return delegate(log, {
		acquire: (options) => soon(log.acquire(options)),
		renew: (lease) => soon(log.renew(lease)),
		release: (lease) => soon(log.release(lease)),
		append: (lease, expect, lines) => soon(log.append(lease, expect, lines)),
		tail: () => soon(log.tail()),
		truncateBefore: (lease, seq) => soon(log.truncateBefore(lease, seq)),
		async *read(after, through, wants) {
			const batches = log.read(after, through, wants)[Symbol.asyncIterator]();
			try {
				for (let next = await soon(batches.next()); !next.done; next = await soon(batches.next())) yield next.value;
			} finally {
				// Not awaited: an engine that is away may never answer that either.
				batches.return?.()?.catch(() => {});
			}
		},
	});
}
