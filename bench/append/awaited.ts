/** Some appenders at once, each of which waits for one entry to be durable before it appends the next. */
import { type Entry, entryAt } from "../entry.ts";
import { quantile } from "../figures.ts";
import type { Store } from "./store.ts";

export interface Awaited {
	readonly perSecond: number;
	/** From the call until it is durable. */
	readonly p50Ms: number;
	readonly p99Ms: number;
}

export async function awaited(store: Store, appenders: number, ms: number): Promise<Awaited> {
	let next = 0;
	const until = async (end: number): Promise<readonly number[]> => {
		const took: number[] = [];
		const appender = async (): Promise<void> => {
			for (let from = performance.now(); from < end; ) {
				const entry: Entry = entryAt(next++);
				await store.append(entry);
				const now = performance.now();
				took.push(now - from);
				from = now;
			}
		};
		await Promise.all(Array.from({ length: appenders }, appender));
		return took;
	};
	await until(performance.now() + ms / 4);
	const from = performance.now();
	const took = await until(from + ms);
	const seconds = (performance.now() - from) / 1000;
	return { perSecond: took.length / seconds, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) };
}
