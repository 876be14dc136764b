/** What a directory tells the agents that work in it: its `AGENTS.md`, or else its `CLAUDE.md`. */
import { codeOf } from "@reyn/wal";
import { ToolError } from "./errors.ts";
import { openRoot, type RootOptions } from "./root-directory.ts";
import { readText, showBytes } from "./text-file.ts";

/** The first that is there counts. */
const names = ["AGENTS.md", "CLAUDE.md"];

/** More of it is not given to a model: each request would be paid for with it. */
const maxBytes = 32_000;

export interface DirectoryInstructions {
	/** The name of the file. */
	readonly name: string;
	/** Where there are more than 32 KB, the whole lines of the first 32 KB, and a line that says so. */
	readonly text: string;
}

/**
 * The instructions of a directory, read as the file tools read: no links, nothing that is closed. Undefined where there are none.
 *
 * @throws ToolError `TOOL_NOT_TEXT` for a binary file, `TOOL_UNREADABLE`, `TOOL_UNSAFE_PATHS`
 */
export async function instructionsIn(
	root: string,
	options: RootOptions = {},
): Promise<DirectoryInstructions | undefined> {
	const directory = await openRoot(root, options);
	for (const name of names) {
		const file = await directory.file([name]).catch((error: unknown) => {
			if (["TOOL_NOT_FOUND", "TOOL_OUTSIDE_ROOT"].includes(codeOf(error) ?? "")) return undefined;
			throw error;
		});
		if (file === undefined) continue;
		const read = await readText(file, maxBytes, "begin");
		if (read.kind !== "text") throw new ToolError("TOOL_NOT_TEXT", `${name} is a binary file`);
		const text = file.bytes > maxBytes ? shortened(read.text, file.bytes) : read.text;
		if (text.trim() !== "") return { name, text: text.trim() };
	}
	return undefined;
}

function shortened(begin: string, bytes: number): string {
	const lines = begin.slice(0, begin.lastIndexOf("\n") + 1) || begin;
	return `${lines.trimEnd()}\n[cut: the first ${showBytes(maxBytes)} of ${showBytes(bytes)}]`;
}
