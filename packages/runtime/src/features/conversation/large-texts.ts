/** Messages that are too large for the log: how one begins stands there, and the whole of it lies beside the log. */
import { readText, type SpilledText, spilledResults } from "@reyn/journal";
import { type BlobStore, codeOf, type Seq } from "@reyn/wal";
import { amongResults } from "../../kernel/store.ts";
import { type ConversationState, conversation, since } from "./conversation.ts";
import { assistantMessage } from "./records.ts";

/** In characters. */
const SHOWN = 1000;

/** What stands in the log for a text that is kept beside it. */
export function beginningOf(text: string): string {
	// Not the first half of a character.
	const start = text.slice(0, SHOWN).replace(/[\uD800-\uDBFF]$/, "");
	return `${start}… (${Buffer.byteLength(text)} bytes in all)`;
}

/** The text of a message; of one that is lost, how it begins. */
export async function wholeText(
	{ text, spilled }: { readonly text: string; readonly spilled?: SpilledText | undefined },
	results: BlobStore,
): Promise<string> {
	if (!spilled) return text;
	try {
		return await readText(spilled, results);
	} catch (error) {
		if (codeOf(error) !== "RESULT_LOST") throw error;
		return text;
	}
}

/** The texts of a conversation before a turn that lie beside the log, by the seqs of their messages. */
export async function wholeTextsBefore(
	state: ConversationState,
	turn: Seq,
	results: BlobStore,
): Promise<ReadonlyMap<Seq, string>> {
	const found: Promise<readonly [Seq, string]>[] = [];
	for (const [item] of since(state, 0))
		if (item.type === "message" && item.spilled && item.seq < turn)
			found.push(wholeText(item, results).then((text) => [item.seq, text] as const));
	return new Map(await Promise.all(found));
}

/** Which of them records and states refer to. */
export const spilledMessages = amongResults({
	ofRecord: ({ kind, data }) =>
		kind === assistantMessage.kind ? spilledResults.ofText((data as { spilled?: SpilledText }).spilled) : [],

	ofView: (view) =>
		view
			.get(conversation)
			.items.toArray()
			.flatMap((item) => (item.type === "message" ? spilledResults.ofText(item.spilled) : [])),
});
