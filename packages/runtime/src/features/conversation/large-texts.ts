/** Messages too large for the log: the log has their beginning, and the whole text lies beside it. */
import { readText, type SpilledText, spilledResults } from "@reyn/journal";
import { type BlobStore, codeOf, type Seq } from "@reyn/wal";
import { amongResults } from "../../kernel/store.ts";
import { type ConversationState, conversation, since } from "./conversation.ts";
import { assistantMessage } from "./records.ts";

/** Characters of the beginning. */
const SHOWN = 1000;

/** The text that stands in the log for a message kept beside it. */
export function beginningOf(text: string): string {
	// Drops half of a surrogate pair at the cut.
	const start = text.slice(0, SHOWN).replace(/[\uD800-\uDBFF]$/, "");
	return `${start}… (${Buffer.byteLength(text)} bytes in all)`;
}

/** The whole text of a message; if it is lost, its beginning. */
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

/** The texts before a turn that lie beside the log, by the seqs of their messages. */
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

/** Says which of these blobs records and states refer to. */
export const spilledMessages = amongResults({
	ofRecord: ({ kind, data }) =>
		kind === assistantMessage.kind ? spilledResults.ofText((data as { spilled?: SpilledText }).spilled) : [],

	ofView: (view) =>
		view
			.get(conversation)
			.items.toArray()
			.flatMap((item) => (item.type === "message" ? spilledResults.ofText(item.spilled) : [])),
});
