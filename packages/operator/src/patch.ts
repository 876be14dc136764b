/** How two texts differ, as the lines of a patch. */

/** Of a longer one the beginning is given. */
const MOST_LINES = 200;
/** Texts in which more lines came and went are too different to be compared: that takes their square. */
const MOST_CHANGED = 1000;

export interface Patch {
	readonly lines: readonly string[];
	/** How many are left out. */
	readonly more: number;
}

/** Undefined: they are too different. */
export async function patchOf(before: string, after: string): Promise<Patch | undefined> {
	// Late: few verbs compare texts.
	const { structuredPatch } = await import("diff");
	const patch = structuredPatch("", "", before, after, "", "", { context: 3, maxEditLength: MOST_CHANGED });
	if (!patch) return undefined;
	const all = patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
		`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
		...lines,
	]);
	return { lines: all.slice(0, MOST_LINES), more: Math.max(0, all.length - MOST_LINES) };
}
