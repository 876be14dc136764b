/** What a chat asks before it does what a verb has shown: the preview, its answers, and what becomes of files. */
import type { Verb } from "@reyn/operator";
import type { FilesAlong } from "../config/options.ts";
import type { Question } from "./dialogs.ts";

export const NOT_TOUCHED = "Files in your workspace are not touched.";

/** What is shown of a verb before it is done. */
export interface Shown {
	readonly verb: Verb;
	readonly question: string;
	readonly lines: readonly string[];
	/** The same, as the verb has seen it. */
	readonly seen: object;
}

/** @param mode of those that the verb takes, in which it was looked at @param files are they to be offered? */
export function questionOn(
	{ verb, question, lines, seen }: Shown,
	mode: string | undefined,
	files: FilesAlong,
): Question {
	const isSaid =
		writesFiles(seen) || lines.some((line) => line.toLowerCase() === "files in your workspace are not touched");
	const row = filesRow(verb, seen, files);
	return {
		title: question.replace(/\?$/, ""),
		lines,
		answers: ["cancel", verb.name],
		...(isSaid ? {} : { note: NOT_TOUCHED }),
		...(row === undefined ? {} : { files: row }),
		...(mode === undefined ? {} : { other: `mode: ${mode} (Tab: another one)` }),
	};
}

/** Do files go along with a move? */
export const hasFiles = (seen: object): boolean => (seen as { readonly files?: object }).files !== undefined;

/** An adoption of one file has no others, and writes that one. */
const writesFiles = (seen: object): boolean =>
	hasFiles(seen) || (seen as { readonly file?: object }).file !== undefined;

/** Undefined: none could go along, or nobody wants to be asked. */
function filesRow({ params }: Verb, seen: object, files: FilesAlong): string | undefined {
	if (!params.files) return undefined;
	if (hasFiles(seen)) return "files: go back too (Ctrl-F: leave them as they are)";
	const { filesSince = 0 } = seen as { readonly filesSince?: number };
	if (filesSince === 0 || files === "never") return undefined;
	return `files: stay (Ctrl-F: take along; ${filesSince === 1 ? "1 was" : `${filesSince} were`} written since)`;
}
