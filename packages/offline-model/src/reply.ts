/** The whole model as one pure function: a request in, a text or tool calls out. */
import { createHash } from "node:crypto";
import type { ModelRequest, ToolCall } from "@reyn/journal";
import { answer, findings } from "./answer.ts";
import { digest } from "./digest.ts";
import { errand } from "./errand.ts";
import { extract } from "./extract.ts";
import { unseen, withoutFiles } from "./files.ts";
import { type Inquiry, inquire } from "./inquiry.ts";
import { investigate } from "./investigate.ts";
import { inEnglish } from "./languages.ts";
import { withNameQuoted } from "./named.ts";
import { partsOf } from "./parts.ts";
import { route } from "./router.ts";
import { recognise, type Step, type Turn } from "./situation.ts";
import { synthesise } from "./synthesis.ts";
import { distinct, termsOf } from "./terms.ts";

/** What the model answers to one request. */
export interface Reply {
	readonly text: string;
	readonly calls: readonly ToolCall[];
}

/** A reply whose calls have no ids yet. */
export interface Draft {
	readonly text?: string;
	readonly calls?: readonly { readonly name: string; readonly args: unknown }[];
}

/** Pure: the same request gets the same reply, down to the ids of its calls. */
export function reply(given: ModelRequest): Reply {
	const { request, files } = withoutFiles(given);
	const { text: said = "", calls = [] } = draft(request);
	const text = calls.length > 0 ? said : [...unseen(files), said].join("\n\n");
	// A hash of the messages makes ids that differ within a session and are the same in a replay.
	const id = createHash("sha256").update(JSON.stringify(request.messages)).digest("hex").slice(0, 12);
	return { text, calls: calls.map(({ name, args }, index) => ({ id: `call_${id}_${index + 1}`, name, args })) };
}

function draft(request: ModelRequest): Draft {
	if (request.purpose === "compaction") return { text: digest(request.messages.map(({ text }) => text).join("\n")) };
	const tools = new Set(request.tools.map(({ name }) => name));
	const situation = recognise(request);
	switch (situation.kind) {
		case "router":
			return route(situation.question, situation.earlier, situation.turn, tools);
		case "step":
			if (!canLook(tools)) return { text: synthesise(situation.step) };
			return look(inquiryOf(situation.step, tools), situation.turn, tools, findings);
		case "task": {
			if (!canLook(tools)) return { text: extract(situation.instruction) };
			const instruction = inEnglish(situation.instruction.slice(0, 400));
			const own = errand(instruction, [], situation.turn, tools);
			return "rest" in own ? look(inquire(withNameQuoted(instruction)), own.rest, tools, answer) : own;
		}
	}
}

const canLook = (tools: ReadonlySet<string>): boolean => ["list", "search", "read"].some((name) => tools.has(name));

function look(inquiry: Inquiry, turn: Turn, tools: ReadonlySet<string>, write: typeof answer): Draft {
	const move = investigate(inquiry, turn, tools);
	return move.kind === "look" ? { calls: move.calls } : { text: write(move.inquiry, move.evidence) };
}

function inquiryOf({ description, goal }: Step, tools: ReadonlySet<string>): Inquiry {
	const map = tools.has("list") && (!tools.has("search") || /^(?:list|overview|survey|map)\b/i.test(description));
	const label = /“([^”]+)”/.exec(description)?.[1];
	const own = partsOf(label ?? description).flatMap((part) => part.terms);
	const named = own.length > 0 ? own : termsOf(label ?? description);
	const terms = distinct(named.length > 0 ? named : termsOf(goal));
	return { ...inquire(description, { terms, ...(label === undefined ? {} : { label }) }), overview: map };
}
