/** The records of a state as they lie in its file, whether or not a process is writing them: what a killed one has left. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Line {
	readonly seq: number;
	/** In milliseconds since 1970. */
	readonly ts: number;
	readonly kind: string;
	// biome-ignore lint/suspicious/noExplicitAny: each kind has data of its own, and tests look at few of them
	readonly data: any;
}

export async function recordsIn(state: string): Promise<readonly Line[]> {
	const text = await readFile(join(state, "state/wal.jsonl"), "utf8").catch(() => "");
	return text.split("\n").flatMap((line) => {
		try {
			return line.includes('"kind"') ? [JSON.parse(line)] : [];
		} catch {
			// It is being written, or a kill has torn it.
			return [];
		}
	});
}
