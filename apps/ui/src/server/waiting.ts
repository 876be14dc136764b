/** What keeps this process from recording, as long as it does: a full disk, or an engine of the log that is away. */
import type { RuntimeEvent } from "@reyn/runtime";

export interface Wait {
	readonly for: "space" | "log";
	readonly text: string;
}

export class Waiting {
	#now: Wait | undefined;
	readonly #listeners = new Set<() => void>();

	/** @param event of a runtime of this process */
	take(event: RuntimeEvent): void {
		switch (event.type) {
			case "disk_full":
				this.#now = { for: "space", text: event.text };
				break;
			case "log_away":
				this.#now = { for: "log", text: event.text };
				break;
			case "disk_free":
			case "log_back":
				this.#now = undefined;
				break;
			default:
				return;
		}
		for (const listener of this.#listeners) listener();
	}

	get now(): Wait | undefined {
		return this.#now;
	}

	/** @returns ends it */
	listen(listener: () => void): () => void {
		this.#listeners.add(listener);
		return () => void this.#listeners.delete(listener);
	}
}
