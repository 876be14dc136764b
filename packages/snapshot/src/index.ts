/** State as a fold of registered projections over a log, and snapshots to start a fold from. */
export { type SnapshotCode, SnapshotError } from "./errors.ts";
export { fileSnapshots } from "./file-store.ts";
export { kindsOf, View } from "./fold.ts";
export { memorySnapshots } from "./memory-store.ts";
export { type Path, type SeqRange, straightPath } from "./path.ts";
export {
	type AnyProjection,
	defineProjection,
	type Handler,
	type On,
	type Projection,
	type ProjectionSpec,
} from "./projection.ts";
export { capture, newestSnapshot, restore, type Sources } from "./restore.ts";
export type { SnapshotStore } from "./store.ts";
