/** Generations of an application's text files, kept whole in the log: `@reyn/snapshot/files`. */
export {
	type FileGenerations,
	type FileGenerationsOptions,
	type FileStep,
	fileGenerations,
	type RestoredFiles,
} from "./generations.ts";
export { type Files, fileChanged, files } from "./records.ts";
