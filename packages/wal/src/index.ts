/** An append-only, fsynced, checksummed log of typed records. */
export type { Disk, DiskFile, DiskLock, FileSystem } from "./disk/disk.ts";
export { nodeDisk } from "./disk/node-disk.ts";
export type {
	Acquire,
	Behind,
	BlobStore,
	EngineCaps,
	Lease,
	LogEngine,
	Opening,
	Owner,
	Place,
	RealmLog,
	Tail,
	TornTail,
	Wants,
} from "./engine/engine.ts";
export { codeOf, isReynError, ReynError, type WalCode, WalError } from "./errors.ts";
export { type FileBlobsOptions, fileBlobs } from "./file/blobs.ts";
export { type FileEngineOptions, fileEngine } from "./file/engine.ts";
export type { LogFileOptions } from "./file/options.ts";
export { memoryBlobs } from "./memory/blobs.ts";
export { memoryEngine } from "./memory/engine.ts";
export { type Clock, type Ids, randomIds, systemClock, systemTimers, type Timers } from "./ports.ts";
export type { StoredRecord } from "./record/codec.ts";
export { canonicalJson } from "./record/json.ts";
export {
	type AnyRecordKind,
	type Draft,
	defineRecord,
	type RecordKind,
	type Scope,
	type Seq,
	scopeKey,
	type WalRecord,
	within,
} from "./record/record.ts";
export type { StandardIssue, StandardResult, StandardSchemaV1 } from "./record/standard-schema.ts";
export { type WalEpoch, type WalRepaired, walEpoch, walLost, walRecovered, walRepaired } from "./record/wal-records.ts";
export {
	type Appended,
	type Appender,
	type Follow,
	type OpenWalOptions,
	openWal,
	type Range,
	type Wal,
} from "./wal.ts";
