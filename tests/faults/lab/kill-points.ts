/** SIGKILL before every system call that a program makes on the files below a directory. */
import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { seeded } from "../../kit/seeded.ts";
import type { Settings } from "../fault.ts";
import { runToEnd, start, withDirectory } from "./start.ts";
import { callsIn, strace } from "./strace.ts";

export interface Killed<Before> {
	/** Its path; it is told a directory, and these options. */
	readonly program: string;
	readonly options: (before: Before) => object;
	/** Whose files: a folder of that directory. */
	readonly below: string;
	/** Makes what is in the directory at the start. */
	prepare(directory: string): Promise<Before>;
	/** What must hold of it afterwards; the program had printed these lines. Gives what is counted: see `counted`. */
	check(directory: string, before: Before, lines: readonly string[]): Promise<number>;
	readonly counted: string;
}

/** In short some points, from a first one that the seed says. */
export async function killAtCalls<Before>(killed: Killed<Before>, { short, brief, seed }: Settings): Promise<string> {
	const { program, below, prepare, check, counted } = killed;
	return withDirectory(async (root) => {
		const [prepared, state, log] = [join(root, "prepared"), join(root, "state"), join(root, "strace")];
		const before = await prepare(prepared);
		const options = killed.options(before);
		const fresh = async (): Promise<void> => {
			await rm(state, { recursive: true, force: true });
			await cp(prepared, state, { recursive: true });
		};
		await fresh();
		// With one thread at files a run is as the one before.
		const oneThread = ["-E", "UV_THREADPOOL_SIZE=1"];
		const whole = await runToEnd(program, state, options, ["strace", "-f", "-qq", "-y", ...oneThread, "-o", log]);
		await check(state, before, whole);
		const calls = await callsIn(join(state, below), log);
		const stride = short ? Math.ceil(calls.length / (brief ? 1 : 2)) : 1;
		const first = seeded(seed).below(stride);
		const chosen = calls.filter((_, i) => i % stride === first);
		const found = new Map<number, number>();
		for (const { name, path, n } of chosen) {
			await fresh();
			const inject = [...oneThread, "-e", `inject=${name}:signal=SIGKILL:when=${n}`];
			const writer = start(program, state, options, strace("/dev/null", [path], ...inject));
			const { code, signal } = await writer.ended;
			try {
				assert.ok(signal === "SIGKILL" || code === 137, `it was not reached: ${writer.stderr()}`);
				const number = await check(state, before, writer.lines);
				found.set(number, (found.get(number) ?? 0) + 1);
			} catch (error) {
				const where = `${name} ${n} on ${path.slice(root.length)}`;
				throw new Error(`killed at ${where}: ${(error as Error).message}`, { cause: error });
			}
		}
		const times = [...found].map(([number, count]) => `${number} (${count} times)`).join(", ");
		return `${chosen.length} of ${chosen.length} points (${calls.length} there are); ${counted}: ${times}`;
	});
}
