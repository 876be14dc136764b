/** Row 40: killed for want of memory, or with the whole tree of processes that it belongs to: no orphan keeps writing. */
import assert from "node:assert/strict";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { seeded } from "../../kit/seeded.ts";
import { type Case, type Fault, runCases, type Settings } from "../fault.ts";
import { needsGroup, withGroup } from "../lab/cgroup.ts";
import { checkLog } from "../lab/check.ts";
import { needsAll } from "../lab/needs.ts";
import { type Started, sleep, startWriter, withDirectory } from "../lab/start.ts";

const MEMORY = 160 << 20;

const cases: readonly Case[] = [
	{
		name: "killed for want of memory",
		privileged: true,
		needs: () => needsGroup("memory"),
		run: ({ rounds, short }) => starved(rounds ?? (short ? 2 : 20)),
	},
	{
		name: "the whole tree at once, by its cgroup",
		privileged: true,
		needs: () => needsGroup("tree"),
		run: (settings) =>
			wholeTrees(settings, (use) => withGroup("tree", (group) => use(group.via, async () => group.kill()))),
	},
	{
		name: "the whole tree, by its process group",
		needs: () => needsAll("setsid"),
		run: (settings) => wholeTrees(settings, (use) => use(["setsid"], async ({ child }) => killAll(child.pid))),
	},
	{ name: "the writer alone, its shells live on", needs: () => needsAll("setsid"), run: orphans },
];

export const fault: Fault = {
	name: "tree",
	title: "killed for want of memory, or with all its children",
	promise: "everything acknowledged is there, no orphan writes",
	rows: [
		{
			row: 40,
			title: "killed for want of memory",
			how: "a memory cgroup of 160 MB",
			promise: "as row 1",
			seen: "20 of 20 rounds, 55,000 acknowledged, lost 0",
		},
		{
			row: 40,
			title: "the whole tree killed, shells and their shells too; the writer alone, and they live on",
			how: "`cgroup.kill`; the process group",
			promise: "no orphan writes; one that lives on has neither the lock nor a descriptor",
			seen: "by cgroup 20 of 20 rounds, by process group 20 of 20, 17,836 acknowledged, lost 0, nothing written afterwards; alone 20 of 20: opened at once",
		},
	],
	needs: () => needsAll(),
	run: (settings) => runCases(cases, settings),
};

const burdened = (burden: string): string[] => [
	"env",
	`REYN_BURDEN=${burden}`,
	`NODE_OPTIONS=--import=${join(import.meta.dirname, "burden.ts")}`,
];

async function starved(rounds: number): Promise<string> {
	let acked = 0;
	let torn = 0;
	for (let i = 0; i < rounds; i++) {
		await withDirectory((root) =>
			withGroup("memory", async (group) => {
				group.limitMemory(MEMORY);
				const state = join(root, "state");
				const writer = startWriter(state, { bytes: 400 }, [...group.via, ...burdened("memory")]);
				const { code, signal } = await writer.ended;
				assert.equal(signal, "SIGKILL", `it ended with ${code}: ${writer.stderr()}`);
				assert.equal(group.killedForMemory, 1);
				if ((await checkLog(state, writer.acked)).torn) torn++;
				acked += writer.acked.length;
			}),
		);
	}
	assert.ok(acked > 0, "nothing was tried");
	return `${rounds} of ${rounds} rounds, ${acked} acknowledged, lost 0; torn tails set aside ${torn}`;
}

type End = (writer: Started) => Promise<void>;
/** Gives a way to start a tree, and one to end it. */
type Trees = (use: (via: readonly string[], end: End) => Promise<void>) => Promise<void>;

async function wholeTrees({ rounds, short, seed }: Settings, trees: Trees): Promise<string> {
	const total = rounds ?? (short ? 1 : 20);
	const random = seeded(seed);
	let acked = 0;
	let children = 0;
	for (let i = 0; i < total; i++) {
		await withDirectory((root) =>
			trees(async (via, end) => {
				const { state, writer, pids } = await family(root, via);
				try {
					await sleep(random() * 150);
					await end(writer);
					await writer.ended;
					// A kill is a signal: it is told to all at once, and each obeys when it next runs.
					for (let tries = 0; tries < 1500 && (await living(pids)).length > 0; tries++) await sleep(20);
					assert.deepEqual(await living(pids), [], "of the tree some are alive");
					const before = await sizes(root);
					await sleep(200);
					assert.deepEqual(await sizes(root), before, "somebody still writes");
					await checkLog(state, writer.acked);
				} finally {
					await endAll(pids);
				}
				acked += writer.acked.length;
				children += pids.length;
			}),
		);
	}
	return `${total} of ${total} rounds, ${children} shells gone, ${acked} acknowledged, lost 0`;
}

/** A shell that outlives the writer has neither the lock nor a descriptor of the log. */
async function orphans({ rounds, short }: Settings): Promise<string> {
	const total = rounds ?? (short ? 1 : 20);
	let worst = 0;
	for (let i = 0; i < total; i++) {
		await withDirectory(async (root) => {
			const { state, writer, pids } = await family(root, ["setsid"]);
			try {
				await writer.kill();
				assert.equal((await living(pids)).length, pids.length, "the shells did not outlive it: nothing was tried");
				for (const pid of pids)
					for (const path of await descriptors(pid)) assert.ok(!path.startsWith(state), `${pid} has ${path} open`);
				const since = performance.now();
				await checkLog(state, writer.acked);
				worst = Math.max(worst, performance.now() - since);
			} finally {
				await endAll(pids);
			}
		});
	}
	return `${total} of ${total} rounds: no descriptor, no lock; opened twice and read in ${worst.toFixed(0)} ms at most`;
}

/** A writer under load with shells below it, and the pids of these. */
async function family(root: string, via: readonly string[]) {
	const [state, file] = [join(root, "state"), join(root, "children")];
	const writer = startWriter(state, { segmentBytes: 128 * 1024 }, [...via, ...burdened(`children:${file}`)]);
	await writer.line("acked");
	let pids: number[] = [];
	for (let tries = 0; pids.length < 2 && tries < 1500; tries++) {
		await sleep(20);
		const text = await readFile(file, "latin1").catch(() => "");
		pids = [...new Set(text.split("\n").slice(0, -1).map(Number))];
	}
	if (pids.length !== 2) {
		killAll(writer.child.pid);
		throw new Error(`${pids.length} shells instead of 2: ${writer.stderr()}`);
	}
	return { state, writer, pids };
}

function killAll(group: number | undefined): void {
	try {
		process.kill(-(group as number), "SIGKILL");
	} catch {}
}

async function endAll(pids: readonly number[]): Promise<void> {
	for (const pid of await living(pids)) process.kill(pid, "SIGKILL");
}

/** Those that are there, and are not only waiting to be counted. */
async function living(pids: readonly number[]): Promise<number[]> {
	const states = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")));
	return pids.filter((_, i) => / [^ZX] /.test(states[i]?.replace(/^.*\)/s, "").slice(0, 3) ?? ""));
}

async function descriptors(pid: number): Promise<string[]> {
	const names = await readdir(`/proc/${pid}/fd`);
	return Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")));
}

async function sizes(root: string): Promise<Record<string, number>> {
	const entries = await readdir(root, { recursive: true });
	return Object.fromEntries(
		await Promise.all(entries.map(async (name) => [name, (await stat(join(root, name))).size])),
	);
}
