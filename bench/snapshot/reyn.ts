/** Our log with its timeline: once as it is meant, and once with the whole state stored at each step, as one does it first. */
import { join } from "node:path";
import { type AnyProjection, capture, defineProjection, fileSnapshots, List, View } from "@reyn/snapshot";
import { openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { type Appended, defineRecord, openWal, type Wal } from "@reyn/wal";
import { z } from "zod";
import type { Agent, Message, OpenAgent, Place } from "./agent.ts";

const scope = { agent: "default", session: "main" };
const messageSchema = z.object({ role: z.string(), text: z.string() });
const messageAdded = defineRecord("message_added", messageSchema);

const listed = defineProjection({
	name: "conversation",
	version: 1,
	schema: z.object({ turns: z.int() }),
	lists: { messages: messageSchema },
	init: () => ({ turns: 0, messages: List.of<Message>() }),
	handle: (on) => [
		on(messageAdded, ({ turns, messages }, message) => ({ turns: turns + 1, messages: messages.append(message) })),
	],
});

const plain = defineProjection<Message[]>({
	name: "conversation",
	version: 1,
	schema: z.array(messageSchema),
	init: () => [],
	handle: (on) => [on(messageAdded, (messages, message) => [...messages, message])],
});

/** A checkpoint of the timeline at each step; the messages are a list. */
export const openReyn: OpenAgent = over({
	projection: listed,
	messagesOf: (view) => view.get(listed).messages.toArray(),
	checkpoint: ({ timeline }, _added, view) => timeline.checkpoint("turn", "step", scope, view),
});

/** A snapshot of all messages at each step. */
export const openWhole: OpenAgent = over({
	projection: plain,
	messagesOf: (view) => view.get(plain),
	async checkpoint({ wal, snapshots, projections }, { durable, seq }, view) {
		await durable;
		await capture({ wal, snapshots, projections }, view);
		return seq;
	},
});

interface Stores {
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly snapshots: ReturnType<typeof fileSnapshots>;
	readonly projections: readonly AnyProjection[];
}

interface Way {
	readonly projection: AnyProjection;
	messagesOf(view: View): readonly Message[];
	/** Makes the state after what was added last durable, and gives the seq of that state. */
	checkpoint(stores: Stores, added: Appended, view: View): Promise<number>;
}

function over({ projection, messagesOf, checkpoint }: Way): OpenAgent {
	return async (directory) => {
		const wal = await openWal(join(directory, "log"), { records: [messageAdded, ...timetravelRecords] });
		const snapshots = fileSnapshots(join(directory, "snapshots"));
		const projections = [projection];
		const timeline = await openTimeline({ wal, snapshots, projections });
		const stores = { wal, snapshots, projections, timeline };
		let view = View.empty(scope, projections);
		let added: Appended;
		const halves: NonNullable<Agent["halves"]> = {
			add(message) {
				added = wal.append(messageAdded(message), scope);
				view = view.apply(added.record);
			},
			checkpoint: () => checkpoint(stores, added, view),
		};
		return {
			halves,
			async run(messages, begins) {
				const places: Place[] = [];
				for (const message of messages) {
					begins();
					halves.add(message);
					places.push(await halves.checkpoint());
				}
				return places;
			},
			past: async (place) => messagesOf(await timeline.at(place as number, scope)),
			async hold(place) {
				view = await timeline.at(place as number, scope);
				return () => {
					view = View.empty(scope, projections);
				};
			},
			async fork(place, message) {
				await timeline.checkout(place as number, { scope });
				view = await timeline.at(wal.tip, scope);
				halves.add(message);
				await halves.checkpoint();
				return messagesOf(view);
			},
			close: () => wal.close(),
		};
	};
}
