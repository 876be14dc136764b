/** Names the blobs of attached files, and finds the records and states that refer to them. Pure. */
import type { Draft } from "@reyn/wal";
import { type AttachedFile, filesOf } from "./attached-file.ts";
import { nameOf } from "./blob-name.ts";
import { allEntries, type JournalState } from "./journal.ts";
import { stepCompleted } from "./records.ts";
import type { StoredResult } from "./results.ts";

/** Blob names in the store `files` of {@link Using}. */
export const attachedNames = {
	of: (files: readonly AttachedFile[] = []): readonly string[] => files.map(({ sha256 }) => nameOf(sha256)),

	ofRecord: ({ kind, data }: Draft): readonly string[] =>
		kind === stepCompleted.kind ? namesIn(data as StoredResult) : [],

	ofState: (state: JournalState): readonly string[] =>
		[...allEntries(state)].flatMap(({ outcome }) => (outcome?.type === "completed" ? namesIn(outcome.kept) : [])),
};

const namesIn = ({ result, spilled }: StoredResult): readonly string[] =>
	spilled ? (spilled.files ?? []).map(nameOf) : attachedNames.of(filesOf(result));
