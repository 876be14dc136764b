/** Finds the name that a question is about where that is also a common word: "where is sum defined?", "wo ist list?". */
import { inquire } from "./inquiry.ts";
import { refersBack } from "./parts.ts";
import { extractTerms, type Token, termOf, tokens, weakWeight } from "./terms.ts";

/** The question with that name in quotes, so that it is looked for as any other; as it was where it has none. */
export function withNameQuoted(question: string): string {
	const name = asked(question) ?? left(question);
	if (name === undefined) return question;
	const end = name.from + name.text.length;
	return `${question.slice(0, name.from)}\`${name.text}\`${question.slice(end)}`;
}

const kind = "(?:functions?|methods?|class|type|interface|variable|constant|macro|command)";
const defined = "(?:defined|declared|implemented|exported|written)";
const isAt = `[Ww]here(?:'s| is| are)?`;
const wanted = `(?:${kind} (?<after>\\S+)|(?<before>\\S+) ${kind}|(?<bare>\\S+))`;

/** The whole question is about one word, whatever that means elsewhere. */
const frames = [
	new RegExp(`^\\W*${isAt} (?:the )?${wanted} ${defined}\\W*$`, "u"),
	new RegExp(`^\\W*${isAt} ${defined} (?:the )?${wanted}\\W*$`, "u"),
	new RegExp(`^\\W*[Ww]hat (?:does|do) (?:the )?${wanted} (?:do|mean|return|take)\\W*$`, "u"),
	new RegExp(`^\\W*[Ww]hat (?:does|do) (?:the )?${kind} (?<after>\\S+)\\W*$`, "u"),
];
const pronoun =
	/^(?:i|you|he|she|it|its|we|they|them|me|us|one|ones|this|that|these|those|here|there|each|everything|anything|something|nothing|every\w*|any(?:one|body)|some(?:one|body)|nobody|who|whom|what|where|when|why|how|which)$/i;
const determiner =
	/^(?:an?|the|all|any|some|both|other|another|first|last|next|same|own|new|old|more|most|many|few|main|whole)$/i;
/** What the files are as a whole, which "what does this project do?" asks for. */
const whole =
	/^(?:projects?|packages?|librar(?:y|ies)|program|software|application|system|repo|repository|code|codebase|files?|folders?|director(?:y|ies)|modules?|tests|docs|documentation)$/i;

function asked(question: string): Token | undefined {
	const { after, before, bare } = frames.map((frame) => frame.exec(question)?.groups).find((found) => found) ?? {};
	const [name] = tokens((after ?? before ?? bare ?? "").replace(/[?!.,]+$/, ""));
	if (name === undefined || name.quoted || pronoun.test(name.text) || whole.test(name.text)) return undefined;
	if (after === undefined && determiner.test(name.text) && (before !== undefined || /^(?:an?|the)$/i.test(name.text)))
		return undefined;
	return isCommon(name) ? tokens(question).findLast(({ text }) => text === name.text) : undefined;
}

const isCommon = (token: Token): boolean => (termOf(token)?.weight ?? weakWeight) === weakWeight;

/** What code is often called, and what one also says to somebody who looks things up. */
const nameable =
	/^(?:compare|contrast|cite|contains?|describe|explain|find|get|give|keep|list|look|make|quote|relate|search|show|sum|summari[sz]e|take|tell|try|walk)$/i;
const said = /^(?:i|you|we|they|he|she|to|me|us|an?|please|and|then|can|could|would|will|do|let|let's|also|just)$/i;

/** The only word that is left: not what the question begins with, nor what somebody does. */
function left(question: string): Token | undefined {
	const all = tokens(question);
	const last = all.at(-1);
	if (last !== undefined && nameable.test(last.text) && !last.quoted && all.at(-2)?.text === "about") return last;
	if (extractTerms(question).strong.length > 0 || refersBack(question) || inquire(question).overview) return undefined;
	const found = all.filter(
		({ text, quoted }, at) =>
			!quoted && nameable.test(text) && (at === 0 ? all.length === 1 : !said.test(all[at - 1]?.text ?? "")),
	);
	return found.length === 1 ? found[0] : undefined;
}
