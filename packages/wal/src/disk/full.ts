/** What says that there is no space: of a write of anything, by the system or by the log. It is no damage, and may pass. */
import { codeOf } from "../errors.ts";
export function isFull(error: unknown): error is Error & { readonly code: string } {
	return CODES.includes(String(codeOf(error)));
}

/** The disk, the quota, the limit of a file's size (`ulimit -f`), and the log's own word for each. */
const CODES: readonly string[] = ["ENOSPC", "EDQUOT", "EFBIG", "WAL_FULL"];
