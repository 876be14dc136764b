/** An append-only, fsynced, checksummed log of typed records. */
export type { LogHeader, StoredRecord } from "./codec.ts";
export type { LogEngine, OpenEngine, OpenLog, TornTail } from "./engine.ts";
export { ReynError, type WalCode, WalError } from "./errors.ts";
export { atomicWrite } from "./file/atomic-write.ts";
export { fileEngine } from "./file/engine.ts";
export { canonicalJson } from "./json.ts";
export { memoryEngine } from "./memory-engine.ts";
export { type Clock, type Ids, randomIds, systemClock } from "./ports.ts";
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
export { type Appended, type Appender, type OpenWalOptions, openWal, type Range, type Wal } from "./wal.ts";
export { type WalEpoch, walEpoch, walRecovered } from "./wal-records.ts";
