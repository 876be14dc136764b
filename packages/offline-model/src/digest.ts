/** Tells in short what was said: what each person asked, and how each answer began. */
import { excerpt } from "@reyn/tools/text";

/** Of more lines than these the newest count. */
const mostLines = 40;

/** @param record one line for what was said or done, `Person: …`, and more for the rest of what was said */
export function digest(record: string): string {
	const lines = record.split("\n").filter((line) => /^(?:Person|Agent|Note): /.test(line) || /^- /.test(line));
	const left = lines.length - mostLines;
	const shown = lines.slice(-mostLines).map((line) => `- ${excerpt(line.replace(/^- /, ""), 200, 0)}`);
	return [...(left > 0 ? [`- … ${left} more before`] : []), ...shown].join("\n");
}
