/** `read`: the lines of one file, or an image or a PDF as it is. */
import { defineTool, type Tool, type ToolAnswer, type ToolContext } from "@reyn/journal";
import { MOST_FILE_BYTES, mediaTypeOf } from "@reyn/journal/internal";
import { z } from "zod";
import { ToolError } from "./errors.ts";
import type { Workspace } from "./file-tools.ts";
import { maxPathLength, type OpenFile, parsePath, placeOf, showPath } from "./root-directory.ts";
import { beginningOf, readText, showBytes, showCount, splitLines, versionOf } from "./text-file.ts";

const maxOutputBytes = 16_000;
const maxLineLength = 2_000;

const schema = z.strictObject({
	path: z.string().min(1).max(maxPathLength).describe("File to read, relative to the root, such as src/index.ts"),
	from: z.int().min(1).default(1).describe("First line to show"),
	lines: z.int().min(1).max(2_000).default(200).describe("How many lines to show"),
});

/** `read`: the lines of one file, numbered; an image or a PDF is shown to the model. */
export function readFile(workspace: Workspace): Tool {
	return defineTool({
		name: "read",
		description:
			"Read a text file. Lines come numbered as `N| text`; long files come in pieces: go on with `from`. An image or a PDF is shown as it is.",
		input: schema,
		purity: "world",
		wants: async ({ path }) => [{ action: "read", ...placeOf(path) }],
		async call({ path, from, lines: wanted }, { signal, attach }) {
			const root = await workspace.root();
			const name = showPath(parsePath(path).join("/"));
			const opened = await root.file(parsePath(path));
			const shown = attach && (await attached(name, opened, attach));
			if (shown) return shown;
			const file = await readText(opened, workspace.maxFileBytes);
			const version = file.kind === "text" && workspace.writes ? `, version ${versionOf(file.bytes)}` : "";
			signal.throwIfAborted();
			if (file.kind === "binary") throw new ToolError("TOOL_NOT_TEXT", `${name} is a binary file`);
			if (file.kind === "tooLarge") {
				const sizes = `${showBytes(file.bytes)}; files above ${showBytes(workspace.maxFileBytes)} are not read`;
				throw new ToolError("TOOL_TOO_LARGE", `${name} has ${sizes}`);
			}

			const lines = splitLines(file.text);
			if (lines.length === 0) return `${name} is empty${version}`;
			if (from > lines.length) {
				throw new ToolError("TOOL_INVALID_ARGS", `read: "from": ${name} has only ${showCount(lines.length, "line")}`);
			}
			const rows = numbered(lines.slice(from - 1, from - 1 + wanted), from);
			const last = from + rows.length - 1;
			const rest = lines.length - last;
			const more = rest > 0 ? [`… ${showCount(rest, "more line")}; go on with from=${last + 1}`] : [];
			return [`${name} (lines ${from}-${last} of ${lines.length}${version})`, ...rows, ...more].join("\n");
		},
	});
}

/** The answer that shows an image or a PDF, and closes it; undefined: the file is none, and stays open. @throws ToolError `TOOL_TOO_LARGE` */
async function attached(
	name: string,
	{ handle, bytes }: OpenFile,
	attach: NonNullable<ToolContext["attach"]>,
): Promise<ToolAnswer | undefined> {
	let isOurs = true;
	try {
		const mediaType = mediaTypeOf(await beginningOf(handle, Math.min(bytes, 16)));
		isOurs = mediaType !== undefined;
		if (!isOurs) return undefined;
		if (bytes > MOST_FILE_BYTES) {
			const sizes = `${showBytes(bytes)}; of ${mediaType} up to ${showBytes(MOST_FILE_BYTES)} are shown`;
			throw new ToolError("TOOL_TOO_LARGE", `${name} has ${sizes}`);
		}
		const file = await attach(name, await beginningOf(handle, bytes));
		return { text: `${name} (${mediaType}) is shown:`, files: [file] };
	} finally {
		if (isOurs) await handle.close();
	}
}

/** As many lines as fit, at least one. */
function numbered(lines: readonly string[], from: number): readonly string[] {
	const shown: string[] = [];
	let bytes = 0;
	for (const [index, line] of lines.entries()) {
		const text = `${from + index}| ${cut(line)}`;
		bytes += Buffer.byteLength(text) + 1;
		if (shown.length > 0 && bytes > maxOutputBytes) break;
		shown.push(text);
	}
	return shown;
}

function cut(line: string): string {
	if (line.length <= maxLineLength) return line.toWellFormed();
	return `${line.slice(0, maxLineLength).toWellFormed()}… (${showCount(line.length - maxLineLength, "more character")})`;
}
