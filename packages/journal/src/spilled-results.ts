/** Names the blobs of results that lie beside the log, and finds the records and states that refer to them. Pure. */
import type { Draft } from "@reyn/wal";
import { nameOf } from "./blob-name.ts";
import { allEntries, type JournalState } from "./journal.ts";
import { stepCompleted } from "./records.ts";
import type { StoredResult } from "./results.ts";
import type { SpilledText } from "./spilled-text.ts";

/** Blob names in the store `results` of {@link Using}. */
export const spilledResults = {
	isName(name: string): boolean {
		const sha256 = name.slice(name.indexOf("/") + 1);
		return /^[0-9a-f]{64}$/.test(sha256) && name === nameOf(sha256);
	},

	ofRecord({ kind, data }: Draft): readonly string[] {
		return kind === stepCompleted.kind ? namesIn(data as StoredResult) : [];
	},

	/** The name of a spilled text, which lies in the same store. */
	ofText: (spilled: SpilledText | undefined): readonly string[] => namesIn({ spilled }),

	ofState(state: JournalState): readonly string[] {
		return [...allEntries(state)].flatMap(({ outcome }) =>
			outcome?.type === "completed" ? namesIn(outcome.kept) : [],
		);
	},
};

const namesIn = ({ spilled }: StoredResult): readonly string[] => (spilled ? [nameOf(spilled.sha256)] : []);
