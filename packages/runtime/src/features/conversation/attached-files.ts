/** Says which attached files records and states of a conversation refer to: those of prompts, and of what tools have answered. */
import type { AttachedFile } from "@reyn/journal";
import { attachedNames } from "@reyn/journal/internal";
import { amongFiles } from "../../kernel/store.ts";
import { conversation } from "./conversation.ts";
import { userPrompt } from "./records.ts";

export const attachedToMessages = amongFiles({
	// The steps of tools are the journal's.
	ofRecord: ({ kind, data }) =>
		kind === userPrompt.kind ? attachedNames.of((data as { files?: readonly AttachedFile[] }).files) : [],

	ofView: (view) =>
		view
			.get(conversation)
			.items.toArray()
			.flatMap((item) => ("files" in item ? attachedNames.of(item.files) : [])),
});
