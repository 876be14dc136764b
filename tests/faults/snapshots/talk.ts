/** The state that the faults of snapshots look at: a list that grows and is compacted, and a plain one beside it. */
import { defineProjection, List, memorySnapshots, restore, type SnapshotStore, straightPath } from "@reyn/snapshot";
import type { Scope, Seq, StandardSchemaV1, Wal } from "@reyn/wal";
import { numbered } from "../lab/numbered.ts";

export const scope: Scope = { agent: "default", session: "main" };

export const talk = defineProjection({
	name: "talk",
	version: 1,
	schema: of<{ readonly said: number }>(
		(value) => isObject(value) && Object.keys(value).join() === "said" && isCount(value.said),
	),
	lists: { texts: of<string>((value) => typeof value === "string") },
	init: () => ({ said: 0, texts: List.of<string>() }),
	handle: (on) => [
		on(numbered, ({ said, texts }, { n, text }) => ({
			said: said + 1,
			texts: n % 100 === 0 ? texts.splice(1, 50, text) : texts.append(text),
		})),
	],
});

export const tally = defineProjection({
	name: "tally",
	version: 1,
	schema: of<Readonly<Record<string, number>>>((value) => isObject(value) && Object.values(value).every(isCount)),
	init: () => ({}),
	handle: (on) => [on(numbered, (state, { n }) => ({ ...state, [`of ${n % 3}`]: n }))],
});

export const projections = [talk, tally];

/** A hash of the state at a seq. */
export async function stateAt(wal: Wal, snapshots: SnapshotStore, seq: Seq, of: Scope = scope): Promise<string> {
	return (await restore({ wal, snapshots, projections }, straightPath(seq, of))).hash();
}

/** The same from the log alone. */
export const foldTo = (wal: Wal, seq: Seq, of: Scope = scope): Promise<string> =>
	stateAt(wal, memorySnapshots(), seq, of);

/** A log of which nothing may be read that comes before a record: the snapshot there has to be enough. */
export function readFrom(wal: Wal, first: Seq): Wal {
	const read: Wal["read"] = (range = {}) => {
		if ((range.after ?? 0) < first - 1)
			throw new Error(`the log was read after seq ${range.after}, not from ${first} on`);
		return wal.read(range);
	};
	return { id: wal.id, tip: wal.tip, durableTip: wal.durableTip, read } as Wal;
}

function of<T>(isOne: (value: unknown) => boolean): StandardSchemaV1<T, T> {
	const validate = (value: unknown) =>
		isOne(value) ? { value: value as T } : { issues: [{ message: "another shape" }] };
	return { "~standard": { version: 1, vendor: "faults", validate } };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const isCount = (value: unknown): boolean => Number.isInteger(value);
