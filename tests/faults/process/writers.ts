/** Rows 36 to 38: many start at once, the holder is stopped, the lock was left behind: one writer, and never none. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Case, type Fault, runCases } from "../fault.ts";
import { checkLog } from "../lab/check.ts";
import { type Started, sleep, startWriter, withDirectory } from "../lab/start.ts";

const cases: readonly Case[] = [
	{ name: "2 at once (row 36)", run: ({ rounds, short }) => race(2, rounds ?? (short ? 1 : 10)) },
	{ name: "20 at once (row 36)", run: ({ rounds, short }) => (short ? race(6, 1) : race(20, rounds ?? 5)) },
	{
		name: "the holder is stopped (row 37)",
		run: ({ short }) =>
			withDirectory(async (state) => {
				const holder = startWriter(state, { count: 4, hold: true });
				await holder.line("holding");
				holder.child.kill("SIGSTOP");
				const tries = short ? 2 : 12;
				for (let i = 0; i < tries; i++) {
					const second = startWriter(state, { count: 4 });
					await second.ended;
					isLocked(second, holder);
					if (!short) await sleep(5000);
				}
				holder.child.kill("SIGCONT");
				await holder.tell("append 4");
				assert.deepEqual(holder.errors, [], "the holder was harmed");
				await holder.tell("close");
				await holder.kill();
				await checkLog(state, holder.acked);
				return `${tries} of ${tries} refused while it was stopped, goes on unharmed`;
			}),
	},
	{
		name: "free at once after kill -9 (row 38)",
		run: ({ rounds, short }) =>
			withDirectory(async (state) => {
				const times: number[] = [];
				for (let i = 0; i < (rounds ?? (short ? 2 : 20)); i++) {
					const holder = startWriter(state, { count: 4, hold: true });
					await holder.line("holding");
					await holder.kill();
					const since = performance.now();
					const { torn } = await checkLog(state, holder.acked);
					times.push(performance.now() - since);
					assert.equal(torn, undefined);
				}
				const worst = Math.max(...times);
				return `opened twice and read in ${worst.toFixed(0)} ms at most, of ${times.length}`;
			}),
	},
	{
		name: "a lock of a dead, a reused and an unknown process (row 38)",
		run: () =>
			withDirectory(async (root) => {
				const dead = spawnSync(process.execPath, ["-e", "console.log(process.pid)"], { encoding: "utf8" }).stdout;
				for (const [i, text] of [
					JSON.stringify({ pid: Number(dead), host: "here", started: "2020-01-01", command: "gone" }),
					JSON.stringify({ pid: process.pid, host: "here", started: "2020-01-01", command: "reused" }),
					JSON.stringify({ pid: 1, host: "elsewhere", started: "2020-01-01", command: "init" }),
					"not JSON at all",
				].entries()) {
					const state = join(root, String(i));
					await mkdir(state);
					await writeFile(join(state, "wal.lock"), text);
					const writer = startWriter(state, { count: 4 });
					await writer.ended;
					assert.deepEqual(writer.errors, [], text);
					await checkLog(state, writer.acked);
					assert.ok(
						!(await readFile(join(state, "wal.lock"), "utf8")).includes("2020-01-01"),
						"the old text is still there",
					);
				}
				return "4 of 4 opened: the text is a note, the lock is the kernel's";
			}),
	},
];

export const fault: Fault = {
	name: "writers",
	title: "many writers start at once, the holder is stopped or dead",
	promise: "one writer, and never none",
	rows: [
		{
			row: 36,
			title: "2, then 20 processes start at once",
			how: "spawn",
			promise: "one writer",
			seen: "10 rounds of 2 and 5 of 20: 1 writer each",
		},
		{
			row: 37,
			title: "the holder is stopped for 60 s, others start",
			how: "SIGSTOP",
			promise: "they are refused; it goes on unharmed",
			seen: "12 of 12 refused; unharmed",
		},
		{
			row: 38,
			title: "a lock left by a dead, a reused, an unknown process",
			how: "fabricated; `kill -9`",
			promise: "no one is locked out",
			seen: "4 of 4 opened; after `kill -9` opened and read twice in 258 ms at most, of 20",
		},
	],
	needs: () => (process.platform === "win32" ? "needs signals" : undefined),
	run: (settings) => runCases(cases, settings),
};

/** They all start together; the winner appends, the losers are refused, and what the winner wrote is whole. */
async function race(count: number, rounds: number): Promise<string> {
	for (let round = 0; round < rounds; round++) {
		await withDirectory(async (root) => {
			const state = join(root, "state");
			const writers = Array.from({ length: count }, () => startWriter(state, { count: 40, hold: true }));
			await Promise.all(writers.map((writer) => Promise.race([writer.line("holding").catch(() => {}), writer.ended])));
			const winners = writers.filter(({ lines }) => lines.includes("holding"));
			assert.equal(winners.length, 1, `${winners.length} writers at once`);
			const [winner] = winners as [Started];
			for (const writer of writers) if (writer !== winner) isLocked(writer);
			await winner.tell("append 4");
			await winner.tell("close");
			await winner.kill();
			assert.equal(winner.acked.length, 44);
			await checkLog(state, winner.acked);
		});
	}
	return `${rounds} rounds of ${count}, writers at most 1`;
}

function isLocked({ errors, acked }: Started, holder?: Started): void {
	assert.equal(errors[0]?.code, "WAL_LOCKED");
	assert.equal(acked.length, 0);
	if (holder) assert.ok(errors[0]?.message.includes(`process ${holder.child.pid} `), errors[0]?.message);
}
