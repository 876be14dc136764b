/**
 * Ends the process where a script computes in a function of JavaScript that V8 cannot stop: such as a search through 2^53 places. Then
 * no limit of time is heeded, and no signal but SIGKILL, so a thread of its own looks. The command line alone does so: no library ends
 * its host.
 */
import { execFileSync } from "node:child_process";
import { Worker } from "node:worker_threads";
import { sayAtOnce } from "./print.ts";

/** How long beyond its limit a time slice may be. What can be stopped is so at once. */
const GRACE_MS = 10_000;
const TICK_MS = 500;

/** In what both threads share: the number of the time slice that is under way, 0 where none is, and its limit. */
const [UNDER_WAY, LIMIT] = [0, 1];

/** To be given to what runs scripts, as `watchTimeSlice`. Its thread begins with the first time slice, and keeps no process from ending. */
export function watchTimeSlices(graceMs = GRACE_MS, tickMs = TICK_MS): (limitMs: number) => () => void {
	const shared = new Int32Array(new SharedArrayBuffer(8));
	let last = 1;
	let isWatched = false;
	const over = (): void => {
		Atomics.store(shared, UNDER_WAY, 0);
	};
	return (limitMs) => {
		if (!isWatched) begin({ shared, graceMs, tickMs, terminal: modesOf(process.stdin) });
		isWatched = true;
		// Odd, so that it is never 0.
		last = (last + 2) | 1;
		Atomics.store(shared, LIMIT, limitMs);
		Atomics.store(shared, UNDER_WAY, last);
		return over;
	};
}

interface Watched {
	readonly shared: Int32Array;
	readonly graceMs: number;
	readonly tickMs: number;
	/** How the terminal was set before any script asked something there, for `stty`; undefined: there is none. */
	readonly terminal: string | undefined;
}

/** A process that is killed cannot put back what it has changed. */
function modesOf({ isTTY, isRaw }: typeof process.stdin): string | undefined {
	if (!isTTY) return undefined;
	try {
		return isRaw
			? "sane"
			: execFileSync("stty", ["-g"], { stdio: [0, "pipe", "ignore"] })
					.toString()
					.trim();
	} catch {
		return undefined;
	}
}

function begin(watched: Watched): void {
	const modules = 'require("node:fs"), require("node:child_process")';
	const text = `(${watch})(${sayAtOnce}, ${modules}, require("node:worker_threads").workerData, ${JSON.stringify(STUCK)})`;
	const { PATH = "" } = process.env;
	const worker = new Worker(text, { eval: true, workerData: watched, execArgv: [], env: { PATH } });
	worker.unref();
	// Without it scripts run as they did before there was one.
	worker.on("error", () => {});
}

/** What `watch` says, around how many seconds it has been. */
const STUCK = [
	"reyn: a script has been in one function of JavaScript for more than ",
	" s that no limit can stop, and nothing else of this process runs meanwhile, so it is ended. What was recorded stays, and nothing of it is paid again: mend the script, and go on with reyn script resume. With --isolate such a script ends its own run alone",
];

/** Of its own: it is given to the thread as text. Ticks are counted, since a process that was stopped for a while has computed for none of it. */
function watch(
	say: typeof sayAtOnce,
	fs: typeof import("node:fs"),
	child: typeof import("node:child_process"),
	{ shared, graceMs, tickMs, terminal }: Watched,
	[before, after]: readonly string[],
): void {
	let [seen, ticks] = [0, 0];
	setInterval(() => {
		const [slice, limitMs] = [Atomics.load(shared, 0), Atomics.load(shared, 1)];
		ticks = slice !== 0 && slice === seen ? ticks + 1 : 0;
		seen = slice;
		if (ticks * tickMs <= limitMs + graceMs) return;
		if (terminal) child.spawnSync("stty", [terminal], { stdio: [0, "ignore", "ignore"] });
		say(fs, `\n${before}${Math.round((limitMs + graceMs) / 1000)}${after}\n`);
		process.kill(process.pid, "SIGKILL");
	}, tickMs);
}
