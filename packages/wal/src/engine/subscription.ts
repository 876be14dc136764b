/** A subscription for engines that cannot push: a look at the tail, a read, and a wait for a hint. */
import type { StoredRecord } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import type { RealmLog } from "./engine.ts";
import { unlessAborted } from "./unless-aborted.ts";

/**
 * What an engine's `subscribe` may be made of: looks how far the log is durable, reads up to there, and waits. What wakes it is a hint
 * only: one too many, or one that comes late, loses nothing; without any it waits for ever.
 *
 * @param more resolves when it is worth looking again, since there may be more than `reached`. What it rejects with while it is
 *   waited for ends the subscription; an abort ends the wait
 */
export async function* subscription(
	log: Pick<RealmLog, "tail" | "read">,
	after: Seq,
	signal: AbortSignal,
	more: (reached: Seq) => Promise<void>,
): AsyncGenerator<readonly StoredRecord[]> {
	for (let reached = after; !signal.aborted; ) {
		// Begun before the look: what happens between the two is heard.
		const hint = more(reached);
		// Nobody waits for it where there is more already.
		hint.catch(() => {});
		const last = (await log.tail())?.seq ?? 0;
		if (last > reached) {
			for await (const records of log.read(reached, last)) {
				reached = records.at(-1)?.seq ?? reached;
				yield records;
				if (signal.aborted) return;
			}
		} else await unlessAborted(hint, signal);
	}
}
