/** Answers what was asked before in this conversation. */
import { excerpt, showCount } from "@reyn/tools/text";
import type { Recogniser } from "./errand.ts";

const asksBack =
	/\b(?:what|which|repeat|show me)\b.*\b(?:(?:did|have|do) i (?:just )?(?:ask|asked|say|said|want)|(?:was|were|is|are) my (?:\w+ )?(?:questions?|messages?)|my (?:\w+ )?questions?(?: again)?$|i (?:just )?asked|questions? (?:did|have) i)\b/i;
const howMany = /\bhow many (?:questions?|things) (?:did|have) i\b/i;

const places: readonly (readonly [RegExp, "first" | "second" | "third" | "last"])[] = [
	[/\b(?:first|at the beginning|begin with|initially)\b/i, "first"],
	[/\bsecond\b/i, "second"],
	[/\bthird\b/i, "third"],
	[/\b(?:last|before|previous|previously|just|earlier question)\b/i, "last"],
];

/** "What did I ask first?" */
export const recalling: Recogniser = (question, earlier) => {
	const counts = howMany.test(question);
	if (!counts && !asksBack.test(question)) return undefined;
	return () => ({ text: counts ? countOf(earlier) : told(question, earlier) });
};

const countOf = (earlier: readonly string[]): string =>
	earlier.length === 0 ? "None before this one." : `${showCount(earlier.length, "question")} before this one.`;

function told(question: string, earlier: readonly string[]): string {
	if (earlier.length === 0) return "Nothing: this is the first question of this conversation.";
	const place = places.find(([pattern]) => pattern.test(question))?.[1];
	if (place === undefined) {
		const shown = earlier.slice(-12);
		const head = shown.length < earlier.length ? `You asked, the last ${shown.length}:` : "You asked:";
		return [head, ...shown.map((text) => `- ${quoted(text)}`)].join("\n");
	}
	const asked = place === "last" ? earlier.at(-1) : earlier[{ first: 0, second: 1, third: 2 }[place]];
	return asked === undefined
		? `There were only ${showCount(earlier.length, "question")} before this one.`
		: `You asked ${place}: ${quoted(asked)}`;
}

const quoted = (text: string): string => `“${excerpt(text.replace(/\s+/g, " "), 280)}”`;
