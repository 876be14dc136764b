/** A reader that moves with the log of another process: after each look it has to be what one is that is opened anew. */
import type { Scope, Seq } from "@reyn/wal";
import { expect } from "vitest";
import type { Timeline } from "../src/index.ts";
import { type House, houseScopes } from "./house.ts";

export class Follower {
	#timeline: Timeline | undefined;
	/** How often it went on, and how often it had to be opened anew. */
	readonly met = { refreshed: 0, reopened: 0 };

	/**
	 * @param house of the same log, always: it need not be the one that writes now
	 * @param seqs whose states are compared
	 */
	async follows(house: House, seqs: readonly Seq[]): Promise<void> {
		this.#timeline = await this.#refreshed(house);
		const fresh = await house.reader();
		expect(await told(this.#timeline, seqs)).toEqual(await told(fresh, seqs));
	}

	async #refreshed(house: House): Promise<Timeline> {
		if (!this.#timeline) return house.reader();
		try {
			// Two looks beside each other see one history.
			await Promise.all([this.#timeline.refresh(), this.#timeline.refresh()]);
			this.met.refreshed++;
			return this.#timeline;
		} catch (error) {
			// What was new was taken away before it was seen.
			expect(error).toMatchObject({ code: "WAL_TRUNCATED" });
			this.met.reopened++;
			return house.reader();
		}
	}
}

/** All that a timeline says. Live states are asked for at each look, and so stay open. */
async function told(timeline: Timeline, seqs: readonly Seq[]) {
	// First, since other questions may bring the index up to date themselves.
	const checkpoints = timeline.checkpoints();
	const { past, future } = await timeline.moves();
	const views = async (scope: Scope): Promise<readonly string[]> => {
		const live = await timeline.live(scope);
		const states = [];
		for (const seq of seqs) states.push(await timeline.at(seq, scope).then((view) => view.hash(), codeOf));
		return [live.view.hash(), ...states];
	};
	const lives = [];
	for (const scope of houseScopes) lives.push(await views(scope));
	const whole = await timeline.wholeLog.live();
	return {
		tip: timeline.lineage.tip,
		resets: timeline.lineage.resets,
		retainedFrom: timeline.retainedFrom,
		branches: timeline.branches(),
		checkpoints,
		labels: await timeline.labels(),
		// Some engines give more of a record than what is kept of it.
		records: (await timeline.records()).map(({ seq, ts, kind, scope, data, crc }) => [seq, ts, kind, scope, data, crc]),
		moves: { past, future },
		unsettled: timeline.unsettled(),
		whole: [whole.view.hash(), (await timeline.wholeLog.at(timeline.lineage.tip, {})).hash()],
		lives,
	};
}

const codeOf = ({ code }: { readonly code: string }): string => code;
