/** An engine in memory that stops as a killed process does. */

import { delegate } from "../engine/delegate.ts";
import type { LogEngine } from "../engine/engine.ts";
import { memoryEngine } from "../memory/engine.ts";

/** Logs in memory that stop taking records when they are told to, as if the process had died; what they have stays. */
export interface MortalEngine extends LogEngine {
	die(): void;
	revive(): void;
}

export function mortalEngine(): MortalEngine {
	const engine = memoryEngine();
	let isDead = false;
	return {
		...engine,
		log: (realm) => {
			const log = engine.log(realm);
			return delegate(log, {
				async append(lease, expect, lines) {
					if (isDead) throw new Error("killed");
					await log.append(lease, expect, lines);
				},
			});
		},
		die() {
			isDead = true;
		},
		revive() {
			isDead = false;
		},
	};
}
