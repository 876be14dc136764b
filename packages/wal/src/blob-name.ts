import { WalError } from "./errors.ts";

/** Escaped, a name has to fit a file's. */
const MAX_NAME = 80;

/** The name, if it is one that every engine can keep: no part is empty, `.` or `..`. */
export function checkedBlobName(name: string): string {
	if (
		/^(?!\.{1,2}(\/|$))[\w.-]+(\/(?!\.{1,2}(\/|$))[\w.-]+)*$/.test(name) &&
		name.length <= MAX_NAME &&
		!name.endsWith(".new.tmp")
	)
		return name;
	throw new WalError(
		"WAL_INVALID_RECORD",
		`${JSON.stringify(name)} is no name of a blob; expected parts of letters, digits, ".", "_" and "-", divided by "/", ${MAX_NAME} characters at most`,
		{ name },
	);
}
