/** Is there space for the log? What is recorded waits until there is; the end of a runtime does not. */
import type { WalError } from "@reyn/wal";
import type { RuntimeEvent } from "./events.ts";

export class Space {
	readonly #emit: (event: RuntimeEvent) => void;
	#none = Promise.withResolvers<void>();

	constructor(emit: (event: RuntimeEvent) => void) {
		this.#emit = emit;
	}

	/** Resolves as soon as there is none, and at once while there is none. */
	get none(): Promise<void> {
		return this.#none.promise;
	}

	/** What the log says of it: `onFull` of `openWal`. */
	heard(why: WalError | undefined): void {
		if (why) {
			this.#none.resolve();
			this.#emit({ type: "disk_full", text: why.message });
		} else {
			this.#none = Promise.withResolvers();
			this.#emit({ type: "disk_free" });
		}
	}
}
