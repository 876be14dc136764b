/** What was changed in files, for people. */
import type { ChangedFile, ChangedFiles, DifferentFile } from "../changed-files.ts";
import { asLine, oneLine } from "../text.ts";
import { scopeText } from "./scope.ts";

export function filesText({ since, files, asBefore, uncovered }: ChangedFiles): readonly string[] {
	const from = since === 0 ? "since the beginning" : `since #${since}`;
	const count = files.length === 0 ? "no file differs" : `${files.length} ${files.length === 1 ? "file" : "files"}`;
	return [
		`${from}: ${count}`,
		...files.flatMap(fileText),
		...(asBefore.length > 0 ? [`changed, and as before: ${oneLine(asBefore.join(", "), 300)}`] : []),
		...uncovered.map(uncoveredText),
	];
}

export const uncoveredText = ({ name, calls }: ChangedFiles["uncovered"][number]): string =>
	`not covered: ${calls} ${calls === 1 ? "call" : "calls"} of ${oneLine(name, 60)}, whatever files ${calls === 1 ? "it" : "they"} changed`;

const signs = { made: "+", changed: "~", removed: "-", unknown: "?" } as const;

function fileText({ by, others, ...file }: ChangedFile): readonly string[] {
	const notes = others.between ? ["changed in between by somebody else"] : [];
	// That it is there, or is not, is what was done to it last.
	if (others.since === true && (file.change === "made" || file.change === "removed"))
		return linesOf(file, ` by somebody else${byText(by, "after")}`, notes);
	return linesOf(file, byText(by, "by"), [
		...notes,
		...(others.since === true ? ["changed since by somebody else"] : []),
	]);
}

/** Of files that differ between two moments. */
export const differentFilesText = (files: readonly DifferentFile[]): readonly string[] =>
	files.flatMap(({ others, ...file }) =>
		linesOf(file, "", others ? ["somebody else has changed it since, so it is shown as it is now"] : []),
	);

function linesOf(
	{ path, change, modes, diff = [], more, why }: Omit<DifferentFile, "others">,
	by: string,
	who: readonly string[],
): readonly string[] {
	const notes = [
		...(modes ? [`permissions ${modes.before.toString(8)}, now ${modes.now.toString(8)}`] : []),
		...who,
		...(why === undefined ? [] : [why]),
	];
	return [
		`${signs[change]} ${oneLine(path, 200)}  ${change === "unknown" ? "touched" : change}${by}`,
		...notes.map((note) => `    ${oneLine(note, 300)}`),
		...diff.map((line) => `    ${asLine(line).slice(0, 200)}`),
		...(more === undefined ? [] : [`    … (${more} more lines)`]),
	];
}

/** ` by default/main turn 12 (#14, #16)`. */
function byText(by: ChangedFile["by"], how: "by" | "after"): string {
	const works = Map.groupBy(by, ({ scope, lane }) => `${scopeText(scope)} ${lane.split("/").slice(0, 2).join(" ")}`);
	const texts = [...works].map(
		([work, all]) => `${work} (${all.map(({ seq, inDoubt }) => `#${seq}${inDoubt ? " in doubt" : ""}`).join(", ")})`,
	);
	return texts.length > 0 ? `${how === "by" ? "" : ","} ${how} ${texts.join(", ")}` : "";
}
