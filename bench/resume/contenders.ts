/** Who is compared. One more is one more entry. */
import type { Open } from "./work.ts";

export interface Contender {
	readonly name: string;
	/** The goals are for ours; its log is parsed beside its resume. */
	readonly ours?: true;
	/** It is given a database of a server, and not a directory. */
	readonly onServer?: true;
	/** What cannot be loaded is skipped. */
	load(): Promise<Open>;
}

/** The unit of all ratios of steps. */
export const RAW = "raw";
export const MODEL_CALLS = "reyn, model calls";
export const EFFECTS = "reyn, effects";
export const EFFECTS_WITH_OUTCOMES = "reyn, effects, each outcome waited for";
export const LANGGRAPH = "LangGraph, sqlite";
export const DBOS = "DBOS, PostgreSQL";

export const contenders: readonly Contender[] = [
	{ name: RAW, load: async () => (await import("./raw.ts")).openRaw },
	{ name: MODEL_CALLS, ours: true, load: async () => (await import("./reyn.ts")).openModelCalls },
	{ name: EFFECTS, ours: true, load: async () => (await import("./reyn.ts")).openEffects },
	{ name: EFFECTS_WITH_OUTCOMES, ours: true, load: async () => (await import("./reyn.ts")).openEffectsWithOutcomes },
	{ name: LANGGRAPH, load: async () => (await import("./langgraph.ts")).openLangGraph },
	{ name: DBOS, onServer: true, load: async () => (await import("./dbos.ts")).openDbos },
];
