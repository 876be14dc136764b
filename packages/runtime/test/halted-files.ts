/** Files beside whose changes a test copies what a process that died there would have left: nothing else changes meanwhile. */
import { setTimeout as pause } from "node:timers/promises";
import type { WorkFiles } from "@reyn/journal";
import type { Seq } from "@reyn/wal";

/**
 * Before and after each change `halt` is asked, one after the other, though changes are made beside each other: when those under way
 * are over, and the log has what others are about to begin.
 *
 * @param tip of the log
 * @param isDue is it to be asked here? Default: everywhere
 */
export function haltedFiles(
	files: WorkFiles,
	tip: () => Seq,
	halt: () => Promise<void>,
	isDue: () => boolean = () => true,
): WorkFiles {
	let running = 0;
	let halted = Promise.resolve();
	const quiet = async (): Promise<void> => {
		for (let before = -1; running > 0 || before !== tip(); await pause(4)) before = tip();
	};
	const moment = (): Promise<void> => {
		halted = halted.then(async () => {
			if (!isDue()) return;
			await quiet();
			await halt();
		});
		return halted;
	};
	return {
		...files,
		async put(...args) {
			await moment();
			running++;
			try {
				await files.put(...args);
			} finally {
				running--;
			}
			await moment();
		},
	};
}
