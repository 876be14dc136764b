/** An append-only, fsynced, checksummed log of typed records. */
export { atomicWrite, removeFiles } from "./atomic-write.ts";
export { blobsBelow } from "./blobs-below.ts";
export type { StoredRecord } from "./codec.ts";
export type { Disk, DiskFile, DiskLock } from "./disk.ts";
export { isTemporaryName } from "./durable-files.ts";
export type {
	Acquire,
	BlobStore,
	EngineCaps,
	Lease,
	LogEngine,
	Opening,
	Owner,
	RealmLog,
	Tail,
	TornTail,
	Wants,
} from "./engine.ts";
export { codeOf, isReynError, ReynError, type WalCode, WalError } from "./errors.ts";
export { type FileBlobsOptions, fileBlobs } from "./file/blobs.ts";
export { type FileEngineOptions, fileEngine } from "./file/engine.ts";
export type { LogFileOptions } from "./file/log-file.ts";
export { type LogIdentity, logIdentityIn } from "./file/log-identity.ts";
export { isFull } from "./full.ts";
export { assertJson, canonicalJson } from "./json.ts";
export { memoryBlobs } from "./memory-blobs.ts";
export { memoryEngine } from "./memory-engine.ts";
export { nodeDisk } from "./node-disk.ts";
export { assertNoDirectory, assertOwnDirectory, hashOwnFile, readOwnFile } from "./own-files.ts";
export { type Clock, type Ids, randomIds, systemClock, systemTimers, type Timers } from "./ports.ts";
export {
	type AnyRecordKind,
	type Draft,
	defineRecord,
	parseData,
	type RecordKind,
	type Scope,
	type Seq,
	scopeKey,
	type WalRecord,
	within,
} from "./record.ts";
export type { StandardIssue, StandardResult, StandardSchemaV1 } from "./standard-schema.ts";
export {
	type Appended,
	type Appender,
	type Follow,
	type OpenWalOptions,
	openWal,
	type Range,
	type Wal,
} from "./wal.ts";
export { type WalEpoch, type WalRepaired, walEpoch, walLost, walRecovered, walRepaired } from "./wal-records.ts";
