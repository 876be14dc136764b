import { WalError } from "./errors.ts";

/** So long that each part, escaped, fits a file's name. */
const MAX_NAME = 80;

/** Is it a name that every engine can keep? No part of it is empty, `.` or `..`. */
export function isBlobName(name: string): boolean {
	return /^(?!\.{1,2}(\/|$))[\w.-]+(\/(?!\.{1,2}(\/|$))[\w.-]+)*$/.test(name) && name.length <= MAX_NAME;
}

/** The name, if it is one. */
export function checkedBlobName(name: string): string {
	if (isBlobName(name)) return name;
	throw new WalError(
		"WAL_INVALID_RECORD",
		`${JSON.stringify(name)} is no name of a blob; expected parts of letters, digits, ".", "_" and "-", divided by "/", ${MAX_NAME} characters at most`,
		{ name },
	);
}
