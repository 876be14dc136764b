/** A command of the command line where only what it says and leaves counts. */
import { run, type start, whereOf } from "./cli.ts";
import type { Ended } from "./kit/killable.ts";

let asked = 0;

/** Read here: with `sample.ts` each test that carries something out would be run whole again by the deep run. */
const EVERY = process.env.REYN_DEEP === undefined ? 8 : 4;

/** Carries it out in this process, which has begun already; every so-many-th one in a process of its own, so that both are seen to be alike. */
export async function carryOut(...how: Parameters<typeof start>): Promise<Ended> {
	const [place, args, input, via] = how;
	if (asked++ % EVERY === 0 || input !== undefined || via !== undefined) return run(...how);
	const { main } = await import("../apps/cli/src/main.ts");
	const said = { stdout: "", stderr: "" };
	const streams = (["stdout", "stderr"] as const).map((name) => ({ name, write: process[name].write }));
	for (const { name } of streams)
		process[name].write = (text: string | Uint8Array, ...[then]: unknown[]) => {
			said[name] += text;
			if (typeof then === "function") then();
			return true;
		};
	const ends = ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => ({
		name,
		before: process.listeners(name as "exit"),
	}));
	process.env.REYN_MODEL_TRACE = place.trace;
	try {
		return { code: await main(["node", "reyn", ...whereOf(place), ...args]), signal: null, pid: process.pid, ...said };
	} finally {
		delete process.env.REYN_MODEL_TRACE;
		for (const { name, write } of streams) process[name].write = write;
		// What a process does at its end, and what it heeds until then.
		for (const { name, before } of ends)
			for (const each of process.listeners(name as "exit"))
				if (!before.includes(each)) {
					if (name === "exit") each(0);
					process.off(name, each);
				}
	}
}
