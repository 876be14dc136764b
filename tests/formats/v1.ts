/** What the golden logs of format v1 are made of, and what they are folded to. Nothing here may change once they are committed. */
import { createHash } from "node:crypto";
import { canonicalJson, defineRecord, type TornTail, type WalRecord } from "@reyn/wal";

export const goldenNames = ["clean", "sealed", "torn", "padding"] as const;
export type GoldenName = (typeof goldenNames)[number];

export const directoryOf = (name: GoldenName): string => `${import.meta.dirname}/v1/${name}`;
export const expectedPath = (name: GoldenName): string => `${import.meta.dirname}/v1/${name}.expected.json`;

export interface Note {
	readonly id: string;
	readonly text: string;
}

export const notePut = defineRecord<Note, Note>("note_put", {
	"~standard": { version: 1, vendor: "reyn-tests", validate: (value) => ({ value: value as Note }) },
});

/** What stands beside a golden log. */
export interface Expected {
	readonly log: string;
	/** SHA-256 of the state that the records fold to. */
	readonly state: string;
	readonly torn?: Pick<TornTail, "seq" | "bytes" | "sha256">;
	readonly records: readonly WalRecord[];
}

/** The newest text of each note, as one hash. */
export function stateHash(records: readonly WalRecord[]): string {
	const notes: Record<string, string> = {};
	for (const record of records) if (notePut.is(record)) notes[record.data.id] = record.data.text;
	return createHash("sha256").update(canonicalJson(notes)).digest("hex");
}
