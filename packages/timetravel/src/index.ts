/** Rewind, fork and return over a log: lineage, branches, checkpoints, checkout. Nothing is ever erased. */
export { type Branch, branchTree } from "./branches.ts";
export { type TimetravelCode, TimetravelError } from "./errors.ts";
export { Lineage, type LineageOptions, type Reset } from "./lineage.ts";
export type { Coverage, Deed, Deeds, Move, Moves } from "./moves.ts";
export { checkpoint, isMeta, label, reset, resetSettled, timetravelRecords } from "./records.ts";
export {
	type Checkout,
	type CheckoutOptions,
	type Checkpoint,
	type CheckpointKind,
	type Label,
	openTimeline,
	type Stepped,
	Timeline,
	type TimelineOptions,
} from "./timeline.ts";
