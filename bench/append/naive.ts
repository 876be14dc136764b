/** What one writes first: append, fsync, and the next one when that is done. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { recordOf } from "../entry.ts";
import type { Open } from "./store.ts";

export const openNaive: Open = async (directory) => {
	const file = await open(join(directory, "naive.jsonl"), "ax");
	let last: Promise<void> = Promise.resolve();
	return {
		append(entry) {
			const line = `${JSON.stringify(recordOf(entry))}\n`;
			last = last.then(async () => {
				await file.appendFile(line);
				await file.sync();
			});
			return last;
		},
		close: () => file.close(),
	};
};
