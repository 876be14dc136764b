/** `sessions`, `transcript` and `search`: who talks, what was said, and where. */

import { counted } from "@reyn/rewind-modes/internal";
import { assistantMessage, conversation, userPrompt } from "@reyn/runtime";
import { z } from "zod";
import { scopeText } from "../lines/scope.ts";
import { type TranscriptFormat, transcriptFormats, transcriptLines } from "../lines/transcript.ts";
import { choice, text, word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { list, seq, session, stateShape } from "../shapes.ts";
import { messagesIn, viewAt } from "../state-report.ts";
import { oneLine } from "../text.ts";
import { readVerb } from "../verb.ts";
import { newest, session as sessionParam } from "./ref.ts";

const sessionShape = z.object({
	scope: session,
	/** The seq of its first message, and of its newest; 0: nothing was said yet. */
	first: seq,
	last: seq,
	messages: seq,
	/** What it began with. */
	title: z.string(),
});

export const sessions = readVerb({
	name: "sessions",
	summary: "the sessions of the current line of history, and what each began with",
	params: {},
	example: "",
	result: list(sessionShape),
	read: async (runtime) =>
		runtime.sessions().map((scope) => {
			const { items } = runtime.view(scope).get(conversation);
			const said = items.toArray().filter(({ type }) => type !== "calls" && type !== "result");
			const begun = said.find((item) => item.type === "prompt");
			const title = begun?.type === "prompt" ? oneLine(begun.text, 60) : "";
			return { scope, first: said[0]?.seq ?? 0, last: said.at(-1)?.seq ?? 0, messages: said.length, title };
		}),
	lines: (found) =>
		found.map(
			({ scope, last, messages, title }) =>
				`${scope.agent}/${scope.session}  ${counted(messages, "message")}, to #${last}${title === "" ? "" : `  ${title}`}`,
		),
});

export const transcript = readVerb({
	name: "transcript",
	summary: "what was said up to a moment",
	params: {
		ref: word("ref", "a ref, as for show", z.string().default("@")),
		session: sessionParam,
		format: choice<TranscriptFormat>("format", "how it is written", transcriptFormats, "text"),
		n: newest("only the newest so many messages"),
	},
	example: "@-2 --format md",
	result: z.object({ seq, session, ...stateShape.pick({ messages: true, more: true }).shape }),
	async read(runtime, { ref, session, n }) {
		const at = await parseRef(ref, runtime);
		const view = await viewAt(runtime, at, session);
		return { seq: at, session, ...messagesIn(view, n, ({ who }) => who !== "tools") };
	},
	lines: ({ session, seq: at, messages }, _say, { format }) =>
		transcriptLines(`${scopeText(session)}, up to #${at}`, messages, format),
});

/** The most places that a search gives: the newest. */
const MOST_FOUND = 100;

export const search = readVerb({
	name: "search",
	summary: "where something was said, on all lines of history, newest first",
	params: { words: text("words", "all of them, in any order; capitals do not matter", z.string().min(1)) },
	example: "recovery snapshot",
	result: z.object({
		found: list(z.object({ seq, active: z.boolean(), who: z.string(), text: z.string() })),
		/** Were there more than are given? */
		more: z.boolean(),
	}),
	async read({ wal, timeline }, { words }) {
		const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
		const found: { seq: number; active: boolean; who: string; text: string }[] = [];
		let more = false;
		for await (const record of wal.read({ after: Math.max(0, timeline.retainedFrom - 1) })) {
			const isPrompt = userPrompt.is(record);
			if (!isPrompt && !assistantMessage.is(record)) continue;
			const { text } = record.data;
			const lower = text.toLowerCase();
			if (!wanted.every((each) => lower.includes(each))) continue;
			const who = isPrompt ? "you" : "agent";
			found.push({ seq: record.seq, active: timeline.lineage.isActive(record), who, text });
			if (found.length > MOST_FOUND) {
				found.shift();
				more = true;
			}
		}
		return { found: found.reverse(), more };
	},
	lines({ found, more }, say) {
		if (found.length === 0) return ["nothing was said with these words"];
		const rows = found.map(
			({ seq, active, who, text }) => `#${seq} ${who}: ${oneLine(text, 90)}${active ? "" : "  (abandoned)"}`,
		);
		return [...rows, `${more ? `only the newest ${MOST_FOUND}; ` : ""}look at one with: ${say`show <seq>`}`];
	},
});
