/**
 * Ends the process where a script computes in a function of JavaScript that V8 cannot stop: such as a search through 2^53 places. Then
 * no limit of time is heeded, and no signal but SIGKILL, so a thread of its own looks. The command line alone does so: no library ends
 * its host.
 */
import { Worker } from "node:worker_threads";
import { sayAtOnce } from "./print.ts";

/** How long beyond its limit a stretch may be. What can be stopped is so at once. */
const GRACE_MS = 10_000;
const TICK_MS = 500;

/** In what both threads share: the number of the stretch that is under way, 0 where none is, and its limit. */
const [UNDER_WAY, LIMIT] = [0, 1];

/** To be given to what runs scripts, as `watchStretch`. Its thread begins with the first stretch, and keeps no process from ending. */
export function watchStretches(graceMs = GRACE_MS, tickMs = TICK_MS): (limitMs: number) => () => void {
	const shared = new Int32Array(new SharedArrayBuffer(8));
	let last = 1;
	let isWatched = false;
	const over = (): void => {
		Atomics.store(shared, UNDER_WAY, 0);
	};
	return (limitMs) => {
		if (!isWatched) begin({ shared, graceMs, tickMs });
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
}

function begin(watched: Watched): void {
	const text = `(${watch})(${sayAtOnce}, require("node:fs"), require("node:worker_threads").workerData, ${JSON.stringify(STUCK)})`;
	const worker = new Worker(text, { eval: true, workerData: watched, execArgv: [], env: {} });
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
	{ shared, graceMs, tickMs }: Watched,
	[before, after]: readonly string[],
): void {
	let [seen, ticks] = [0, 0];
	setInterval(() => {
		const [stretch, limitMs] = [Atomics.load(shared, 0), Atomics.load(shared, 1)];
		ticks = stretch !== 0 && stretch === seen ? ticks + 1 : 0;
		seen = stretch;
		if (ticks * tickMs <= limitMs + graceMs) return;
		say(fs, `\n${before}${Math.round((limitMs + graceMs) / 1000)}${after}\n`);
		process.kill(process.pid, "SIGKILL");
	}, tickMs);
}
