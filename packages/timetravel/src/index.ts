/** Rewind, fork and return over a log: lineage, branches, checkpoints, checkout. Nothing is ever erased. */
export type { Branch } from "./branches.ts";
export type { Collection } from "./collecting.ts";
export { type Change, diffLines, type StateDiff } from "./diff.ts";
export { type TimetravelCode, TimetravelError } from "./errors.ts";
export type { HypotheticalHistory } from "./hypothetical.ts";
export { Lineage, type LineageOptions, type Reset } from "./lineage.ts";
export type { Live } from "./live.ts";
export type { Checkout, CheckoutOptions, StayOptions, StepOptions, Stepped } from "./moving.ts";
export type { TimelineOptions } from "./options.ts";
export type { OutcomeReport, Outcomes } from "./outcomes.ts";
export type { Checkpoint, Label, Window } from "./reading.ts";
export type { RecordCount } from "./record-counts.ts";
export { checkpoint, isOutside, label, reset, resetSettled, stepLate, timetravelRecords } from "./records.ts";
export type { Floor, RetentionPolicy, Unfolded, Unknown } from "./retention.ts";
export { type Covers, openSession, type Session, type Work } from "./session.ts";
export {
	type Moved,
	type MovedBy,
	type MoveParts,
	type MovePreview,
	type Moving,
	moveWith,
	settleWith,
} from "./steps.ts";
export { openTimeline, Timeline } from "./timeline.ts";
export type { Coverage, Move, Moves, UndoRule, UndoRules } from "./undo.ts";
export type { WholeLive } from "./whole-log.ts";
