/** A log that stands before another one, and does some calls in its own way. */
import type { RealmLog } from "./engine.ts";

/** A log that does what another one does, but for some calls. */
export function delegate(log: RealmLog, changed: Partial<RealmLog>): RealmLog {
	return {
		acquire: (options) => log.acquire(options),
		renew: (lease) => log.renew(lease),
		release: (lease) => log.release(lease),
		append: (lease, expect, lines) => log.append(lease, expect, lines),
		tail: () => log.tail(),
		read: (after, through, wants) => log.read(after, through, wants),
		subscribe: (after, options) => log.subscribe(after, options),
		truncateBefore: (lease, seq) => log.truncateBefore(lease, seq),
		...changed,
	};
}
