/** Five ways to rewind an agent, previewed before they are applied. Originals are never edited. */
export { type ApplyOptions, applyRewind, type RewindResult } from "./apply-rewind.ts";
export { type RewindCode, RewindError } from "./errors.ts";
export { type Facet, type Facets, facetsOf } from "./facets.ts";
export { type RewindMode, rewindModes } from "./modes.ts";
export { type Counts, previewRewind, type RewindPreview } from "./preview-rewind.ts";
export { rewindNote, rewindRecords } from "./records.ts";
