/** Decides what a message in the chat needs: small talk, a lookup, or a plan. */
import { answer } from "./answer.ts";
import { errand } from "./errand.ts";
import { isError } from "./evidence.ts";
import { inquire, labelOf } from "./inquiry.ts";
import { investigate } from "./investigate.ts";
import { inEnglish } from "./languages.ts";
import { withNameQuoted } from "./named.ts";
import {
	asksForReferences,
	comparing,
	further,
	type Part,
	partsOf,
	refersBack,
	relates,
	sentencesOf,
} from "./parts.ts";
import { type PlanArgs, planFor, simplerPlan } from "./plan.ts";
import type { Draft } from "./reply.ts";
import type { Turn } from "./situation.ts";
import { smallTalk } from "./small-talk.ts";
import { extractTerms, termsOf } from "./terms.ts";

/** What to do with a message in the chat: talk, look it up, or plan. */
export function route(said: string, earlier: readonly string[], turn: Turn, tools: ReadonlySet<string>): Draft {
	const question = inEnglish(said);
	const planned = turn.lookups.filter(({ call, result }) => call.name === "plan" && result !== undefined);
	const started = planned
		.map(({ result = "" }) => /^plan (\S+) started/.exec(result)?.[1])
		.find((id) => id !== undefined);
	if (started !== undefined) {
		return {
			text: `Plan ${started} works on it in the background; the answer comes here when it is done. You can go on meanwhile.`,
		};
	}
	const talk = turn.rounds === 0 ? smallTalk(question) : undefined;
	if (talk !== undefined) return { text: talk };

	const own = errand(question, earlier, turn, tools);
	if (!("rest" in own)) return own;

	const subject = inContext(withNameQuoted(question), earlier.map(inEnglish).map(withNameQuoted));
	const inquiry = inquire(subject.text, {
		terms: subject.parts.length > 1 ? termsOf(subject.text) : (subject.parts[0]?.terms ?? termsOf(subject.text)),
	});
	if (inquiry.terms.length === 0 && !inquiry.overview) return { text: whatFor };
	const canLook = ["search", "list", "read"].some((name) => tools.has(name));
	if (!canLook)
		return { text: `I have no tools to look at files with, so I cannot say anything about ${inquiry.label}.` };

	if (subject.parts.length > 0 && wantsPlan(question, subject.parts) && tools.has("search")) {
		const plan = planFor(subject.goal, subject.parts, tools);
		const next = nextPlan(
			plan,
			planned.map(({ result = "" }) => result),
		);
		if (next !== undefined) return { calls: [{ name: "plan", args: next }] };
	}
	// A round that only proposed a plan, which was refused, does not count as a lookup.
	const looked = { ...own.rest, rounds: own.rest.rounds - planned.length };
	const move = investigate(inquiry, looked, tools);
	return move.kind === "look" ? { calls: move.calls } : { text: answer(move.inquiry, move.evidence) };
}

const whatFor = 'What shall I look for? Name a thing, such as "where is the config parsed?" or "what is a snapshot?".';

/** The plan, a simpler one after it was refused, or none. */
function nextPlan(plan: PlanArgs, results: readonly string[]): PlanArgs | undefined {
	if (results.length === 0) return plan;
	return results.length === 1 && isError(results[0] ?? "") ? simplerPlan(plan) : undefined;
}

interface Subject {
	readonly text: string;
	readonly goal: string;
	readonly parts: readonly Part[];
}

/** A question together with the one before it, when it makes no sense alone: "and where is it tested?" */
function inContext(question: string, earlier: readonly string[]): Subject {
	const alone = { text: question, goal: question, parts: partsOf(question) };
	const { strong } = extractTerms(question);
	const leans = /^\W*(?:and|but|also|what about|how about|or)\b/i.test(question);
	const follows =
		strong.length === 0
			? refersBack(question) || leans
			: // "Does it pour?" is a whole question; "and its valve?" is none.
				strong.length === 1 && (leans || /\b(?:its|their)\b/i.test(question));
	if (!follows || inquire(question).overview) return alone;
	const before = earlier.findLast((text) => smallTalk(text) === undefined && extractTerms(text).strong.length > 0);
	if (before === undefined) return alone;
	const previous = partsOf(before)[0] ?? { label: labelOf(termsOf(before)), terms: termsOf(before) };
	const part = further(previous, question);
	return { text: `${question} ${part.label}`, goal: `${question} (${part.label})`, parts: [part] };
}

const inDepth =
	/\b(?:in[- ]depth|thorough\w*|step[- ]by[- ]step|in the background|in detail|deep dive)\b|\b(?:make|write|create|draft) (?:me )?an? (?:plan|report)\b|^\W*(?:please )?(?:plan|investigate|report on)\b/i;
const toExplain = /\b(?:explain|describe|walk me through|summari[sz]e|analy[sz]e|review|overview|trace)\b/i;
const toLocate = /^\W*(?:where|which|who|when)\b/i;

/**
 * Does a question need a plan? Each sign of a large question has a weight, and 2 are enough: one strong sign (it compares, asks for
 * depth, or is several questions) or two weak ones. A single "where" or "who" about one or two subjects never needs one.
 */
function wantsPlan(question: string, parts: readonly Part[]): boolean {
	const several = parts.length > 1;
	const asked = sentencesOf(question).length;
	if (toLocate.test(question) && parts.length < 3 && asked < 2) return false;
	const signs: readonly (readonly [boolean, number])[] = [
		[comparing.test(question) && several, 2],
		[inDepth.test(question), 2],
		[toExplain.test(question), 1],
		[asksForReferences(question), 1],
		[relates(question) && several, 1],
		[asked > 1 && several, 2],
		[several, 1],
		[parts.length > 2, 1],
	];
	return signs.reduce((sum, [shown, weight]) => sum + (shown ? weight : 0), 0) >= 2;
}
