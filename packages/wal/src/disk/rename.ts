/** A rename where somebody has one of the two files open: Windows refuses it for so long, and so it is tried again. */
import { codeOf } from "../errors.ts";
import type { Files } from "./files.ts";

/** As `Files.rename`. Files that cannot pause fail at once. */
export async function renameFileOver(files: Pick<Files, "rename" | "pause">, from: string, to: string): Promise<void> {
	for (let tries = 0; ; tries++) {
		try {
			return await files.rename(from, to);
		} catch (error) {
			const ms = pauseAfter(tries, error);
			if (ms === undefined || !files.pause) throw error;
			await files.pause(ms);
		}
	}
}

/** A scanner or an indexer looks at a file for a moment; who has it open for longer is somebody to be told of. */
const PAUSES_MS: readonly number[] = [5, 10, 20, 40, 80, 160, 320, 640, 640, 640];

/** What Windows says of it. */
const BUSY: readonly string[] = ["EPERM", "EACCES", "EBUSY"];

/** How long to wait before the next try; undefined for what another try does not mend. */
export const pauseAfter = (tries: number, error: unknown): number | undefined =>
	BUSY.includes(codeOf(error) ?? "") ? PAUSES_MS[tries] : undefined;
