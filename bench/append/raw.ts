/** The least that a durable append can be: one write and one sync on a growing file, and nothing else meanwhile. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { recordOf } from "../entry.ts";
import type { Open } from "./store.ts";

export const openRaw: Open = async (directory) => {
	const file = openSync(join(directory, "raw.jsonl"), "wx");
	return {
		append(entry) {
			writeSync(file, `${JSON.stringify(recordOf(entry))}\n`);
			fdatasyncSync(file);
			return undefined;
		},
		close() {
			closeSync(file);
			return undefined;
		},
	};
};
