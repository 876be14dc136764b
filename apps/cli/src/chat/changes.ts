/** What differs between two moments, in colours; a text that has changed is drawn as a diff of its lines. */
import { patchOf } from "@reyn/operator";
import { oneLine } from "@reyn/operator/text";
import type { Change, StateDiff } from "@reyn/runtime";
import { coloured, type Line } from "../print.ts";

/** @param linesOf what is said of a difference: its head, then the names of projections and their changes */
export async function changeLines(
	diff: StateDiff,
	linesOf: (diff: StateDiff) => readonly string[],
): Promise<readonly Line[]> {
	const [head = "", ...rest] = linesOf(diff);
	const lines: Line[] = [coloured("bold", head)];
	for (const [name, changes] of Object.entries(diff.projections)) {
		if (changes.length > 0) lines.push(name);
		for (const change of changes) {
			if (isOfLines(change)) lines.push(...(await linesOfTexts(change)));
			else
				lines.push(
					...linesOf({ ...diff, projections: { [name]: [change] } })
						.slice(2)
						.map(inColour),
				);
		}
	}
	return lines.length > 1 ? lines : [...lines, ...rest];
}

interface OfLines {
	readonly path: readonly string[];
	readonly before: string;
	readonly after: string;
}

const isOfLines = (change: Change): change is Extract<Change, { kind: "changed" }> & OfLines =>
	change.kind === "changed" &&
	typeof change.before === "string" &&
	typeof change.after === "string" &&
	/\n/.test(change.before + change.after);

async function linesOfTexts({ path, before, after }: OfLines): Promise<readonly Line[]> {
	const patch = await patchOf(`${before}\n`, `${after}\n`);
	const head = inColour(`  ~ ${oneLine(path.join("."), 160)}`);
	if (!patch) return [head, `    too different: ${linesIn(before)} lines before, ${linesIn(after)} after`];
	const more = patch.more > 0 ? [`    … (${patch.more} more lines)`] : [];
	return [head, ...patch.lines.map((line) => inColour(`    ${line}`)), ...more];
}

const linesIn = (text: string): number => text.split("\n").length;

/** By the sign that it begins with: what went is red, what came is green. */
export function inColour(line: string): Line {
	switch (line.trimStart()[0]) {
		case "+":
			return coloured("green", line);
		case "-":
			return coloured("red", line);
		case "~":
		case "@":
			return coloured("cyan", line);
		default:
			return line;
	}
}
