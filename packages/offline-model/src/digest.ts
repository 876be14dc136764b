/** Tells in short what was said: what each person asked, and how each answer began. */
import { excerpt } from "@reyn/tools/text";

/** Of more lines than these, questions not counted, the newest count. */
const mostLines = 40;

const asked = /^(?:- )?Person: /;

/** @param record one line for what was said or done, `Person: …`, and more for the rest of what was said */
export function digest(record: string): string {
	const lines = record.split("\n").filter((line) => /^(?:Person|Agent|Note): /.test(line) || /^- /.test(line));
	let left = lines.filter((line) => !asked.test(line)).length - mostLines;
	const head = left > 0 ? [`- … ${left} more before`] : [];
	const shown = lines.filter((line) => asked.test(line) || left-- <= 0);
	return [...head, ...shown.map((line) => `- ${excerpt(line.replace(/^- /, ""), 200, 0)}`)].join("\n");
}

/** What a person asked, from a text that {@link digest} made. */
export const askedIn = (text: string): readonly string[] =>
	text.split("\n").flatMap((line) => (/^- Person: /.test(line) ? [line.replace(asked, "")] : []));
