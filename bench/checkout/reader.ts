/** Going back in a log that is there: what one session asks for. */
import { openTimeline, reset, resetSettled, type Timeline } from "@reyn/timetravel";
import type { Scope } from "@reyn/wal";
import { randomFrom } from "../random.ts";
import { isAsOf, measuredSession, openStores, type Place } from "./log.ts";

interface PastOrder {
	readonly places: readonly Place[];
}

interface RewindOrder extends PastOrder {
	/** Whose records move: the session's own, or those of all. */
	readonly cut: "session" | "process";
}

interface ResetsOrder {
	/** How many there shall be. */
	readonly count: number;
	/** Their targets are up to this seq. */
	readonly through: number;
}

export async function openReader(directory: string, sessions: number) {
	const stores = await openStores(directory);
	const { wal } = stores;
	const session = measuredSession(sessions);
	let timeline = await openedTimeline();
	/** The session as it is kept in memory. */
	let view = await timeline.at(wal.tip, session);

	/** As the runtime opens it: a target is looked at before the reset, and the session is folded anew after it. */
	async function openedTimeline(): Promise<Timeline> {
		const opened = await openTimeline(stores);
		opened.attend({
			quiet: async () => () => {},
			rebuild: async () => {
				view = await opened.at(wal.tip, session);
			},
		});
		return opened;
	}

	/** In ms, for each place; in between it is checked that the state is right. */
	async function timed(places: readonly Place[], go: (place: Place) => Promise<unknown>): Promise<readonly number[]> {
		const times: number[] = [];
		// Nothing is collected before: what a collection costs belongs to the tail, and the first one after it costs 7 to 17 ms.
		for (const place of places) {
			const from = performance.now();
			await go(place);
			times.push(performance.now() - from);
			if (!isAsOf(view, place.entries)) throw new Error(`the state at seq ${place.seq} is not what it was`);
		}
		return times;
	}

	return {
		/** What it takes to find the resets and checkpoints in the whole log, in ms. */
		async open(): Promise<number> {
			globalThis.gc?.();
			const from = performance.now();
			timeline = await openedTimeline();
			return performance.now() - from;
		},
		rewind({ places, cut }: RewindOrder): Promise<readonly number[]> {
			const scope: Scope = cut === "session" ? session : {};
			return timed(places, ({ seq }) => timeline.checkout(seq, { scope }));
		},
		past({ places }: PastOrder): Promise<readonly number[]> {
			return timed(places, async ({ seq }) => {
				view = await timeline.at(seq, session);
			});
		},
		/** Resets of all sessions, to anywhere; the timeline has to be opened anew then. */
		async addResets({ count, through }: ResetsOrder): Promise<void> {
			const random = randomFrom(count);
			let settled = Promise.resolve();
			for (let i = timeline.lineage.resets.length; i < count; i++) {
				await wal.ready();
				const target = 1 + Math.floor(random() * through);
				const { seq } = wal.append(reset({ target, mode: "both", actor: "user" }), {});
				settled = wal.append(resetSettled({ reset: seq }), {}).durable;
			}
			await settled;
		},
	};
}
