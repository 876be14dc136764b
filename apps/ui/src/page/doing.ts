/** Begins work: where it was not, the reason is kept beside what was asked, and nothing is repeated by itself. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Given } from "../server/asks.ts";
import { begin } from "./api.ts";
import { refreshHistory } from "./log.ts";
import { refreshState, server } from "./session.ts";
import { tell } from "./toast.tsx";

export interface Doing {
	readonly isDoing: ReadonlySignal<boolean>;
	/** Why it was not begun; empty: it was, or was never tried. */
	readonly wrong: ReadonlySignal<string>;
	/** @returns was it begun? */
	start(verb: string, given: Given): Promise<boolean>;
}

export function doing(): Doing {
	const isDoing = signal(false);
	const wrong = signal("");
	return {
		isDoing,
		wrong,
		async start(verb, given) {
			if (isDoing.peek()) return false;
			isDoing.value = true;
			wrong.value = "";
			try {
				const { lines } = await begin(verb, given);
				// What was asked is seen where it was.
				if (verb !== "ask") tell(lines);
				await Promise.all([refreshState(), refreshHistory()]).catch(() => {});
				return true;
			} catch (error) {
				wrong.value = error instanceof Error ? error.message : String(error);
				return false;
			} finally {
				isDoing.value = false;
			}
		},
	};
}

/** Does this page offer such a verb? */
export const isOffered = (verb: string): boolean => server.value?.verbs.includes(verb) ?? false;
