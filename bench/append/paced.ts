/** What 2000 appends a second do to everything else on the event loop: how late timers are, and how long it is held. */
import { entryAt } from "../entry.ts";
import { quantile } from "../figures.ts";
import type { Store } from "./store.ts";

const PER_MS = 2;
const TIMER_MS = 1;
/** More than any of the contenders chains. */
const MICROTASKS = 10;

export interface Paced {
	/** How late a timer of 1 ms is, at the worst one in a hundred: with nothing to do, and with the appends. */
	readonly idleP99Ms: number;
	readonly p99Ms: number;
	/** For each append, how long the turn that appends is held: the calls, and what they start before the turn goes on. */
	readonly heldUs: number;
	/** For each append, how much busier the event loop is, all in all: turns that begin a write or take its answer too, and being woken for them. */
	readonly loopUs: number;
}

export async function paced(store: Store, ms: number): Promise<Paced> {
	let next = 0;
	let waiting = 0;
	const append = async (): Promise<void> => {
		waiting++;
		await store.append(entryAt(next++));
		waiting--;
	};
	await watch(ms / 4, append);
	const idle = await watch(ms, () => undefined);
	const before = next;
	const busy = await watch(ms, append);
	while (waiting > 0) await new Promise((resolve) => setImmediate(resolve));
	return {
		idleP99Ms: quantile(idle.late, 0.99),
		p99Ms: quantile(busy.late, 0.99),
		heldUs: (quantile(busy.held, 0.5) - quantile(idle.held, 0.5)) * 1000,
		loopUs: ((busy.activeMs - idle.activeMs) / (next - before)) * 1000,
	};
}

interface Watched {
	/** By how much each timer was late. */
	readonly late: readonly number[];
	/** How long each turn was held, for each append of it. */
	readonly held: readonly number[];
	readonly activeMs: number;
}

async function watch(ms: number, each: () => Promise<void> | undefined): Promise<Watched> {
	const from = performance.now();
	const before = performance.eventLoopUtilization();
	const late: number[] = [];
	const failed = Promise.withResolvers<never>();
	let done = 0;
	const held: number[] = [];
	const pacer = setInterval(async () => {
		const start = performance.now();
		const first = done;
		for (const due = (performance.now() - from) * PER_MS; done < due; done++) each()?.catch(failed.reject);
		// After the microtasks that the calls left behind.
		for (let i = 0; i < MICROTASKS; i++) await undefined;
		if (done > first) held.push((performance.now() - start) / (done - first));
	}, 1);
	const watched = new Promise<void>((resolve) => {
		let set = performance.now();
		const tick = (): void => {
			const now = performance.now();
			late.push(now - set - TIMER_MS);
			if (now - from >= ms) {
				resolve();
			} else {
				set = performance.now();
				setTimeout(tick, TIMER_MS);
			}
		};
		setTimeout(tick, TIMER_MS);
	});
	try {
		await Promise.race([watched, failed.promise]);
	} finally {
		clearInterval(pacer);
	}
	return { late, held, activeMs: performance.eventLoopUtilization(before).active };
}
