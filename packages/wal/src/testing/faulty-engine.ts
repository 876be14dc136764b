/** An engine that delays, loses answers, stores parts of batches and cannot be reached, at random: what a network does. */

import { delegate } from "../engine/delegate.ts";
import type { LogEngine, RealmLog } from "../engine/engine.ts";
import { WalError } from "../errors.ts";

export interface FaultyOptions {
	/** A number in [0, 1). */
	random(): number;
	/** How often a call goes wrong. Default: 0.3. */
	readonly rate?: number;
	/** May a part of a batch be stored? Default: what the engine's `atomicBatch` allows. */
	readonly parts?: boolean;
}

/**
 * Over an engine that works. An answer that is lost is `WAL_INDETERMINATE`, whether the call happened or not. Until the log has found
 * out what happened, its looks go wrong at the same rate; what a reader asks never does, since a reader does not ask again.
 */
export function faultyEngine(engine: LogEngine, { random, rate = 0.3, parts }: FaultyOptions): LogEngine {
	const mayTear = parts ?? !engine.caps.atomicBatch;
	const goesWrong = (): boolean => random() < rate;
	const pause = async (): Promise<void> => {
		for (let turns = Math.floor(random() * 4); turns > 0; turns--)
			await new Promise((resolve) => setImmediate(resolve));
	};
	return {
		...engine,
		caps: { ...engine.caps, atomicBatch: !mayTear },
		log(realm) {
			const log = engine.log(realm);
			/** Only who has to find out what happened meets more of it: reading alone is not tried again. */
			let isUnknown = false;
			let expected = 0;
			const append: RealmLog["append"] = async (lease, expect, lines) => {
				isUnknown = false;
				expected = expect;
				await pause();
				if (!goesWrong()) return log.append(lease, expect, lines);
				const kind = Math.floor(random() * 4);
				if (kind === 0) throw unreachable();
				const stored = kind === 1 ? 0 : kind === 2 || !mayTear ? lines.length : Math.floor(random() * lines.length);
				if (stored > 0) await log.append(lease, expect, lines.slice(0, stored));
				await pause();
				isUnknown = true;
				throw new WalError("WAL_INDETERMINATE", "the answer was lost");
			};
			return delegate(log, {
				append,
				async tail() {
					await pause();
					if (isUnknown && goesWrong()) throw unreachable();
					const tail = await log.tail();
					// There is nothing more to look at: the next one who reads is a reader.
					if (tail?.seq === expected) isUnknown = false;
					return tail;
				},
				async *read(after, through, wants) {
					if (isUnknown && goesWrong()) throw unreachable();
					isUnknown = false;
					yield* log.read(after, through, wants);
				},
			});
		},
	};
}

const unreachable = (): WalError => new WalError("WAL_UNAVAILABLE", "the engine cannot be reached");
