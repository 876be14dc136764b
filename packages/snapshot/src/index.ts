/** State as a fold of registered projections over a log, and snapshots to start a fold from. */
export { type Collected, type CollectOptions, collect } from "./collect.ts";
export { entryAt } from "./entry-at.ts";
export { type SnapshotCode, SnapshotError } from "./errors.ts";
export { asFileName } from "./file-name.ts";
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
	projectionsAt,
	type StateOf,
} from "./projection.ts";
export { type Bases, capture, newestSnapshot, restore, type Sources } from "./restore.ts";
export { projectionsIn } from "./snapshot.ts";
export { fileSnapshots, memorySnapshots, SnapshotStore, sealed, unsealed } from "./store.ts";
