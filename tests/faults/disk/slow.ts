/** Row 23: every fdatasync takes 200 ms, or the whole process stands still: the order stays, nothing is lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type Case, type Fault, runCases, type Settings } from "../fault.ts";
import { needsGroup, withGroup } from "../lab/cgroup.ts";
import { checkLog } from "../lab/check.ts";
import { needsAll } from "../lab/needs.ts";
import { type Started, sleep, startWriter, withDirectory } from "../lab/start.ts";
import { strace } from "../lab/strace.ts";

/** How often a timer of 1 ms comes round at least while a sync takes 200: never, where the loop waits for it. */
const TURNS_A_SYNC = 5;

const cases: readonly Case[] = [
	{ name: "200 ms for every fdatasync", needs: () => needsAll("strace"), run: slowSyncs },
	{
		name: "stopped under load (SIGSTOP)",
		needs: () => needsAll(),
		run: (settings) => stalls(settings, [], ({ child }, on) => void child.kill(on ? "SIGSTOP" : "SIGCONT")),
	},
	{
		name: "frozen under load (cgroup)",
		privileged: true,
		needs: () => needsGroup("tree"),
		run: (settings) => withGroup("tree", (group) => stalls(settings, group.via, (_, on) => group.freeze(on))),
	},
];

export const fault: Fault = {
	name: "slow",
	title: "200 ms for every fdatasync, and a process that stands still",
	promise: "the event loop does not wait, the order stays",
	rows: [
		{
			row: 23,
			title: "200 ms for every `fdatasync`",
			how: "strace `delay_enter`",
			promise: "the event loop comes round all the while; order kept",
			seen: "p99 6.0 ms, at most 9.3 ms, over 25 syncs; beside a run of all planted defects on the 2 cores 38.7 ms and 73.8 ms; order kept",
		},
		{
			row: 23,
			title: "the whole process stands still for 1 s under load",
			how: "SIGSTOP; `cgroup.freeze`",
			promise: "it goes on; order kept",
			seen: "10 of 10 times each, 3,596 and 3,740 acknowledged, in order, lost 0",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

async function slowSyncs({ short }: Settings): Promise<string> {
	return withDirectory(async (root) => {
		const state = join(root, "state");
		const count = short ? 12 : 100;
		const slow = strace("/dev/null", [join(state, "wal.jsonl")], "-e", "inject=fdatasync:delay_enter=200000");
		const started = performance.now();
		const writer = startWriter(state, { count, batch: 4, hold: true }, slow);
		await writer.line("holding");
		const took = performance.now() - started;
		const [line = ""] = await writer.tell("lag");
		await writer.tell("close");
		writer.child.stdin?.end();
		await writer.ended;
		const [, p99 = "", max = "", turns = ""] = line.split(" ");
		assert.ok(took > (count / 4) * 200, "the syncs were not slowed down");
		const syncs = count / 4;
		assert.ok(Number(turns) >= TURNS_A_SYNC * syncs, `the event loop came round ${turns} times in ${syncs} syncs`);
		assertInOrder(writer);
		await checkLog(state, writer.acked);
		return `${writer.acked.length} acknowledged in order, ${syncs} syncs, the event loop came round ${turns} times in them, late by ${p99} ms (p99), ${max} ms (most)`;
	});
}

/** Stands still for a second in the middle of its work, again and again, and goes on as if nothing had been. */
async function stalls(
	{ rounds, short }: Settings,
	via: readonly string[],
	stand: (writer: Started, still: boolean) => void,
): Promise<string> {
	const total = rounds ?? (short ? 1 : 10);
	const stallMs = short ? 400 : 1000;
	return withDirectory(async (root) => {
		const state = join(root, "state");
		const writer = startWriter(state, { segmentBytes: 128 * 1024 }, via);
		await writer.line("acked");
		for (let i = 0; i < total; i++) {
			await sleep(50 + i * 7);
			stand(writer, true);
			// What it had printed by then comes first.
			let length = -1;
			while (length !== writer.acked.length) {
				({ length } = writer.acked);
				await sleep(100);
			}
			await sleep(stallMs);
			assert.equal(writer.acked.length, length, "it did not stand still");
			stand(writer, false);
			// More than was in flight.
			for (let tries = 0; tries < 1500 && writer.acked.length < length + 40; tries++) await sleep(10);
			assert.deepEqual(writer.errors, []);
			assert.ok(writer.acked.length >= length + 40, `it does not go on: ${writer.stderr()}`);
		}
		await writer.kill();
		assertInOrder(writer);
		await checkLog(state, writer.acked);
		return `${total} of ${total} times ${stallMs} ms, ${writer.acked.length} acknowledged in order, lost 0`;
	});
}

function assertInOrder({ acked }: Started): void {
	for (const [i, { seq }] of acked.entries())
		assert.ok(seq > (acked[i - 1]?.seq ?? 0), `seq ${seq} was acknowledged late`);
}
