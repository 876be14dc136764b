/**
 * LangGraph as one sets it up to lose nothing: `durability: "sync"`, and `synchronous = FULL` in the database of its sqlite
 * saver. As the saver comes, the database runs in WAL mode with NORMAL, and no step is synced. An agent of one node that
 * loops, so each step is a checkpoint.
 */
import { join } from "node:path";
import { Annotation, type BaseChannel, DeltaChannel, END, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import type { Message, OpenAgent, Place } from "./agent.ts";

type Messages = readonly Message[];

const STEP = "step";
const thread = { thread_id: "agent", checkpoint_ns: "" };
const at = (place: Place) => ({ configurable: { ...thread, checkpoint_id: place } });

/** A channel with a reducer that appends: each checkpoint has all of its value. */
export const openDefault: OpenAgent = langGraphOver(() =>
	Annotation<Messages>({ reducer: (all, more) => all.concat(more), default: () => [] }),
);

/** A channel of which a checkpoint has what is new, and the whole at every 1000th update. In beta. */
export const openDelta: OpenAgent = langGraphOver(
	() => new DeltaChannel<Messages, Messages>((all, more) => all.concat(...more)),
);

function langGraphOver(channel: () => BaseChannel<Messages>): OpenAgent {
	return async (directory) => {
		const database = new Database(join(directory, "langgraph.db"));
		database.pragma("journal_mode = WAL");
		database.pragma("synchronous = FULL");
		let [messages, next]: [Messages, number] = [[], 0];
		let begins = (): void => {};
		const graph = new StateGraph(Annotation.Root({ messages: channel }))
			.addNode(STEP, () => {
				begins();
				return { messages: messages.slice(next, ++next) };
			})
			.addEdge(START, STEP)
			.addConditionalEdges(STEP, () => (next < messages.length ? STEP : END))
			.compile({ checkpointer: new SqliteSaver(database) });
		const stateOf = async (config: Parameters<typeof graph.getState>[0]): Promise<Messages> =>
			(await graph.getState(config)).values.messages;
		return {
			async run(said, eachBegins) {
				[messages, next, begins] = [said, 0, eachBegins];
				// The entry is a step too, and one more than the limit is an error.
				const limits = { recursionLimit: messages.length + 2, durability: "sync" as const };
				await graph.invoke({ messages: [] }, { configurable: thread, ...limits });
				if (database.pragma("synchronous", { simple: true }) !== 2) throw new Error("synchronous = FULL did not last");
				const ids = database.prepare("SELECT checkpoint_id FROM checkpoints ORDER BY checkpoint_id").pluck().all();
				return ids.slice(-messages.length) as string[];
			},
			past: (place) => stateOf(at(place)),
			async hold(place) {
				messages = await stateOf(at(place));
				return () => {
					messages = [];
				};
			},
			async fork(place, message) {
				await graph.updateState(at(place), { messages: [message] }, STEP);
				return stateOf({ configurable: thread });
			},
			async close() {
				database.close();
			},
		};
	};
}
