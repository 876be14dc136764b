/** The log's own records. Their schemas are written out, so that the log needs no schema library of its own. */

import type { TornTail } from "../engine/engine.ts";
import { isSeq } from "./codec.ts";
import { kindOf, type Seq, type WalRecord } from "./record.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";

/** A record that a log goes on behind: the id of its log, and its seq. */
export interface Follows {
	readonly log: string;
	readonly seq: Seq;
}

export const isFollows = (value: unknown): boolean => {
	const { log, seq } = (value ?? {}) as Partial<Follows>;
	return typeof log === "string" && Number.isSafeInteger(seq) && (seq as number) >= 0 && (seq as number) < 2 ** 52;
};

/** Stands at the start of each writer's records: who wrote from here on. */
export interface WalEpoch {
	readonly epoch: number;
	readonly pid: number;
	readonly host: string;
	/** The record of another log that this log goes on behind: in its first record, where there is one. */
	readonly follows?: Follows;
}

export const walEpoch = kindOf(
	"wal_epoch",
	schema<WalEpoch>(
		"{ epoch, pid, host, follows? }",
		({ epoch, pid, host, follows }) =>
			isSeq(epoch) && isSeq(pid) && typeof host === "string" && (follows === undefined || isFollows(follows)),
	),
);

/** The epoch that a record begins; 0 when it begins none. */
export const epochOf = (record: WalRecord): number => (walEpoch.is(record) ? record.data.epoch : 0);

/** The name of the file that a record says keeps a torn tail. */
export const keptBy = (record: WalRecord): string | undefined =>
	walRecovered.is(record) ? record.data.keptIn : undefined;

/** A torn tail was cut here when the log was opened; its bytes are in the file of the name `keptIn`, beside the log. */
export const walRecovered = kindOf(
	"wal_recovered",
	schema<TornTail>(
		"{ seq, bytes, sha256, keptIn? }",
		({ seq, bytes, sha256, keptIn }) =>
			isSeq(seq) && isSeq(bytes) && typeof sha256 === "string" && (keptIn === undefined || typeof keptIn === "string"),
	),
);

/** A repair gave records up: from here on the log is another than it was. */
export interface WalRepaired {
	/** The seqs that were lost, as ranges: the first and the last of each. Each seq is a `wal_lost` record now. */
	readonly lost: readonly (readonly [from: Seq, to: Seq])[];
	readonly why: string;
	/** The names of the files that hold the bytes as they were. */
	readonly keptIn: readonly string[];
}

export const walRepaired = kindOf(
	"wal_repaired",
	schema<WalRepaired>(
		"{ lost, why, keptIn }",
		({ lost, why, keptIn }) =>
			Array.isArray(lost) &&
			lost.every((range) => Array.isArray(range) && range.length === 2 && range.every(isSeq)) &&
			typeof why === "string" &&
			Array.isArray(keptIn) &&
			keptIn.every((name) => typeof name === "string"),
	),
);

/** Stands where a record was lost, so that a seq never comes to name another record; the `wal_repaired` after it says why. */
export const walLost = kindOf(
	"wal_lost",
	schema<Record<string, never>>("{}", () => true),
);

/** Every kind that the log writes of itself. */
export const walRecords = [walEpoch, walRecovered, walRepaired, walLost] as const;

function schema<T extends object>(
	shape: string,
	fits: (value: Partial<Record<keyof T, unknown>>) => boolean,
): StandardSchemaV1<T> {
	return {
		"~standard": {
			version: 1,
			vendor: "reyn",
			validate: (value) =>
				typeof value === "object" && value !== null && fits(value)
					? { value: value as T }
					: { issues: [{ message: `expected ${shape}` }] },
		},
	};
}
