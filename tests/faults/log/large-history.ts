/**
 * A history as long as it gets: `large-history.ts <build|use|gc> <directory> <records> <rewinds> <seed>`. `build` writes so
 * many records, rewinds among them that go anywhere, into abandoned branches too. `use` opens it, lists it, and rewinds; `gc`
 * takes all of it away but a fiftieth. Both know what counts at the tip from an oracle of ten lines, and print
 * what they measured as JSON.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { defineProjection, memorySnapshots } from "@reyn/snapshot";
import { checkpoint, openTimeline, reset, resetSettled, timetravelRecords } from "@reyn/timetravel";
import { fileBlobs, openWal, type Wal } from "@reyn/wal";
import { type Random, seeded } from "../../kit/seeded.ts";
import { numbered } from "../lab/numbered.ts";

/** In the order in which they are printed. */
export type Measured = Readonly<Record<string, number>>;

const [what = "", directory = "", ...numbers] = process.argv.slice(2);
const [size = 0, rewinds = 0, seed = 1] = numbers.map(Number);
const REWINDS_USED = 20;

const records = [numbered, ...timetravelRecords];
const sum = defineProjection<{ readonly count: number; readonly sum: number }>({
	name: "sum",
	version: 1,
	schema: { "~standard": { version: 1, vendor: "faults", validate: (value) => ({ value: value as never }) } },
	init: () => ({ count: 0, sum: 0 }),
	handle: (on) => [on(numbered, ({ count, sum }, { n }) => ({ count: count + 1, sum: sum + n }))],
});

console.log(JSON.stringify(await { build, use, gc }[what as "build" | "use" | "gc"]()));

async function build(): Promise<Measured> {
	const since = performance.now();
	const random = seeded(seed);
	const step = Math.floor(size / rewinds);
	const wal = await openWal(directory, { records });
	while (wal.tip < size) {
		const seq = wal.tip + 1;
		await wal.ready();
		if (seq % step === 0) wal.append(reset({ target: someSeq(seq, random), mode: "both", actor: "fault" }), {});
		else if (seq % step === 1 && seq > step) wal.append(resetSettled({ reset: wal.tip }), {});
		else if (seq % step === 2) wal.append(checkpoint({ kind: "turn", title: `turn ${seq}` }), {});
		else wal.append(numbered({ n: seq, text: "some text of a record" }), {});
	}
	await wal.close();
	return { "build ms": Math.round(performance.now() - since) };
}

/** Mostly a little way back, as people do it; now and then anywhere. */
function someSeq(before: number, random: Random): number {
	const back = Math.floor(random() * (random.chance(0.0005) ? before : size / rewinds));
	return Math.max(0, before - 1 - back);
}

async function use(): Promise<Measured> {
	const measured: Record<string, number> = {};
	const timed = async <T>(name: string, run: () => Promise<T> | T): Promise<T> => {
		const since = performance.now();
		const result = await run();
		measured[`${name} ms`] = Math.round(performance.now() - since);
		return result;
	};
	const wal = await timed("open the log", () => openWal(directory, { records }));
	const timeline = await timed("open the timeline", () =>
		openTimeline({ wal, snapshots: memorySnapshots(), projections: [sum] }),
	);
	const branches = await timed("list branches", () => timeline.branches());
	const checkpoints = await timed("list checkpoints", () => timeline.checkpoints());
	const atTip = await timed("fold the state without a snapshot", () => timeline.at(wal.tip, {}));
	const peak = process.resourceUsage().maxRSS / 1024;

	const oracle = await readOracle(wal);
	assert.equal(branches.length, timeline.lineage.resets.length + 1);
	assert.deepEqual(atTip.get(sum), oracle.stateAt(wal.tip));
	const active = oracle.pathTo(wal.tip);
	for (const each of checkpoints) assert.equal(each.active, active[each.seq] === 1, `checkpoint ${each.seq}`);

	const random = seeded(seed + 1);
	const times: number[] = [];
	let forks = 0;
	for (let i = 0; i < REWINDS_USED; i++) {
		const target = i % 2 === 0 ? random.below(size) : someSeq(size, random);
		const since = performance.now();
		const { kind } = await timeline.checkout(target);
		times.push(performance.now() - since);
		if (kind === "fork_switch") forks++;
		if (i % 5 === 0)
			assert.deepEqual((await timeline.at(wal.tip, {})).get(sum), oracle.stateAt(target), `at ${target}`);
	}
	times.sort((a, b) => a - b);
	await wal.close();
	return {
		branches: branches.length,
		checkpoints: checkpoints.length,
		"records that count at the tip": atTip.get(sum).count,
		...measured,
		"peak RSS MB until here": Math.round(peak),
		"rewinds and checkouts": times.length,
		"of these to abandoned branches": forks,
		"each ms (median)": Number(times[times.length >> 1]?.toFixed(1)),
		"each ms (most)": Number(times.at(-1)?.toFixed(1)),
	};
}

async function gc(): Promise<Measured> {
	const kept = fileBlobs(join(directory, "kept"));
	const open = async () => {
		const wal = await openWal(directory, { records });
		return { wal, timeline: await openTimeline({ wal, kept, snapshots: memorySnapshots(), projections: [sum] }) };
	};
	const { wal, timeline } = await open();
	const oracle = await readOracle(wal);
	const since = performance.now();
	const done = await timeline.gc({ keepDays: 0, keepCheckpoints: rewinds / 50, now: Number.MAX_SAFE_INTEGER });
	const took = performance.now() - since;
	const peak = process.resourceUsage().maxRSS / 1024;
	await wal.close();
	const again = performance.now();
	const after = await open();
	const opened = performance.now() - again;
	await after.timeline.settle();
	assert.equal(after.timeline.branches().length, timeline.branches().length);
	const from = performance.now();
	assert.deepEqual((await after.timeline.at(after.wal.tip, {})).get(sum), oracle.stateAt(wal.tip));
	const folded = performance.now() - from;
	for (const { seq } of after.timeline.checkpoints().slice(0, 20))
		assert.deepEqual((await after.timeline.at(seq, {})).get(sum), oracle.stateAt(seq), `at ${seq}`);
	await after.wal.close();
	return {
		"gc ms": Math.round(took),
		"gc: records that do not count any more": done.retainedFrom - 1,
		"gc: records taken away": done.first - 1,
		"gc: peak RSS MB": Math.round(peak),
		"after it, open log and timeline ms": Math.round(opened),
		"after it, fold the state without a snapshot ms": Math.round(folded),
	};
}

/** The parent of a record is the one before it; of a reset, its target. What counts are the ancestors. */
async function readOracle(wal: Wal) {
	const parents = new Float64Array(wal.tip + 1);
	const counts = new Uint8Array(wal.tip + 1);
	for await (const record of wal.read()) {
		parents[record.seq] = reset.is(record) ? record.data.target : record.seq - 1;
		counts[record.seq] = numbered.is(record) ? 1 : 0;
	}
	const pathTo = (seq: number): Uint8Array => {
		const path = new Uint8Array(parents.length);
		for (let at = seq; at > 0; at = parents[at] as number) path[at] = 1;
		return path;
	};
	const stateAt = (seq: number) =>
		pathTo(seq).reduce(
			(state, on, at) => (on && counts[at] ? { count: state.count + 1, sum: state.sum + at } : state),
			{ count: 0, sum: 0 },
		);
	return { pathTo, stateAt };
}
