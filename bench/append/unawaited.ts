/** Appends that nobody waits for: what the call costs beside `JSON.stringify` of the same record, and how many a second reach the disk. */
import { setImmediate as turn } from "node:timers/promises";
import { entryAt, recordOf } from "../entry.ts";
import { quantile } from "../figures.ts";
import type { Unawaited } from "./store.ts";

/** How many are appended in one turn of the event loop. */
const PER_TURN = 64;
const STRINGIFIED = 20_000;

export interface UnawaitedAppends {
	readonly perSecond: number;
	/** Of the call; what reading the clock costs is taken off. */
	readonly p50Us: number;
	readonly p99Us: number;
	readonly stringifyP50Us: number;
	readonly stringifyP99Us: number;
}

export async function unawaited(store: Unawaited, ms: number): Promise<UnawaitedAppends> {
	let next = 0;
	const until = async (end: number): Promise<readonly number[]> => {
		const took: number[] = [];
		while (performance.now() < end) {
			for (let i = 0; i < PER_TURN; i++) took.push(timed((entry) => store.append(entry), entryAt(next++)));
			await store.ready();
			await turn();
		}
		await store.done();
		return took;
	};
	await until(performance.now() + ms / 4);
	const clock = quantile(
		Array.from({ length: STRINGIFIED }, (_, i) => timed(() => {}, entryAt(i))),
		0.5,
	);
	const stringify = Array.from({ length: STRINGIFIED }, (_, i) => timed(JSON.stringify, recordOf(entryAt(i))));
	const from = performance.now();
	const append = await until(from + ms);
	const seconds = (performance.now() - from) / 1000;
	const micros = (took: readonly number[], share: number): number => (quantile(took, share) - clock) * 1000;
	return {
		perSecond: append.length / seconds,
		p50Us: micros(append, 0.5),
		p99Us: micros(append, 0.99),
		stringifyP50Us: micros(stringify, 0.5),
		stringifyP99Us: micros(stringify, 0.99),
	};
}

function timed<Value>(run: (value: Value) => unknown, value: Value): number {
	const from = performance.now();
	run(value);
	return performance.now() - from;
}
