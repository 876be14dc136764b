/**
 * LangGraph as one sets it up to lose nothing: `durability: "sync"`, and `synchronous = FULL` in the database of its sqlite
 * saver. Its functional API, an entrypoint that calls a task for each step: what a task gives is a row of its own, where each
 * step of a graph would be a checkpoint of the whole state.
 */
import { join } from "node:path";
import { entrypoint, task } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import type { Input, Open } from "./work.ts";

export const openLangGraph: Open = async (directory, work, call) => {
	const database = new Database(join(directory, "langgraph.db"));
	database.pragma("journal_mode = WAL");
	database.pragma("synchronous = FULL");
	const step = task("step", call);
	const workflow = entrypoint({ name: "work", checkpointer: new SqliteSaver(database) }, (input: Input) =>
		work(input, async (index) => step(index)),
	);
	const at = (name: string) => ({ configurable: { thread_id: name }, durability: "sync" as const });
	return {
		async start(name, input) {
			await workflow.invoke(input, at(name));
		},
		async resume(name) {
			// Without an input it goes on with the thread, and not from its beginning.
			await workflow.invoke(null as never, at(name));
		},
	};
};
