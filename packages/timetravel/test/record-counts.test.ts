/** Counting records in a log that is looked through in several stretches: as a reading of it counts them, whatever came since. */
import type { Scope, Seq } from "@reyn/wal";
import { scopeKey } from "@reyn/wal";
import { expect, test } from "vitest";
import type { Timeline } from "../src/index.ts";
import { House, main, plan, said, side } from "./house.ts";

/** Two stretches that are looked through at a time, and a part of a third one. */
const RECORDS = 2500;

test("from any edge of a stretch to any other, after more records and rewinds too, it counts what a reading gives", async () => {
	const house = await House.open();
	const { timeline } = house;
	for (let i = 0; i < RECORDS; i++) house.say(`t${i}`, [main, side, plan][i % 3] as Scope);
	await sameCounts(timeline, RECORDS);
	await timeline.rewindTo(1500, { scope: main });
	house.say("after a rewind", main);
	await timeline.checkout(1024, { drop: [said.kind], scope: side });
	house.say("after another", side);
	await sameCounts(timeline, house.wal.tip);
	await timeline.checkout(2048);
	await sameCounts(timeline, house.wal.tip);
	const all = await timeline.count();
	expect(all.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(1500);
	await house.wal.close();
});

async function sameCounts(timeline: Timeline, tip: Seq): Promise<void> {
	const edges = [0, 1023, 1024, 1025, 2048, tip];
	for (const scope of [{}, main])
		for (const after of edges)
			for (const through of edges.filter((each) => each >= after)) {
				const read = new Map<string, number>();
				for await (const { kind, scope: own } of timeline.history(after, scope, through)) {
					const name = `${kind} ${scopeKey(own)}`;
					read.set(name, (read.get(name) ?? 0) + 1);
				}
				const counted = await timeline.count(after, scope, through);
				expect(counted.map(({ kind, scope: own, count }) => [`${kind} ${scopeKey(own)}`, count])).toEqual([...read]);
			}
}
