/** Who is compared. One more store is one more entry. */
import type { OpenAgent } from "./agent.ts";
import type { MessageKind } from "./messages.ts";

export interface Contender {
	readonly name: string;
	/** The goals are for ours. */
	readonly ours?: true;
	readonly messages: MessageKind;
	/** How many checkpoints are measured alone, where they can be. */
	readonly checkpoints?: number;
	/** What cannot be loaded is skipped. */
	load(): Promise<OpenAgent>;
}

export const LANGGRAPH = "LangGraph, sqlite";
export const LANGGRAPH_DELTA = "LangGraph, sqlite, delta channels";

export const contenders: readonly Contender[] = [
	{ name: LANGGRAPH, messages: "prose", load: async () => (await import("./langgraph.ts")).openDefault },
	{ name: LANGGRAPH_DELTA, messages: "prose", load: async () => (await import("./langgraph.ts")).openDelta },
	{
		name: "whole snapshots",
		messages: "prose",
		checkpoints: 8,
		load: async () => (await import("./reyn.ts")).openWhole,
	},
	{
		name: "reyn",
		ours: true,
		messages: "prose",
		// So many that one of them stores a snapshot.
		checkpoints: 256,
		load: async () => (await import("./reyn.ts")).openReyn,
	},
	{ name: "reyn, random text", messages: "random", load: async () => (await import("./reyn.ts")).openReyn },
];
