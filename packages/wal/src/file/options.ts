/** What may be set of the files of a log. */
import { type Checks, isBoolean } from "../given.ts";
import { type Follows, isFollows } from "../record/wal-records.ts";

export interface LogFileOptions {
	/** A full segment is sealed. Default: 16 MiB. */
	readonly segmentBytes: number;
	/** Space is allocated ahead in steps of this, so that a sync seldom has to make a new size durable. Default: 1 MiB. */
	readonly allocateBytes: number;
	/** Take a network file system, whose locks and syncs may not hold, and one of which it cannot be told (FUSE, virtiofs, 9p) without trying it. Default: false. */
	readonly allowNetwork: boolean;
	/** Take over a log that came from elsewhere: its newest segment says this from now on, 32 hex digits that nobody else knows. Default: it stays as it is. */
	readonly adopt?: string;
	/** A log that is made anew begins behind this record of another one, and its first record names that. Default: it begins at seq 1. A log that is there stays as it is. */
	readonly follows?: Follows;
}

const MAX_BYTES = 1024 ** 3;

const isSize = (value: unknown): boolean =>
	Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= MAX_BYTES;
const size: Checks[string] = [`a whole number of bytes from 1 to ${MAX_BYTES}`, isSize];

export const checks: Record<keyof LogFileOptions, Checks[string]> = {
	segmentBytes: size,
	allocateBytes: size,
	allowNetwork: ["true or false", isBoolean],
	adopt: ["32 lower-case hex digits", (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value)],
	follows: ["{ log, seq }: the id of a log, and a seq of it", isFollows],
};

export const defaultLogFileOptions: LogFileOptions = {
	segmentBytes: 16 * 1024 * 1024,
	allocateBytes: 1024 * 1024,
	allowNetwork: false,
};
