/** The five rewind modes, as one table: what each takes back, and how that reads. */
import { RewindError } from "./errors.ts";
import type { Facet, Facets } from "./facets.ts";

export const rewindModes = ["both", "conversation_only", "code_only", "summarize", "cancel"] as const;

export type RewindMode = (typeof rewindModes)[number];

export interface Meaning {
	/** The facets that go back to the target. */
	readonly drops: readonly Facet[];
	/** The meaning in words, for people. */
	readonly says: string;
}

export const meanings: Readonly<Record<RewindMode, Meaning>> = {
	both: { drops: ["conversation", "code", "other"], says: "conversation and agent state go back to the target" },
	conversation_only: { drops: ["conversation"], says: "the conversation goes back, agent state and tool results stay" },
	code_only: { drops: ["code"], says: "agent state and tool results go back, the conversation stays" },
	summarize: { drops: [], says: "all stays, and a note that sums up the interval joins the conversation" },
	cancel: { drops: [], says: "nothing changes, and nothing is written" },
};

/**
 * The meaning of a mode. The name is checked, since it may come from outside.
 *
 * @throws RewindError `REWIND_MODE`
 */
export function meaningOf(mode: RewindMode): Meaning {
	if (rewindModes.includes(mode)) return meanings[mode];
	throw new RewindError(
		"REWIND_MODE",
		`there is no mode ${JSON.stringify(mode)}; there are ${rewindModes.join(", ")}`,
		{
			mode,
			modes: rewindModes,
		},
	);
}

/**
 * The kinds that a reset of this mode lists. Undefined means all, so that kinds of later versions are covered too.
 *
 * @throws RewindError `REWIND_MODE`
 */
export function dropOf(mode: RewindMode, facets: Facets): readonly string[] | undefined {
	meaningOf(mode);
	switch (mode) {
		case "conversation_only":
			return facets.conversation;
		case "code_only":
			return facets.code;
		case "both":
		case "summarize":
		case "cancel":
			return undefined;
	}
}
