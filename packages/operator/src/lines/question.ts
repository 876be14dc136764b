/** Questions as lines for people. */
import type { z } from "zod";
import type { Say } from "../say.ts";
import type { questionShape } from "../shapes.ts";
import { oneLine } from "../text.ts";

type Question = Pick<z.infer<typeof questionShape>, "seq" | "from" | "question" | "lines" | "choices" | "explained">;

/** What is asked, what has to be seen, and how it is answered. */
export const questionLines = (asked: Question, say: Say): readonly string[] => [
	`? #${asked.seq} ${askerText(asked)} asks: ${oneLine(asked.question, 300)}`,
	...(asked.lines ?? []).map((line) => `    ${oneLine(line, 200)}`),
	`  answer with: ${say`answer ${String(asked.seq)}`} ${answersText(asked)}`,
];

/** Who asks: `turn 12`. */
export const askerText = ({ from: { kind, id } }: Pick<Question, "from">): string => `${kind} ${oneLine(id, 40)}`;

/** What may be said: `once|session|always|no`. */
export function answersText({ choices, explained }: Pick<Question, "choices" | "explained">): string {
	if (!choices) return '"…"';
	const words = choices.map((each) => (/^[\w-]+$/.test(each) ? each : JSON.stringify(oneLine(each, 60))));
	return [...words, ...[explained ?? []].flat().map((choice) => `"${choice}: …"`)].join("|");
}
