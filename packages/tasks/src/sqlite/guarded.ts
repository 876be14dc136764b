/** What SQLite and the system say, in the words of the port. */
import { isReynError } from "@reyn/wal";
import { type TaskCode, TaskError } from "../errors.ts";

/** A transaction that fails is rolled back; only of a commit whose sync failed nobody knows, and `written` tells. */
export function guarded<T>(path: string, run: () => T): T {
	try {
		return run();
	} catch (error) {
		if (isReynError(error)) throw error;
		const { code, message } = error as { readonly code?: unknown; readonly message: string };
		// A mistake of ours, no state of the database.
		if (typeof code !== "string") throw error;
		const [as, what] = meaningOf(code);
		throw new TaskError(as, `${path} ${what} (${code}: ${message})`, { path, code }, { cause: error });
	}
}

const again = "then make the same write with the same key again";

function meaningOf(code: string): readonly [TaskCode, string] {
	if (code === "SQLITE_FULL" || code === "ENOSPC")
		return ["TASK_BACKEND_DOWN", `takes nothing, since the disk is full: nothing was written. Make room, ${again}`];
	if (/^SQLITE_(BUSY|LOCKED)/.test(code))
		return [
			"TASK_BACKEND_DOWN",
			`is held by another connection: nothing was written. Wait until that is done, ${again}`,
		];
	if (/^(SQLITE_READONLY|EROFS|EACCES|EPERM)/.test(code))
		return ["TASK_BACKEND_DOWN", `may not be written: nothing was. Look whose it is, and where it lies, ${again}`];
	if (code === "SQLITE_NOTADB")
		return [
			"TASK_FOREIGN",
			"is no SQLite database: another program's file, or one that lost its beginning. Nothing was changed in it: bring it back from a copy, or give another path",
		];
	if (code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_CONSTRAINT"))
		return [
			"TASK_DAMAGED",
			"is damaged. What could be read is right; bring it back from a copy, or save it with `.recover` of sqlite3",
		];
	return ["TASK_BACKEND_DOWN", `cannot be used. Mend that, ${again}`];
}
