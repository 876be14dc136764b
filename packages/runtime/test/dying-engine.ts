/** The engine of a test that dies as soon as so many batches were stored, and lives again when it is told so. */
import { mortalEngine } from "@reyn/wal/testing";

export function dyingEngine() {
	const mortal = mortalEngine();
	const engine = {
		...mortal,
		left: Number.POSITIVE_INFINITY,
		log(realm: string) {
			const log = mortal.log(realm);
			const append: typeof log.append = async (...lines) => {
				if (engine.left <= 0) throw new Error("killed");
				engine.left--;
				return log.append(...lines);
			};
			return { ...log, append };
		},
	};
	return engine;
}
