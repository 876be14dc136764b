/** Which record kinds are talk and which are work. A kind in neither list is dropped by `both` alone. */
export interface Facets {
	/** What was said: prompts, replies, notes. */
	readonly conversation: readonly string[];
	/** Agent state and tool results; never the files of the user's workspace. */
	readonly code: readonly string[];
}

export type Facet = "conversation" | "code" | "other";

export function facetOf(kind: string, { conversation, code }: Facets): Facet {
	if (conversation.includes(kind)) return "conversation";
	return code.includes(kind) ? "code" : "other";
}
