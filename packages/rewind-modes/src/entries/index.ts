/** The five rewinds on a journal of typed entries, in memory or in a directory, without the rest of Reyn: `@reyn/rewind-modes/entries`. */
export {
	type AppendEntry,
	type ApplyPlan,
	type Entries,
	type EntriesOptions,
	fileEntries,
	memoryEntries,
	type OfProcess,
	type PlanRewind,
} from "./entries.ts";
export type { Entry } from "./entry.ts";
export type { EntriesPlan } from "./plan.ts";
export type { EntryFold } from "./state.ts";
export { type EntryType, entryTypes } from "./types.ts";
