/** Texts that are taken over from another moment: the answer that was the last one there. */
import type { View } from "@reyn/snapshot";
import type { BlobStore, Seq } from "@reyn/wal";
import type { z } from "zod";
import { RuntimeError } from "../../kernel/errors.ts";
import { conversation, since } from "./conversation.ts";
import { wholeText } from "./large-texts.ts";
import type { adoptedFrom } from "./records.ts";

/** A text of another moment, and where it comes from. */
export type Adoption = z.infer<typeof adoptedFrom> & { readonly text: string };

/** The last answer at a moment. @throws RuntimeError `RUNTIME_ADOPT` */
export async function answerAt(from: Seq, view: View, results: BlobStore): Promise<Adoption> {
	for (const [item] of since(view.get(conversation), 0)) {
		if (item.type !== "message" && (item.type !== "reply" || item.text === "")) continue;
		const text = item.type === "message" ? await wholeText(item, results) : item.text;
		return { from, source: { message: item.seq }, text };
	}
	throw new RuntimeError("RUNTIME_ADOPT", `nothing was answered at #${from} yet; give a moment behind an answer`, {
		from,
	});
}
