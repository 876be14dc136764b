/** strace, as far as the faults use it: which calls a program makes on a log's files, and how to make one of them fail. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The files of a log that a call may touch, temporary ones included; `-P` wants every name. */
export function pathsOf(directory: string): string[] {
	return ["", "wal.jsonl", "wal.head", "wal.lock", "wal.jsonl.new.tmp"].map((name) =>
		join(directory, name).replace(/\/$/, ""),
	);
}

/** strace over all threads, limited to these paths, its own output in `log`. `when=` in an injection counts in each thread. */
export function strace(log: string, paths: readonly string[], ...more: readonly string[]): string[] {
	return ["strace", "-f", "-qq", "-o", log, ...paths.flatMap((path) => ["-P", path]), ...more];
}

/** How often each call was made in the thread that made most of them. */
export async function countCalls(log: string): Promise<ReadonlyMap<string, number>> {
	const threads = new Map<string, Map<string, number>>();
	for (const line of (await readFile(log, "utf8")).split("\n")) {
		const [, thread = "", call = ""] = /^(\d+) +([a-z_0-9]+)\(/.exec(line) ?? [];
		if (call === "") continue;
		const counts = threads.get(thread) ?? new Map<string, number>();
		threads.set(thread, counts.set(call, (counts.get(call) ?? 0) + 1));
	}
	const most = new Map<string, number>();
	for (const counts of threads.values())
		for (const [call, count] of counts) most.set(call, Math.max(count, most.get(call) ?? 0));
	return most;
}

/** A call on a file: the n-th of its name there, in one thread. */
export interface Call {
	readonly name: string;
	readonly path: string;
	readonly n: number;
	/** What it was told, and what it gave, as strace writes that. */
	readonly line: string;
}

/** Every call on the files in a directory, and on itself, out of what strace wrote with `-y`. */
export async function callsIn(directory: string, log: string): Promise<readonly Call[]> {
	const counts = new Map<string, number>();
	const calls = new Map<string, Call>();
	for (const line of (await readFile(log, "utf8")).split("\n")) {
		const [, thread = "", name = ""] = /^(\d+) +([a-z_0-9]+)\(/.exec(line) ?? [];
		if (name === "" || name === "execve") continue;
		const quoted = [...line.matchAll(/["<]([^"<>]+)[">]/g)].map(([, path = ""]) => path);
		const paths = [...new Set(quoted)].filter((path) => `${path}/`.startsWith(`${directory}/`));
		for (const [i, path] of paths.entries()) {
			const key = [thread, name, path].join();
			const n = (counts.get(key) ?? 0) + 1;
			counts.set(key, n);
			// `-P` counts a rename under both its names; it is one call.
			if (i === 0) calls.set([name, path, n].join(), { name, path, n, line });
		}
	}
	return [...calls.values()];
}
