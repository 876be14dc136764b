/** Tools that look at one directory and never leave it: list, search, read. */
export { type ToolCode, ToolError } from "./errors.ts";
export { createFileTools, type FileToolOptions } from "./file-tools.ts";
export { type DirectoryInstructions, instructionsIn } from "./instructions.ts";
export type { RootOptions } from "./root-directory.ts";
export { topicsOf } from "./topics.ts";
export { createWorkFiles, type WorkFilesOptions } from "./work-files.ts";
