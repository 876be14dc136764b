/** State as a fold of registered projections over a log, and snapshots to start a fold from. */
export { type Collected, type CollectOptions, collect } from "./collect.ts";
export { entryAt } from "./entry-at.ts";
export { type SnapshotCode, SnapshotError } from "./errors.ts";
export { kindsOf, View } from "./fold.ts";
export { List } from "./list.ts";
export { type Path, type SeqRange, straightPath } from "./path.ts";
export {
	type AnyProjection,
	defineProjection,
	type Handler,
	type Level,
	type ListSchemas,
	type On,
	type Projection,
	type ProjectionSpec,
	type StateOf,
} from "./projection.ts";
export { type Bases, capture, restore, type Sources } from "./restore.ts";
export { fileSnapshots, memorySnapshots, SnapshotStore, sealed } from "./store.ts";
