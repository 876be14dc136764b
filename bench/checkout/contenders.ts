/** Who does what, each in a process of its own: it is asked for one thing at a time. */
import { openRaw } from "../append/raw.ts";
import { entryAt } from "../entry.ts";
import { type ActiveOrder, askActive } from "./active.ts";
import { type Layout, writeLog } from "./log.ts";
import { openReader } from "./reader.ts";

export const contenders = {
	/** The least that a durable record can cost. */
	async raw(directory: string) {
		const store = await openRaw(directory, false);
		return {
			/** So many, in ms each. */
			async sync(count: number): Promise<readonly number[]> {
				const times: number[] = [];
				for (let i = 0; i < count; i++) {
					const from = performance.now();
					store.append(entryAt(i));
					times.push(performance.now() - from);
				}
				return times;
			},
		};
	},
	async writer(directory: string) {
		return { write: (layout: Layout) => writeLog(directory, layout) };
	},
	/** @param sessions that take turns in the log */
	reader: (directory: string, sessions: string) => openReader(directory, Number(sessions)),
	async lineage() {
		return { ask: async (order: ActiveOrder) => askActive(order) };
	},
};

export type ContenderName = keyof typeof contenders;
export type Jobs<Name extends ContenderName> = Awaited<ReturnType<(typeof contenders)[Name]>>;
