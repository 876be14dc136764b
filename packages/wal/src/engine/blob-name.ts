/** Which names a blob may have, in every engine. */
import { WalError } from "../errors.ts";

/** Of a part: so long that it fits a file's name, escaped. */
const MAX_PART = 80;
/** So long that stores with names of 80 characters can share one, each below two parts of its own. */
const MAX_NAME = 100;

/** Is it a name that every engine can keep? No part of it is empty, `.` or `..`. */
export function isBlobName(name: string): boolean {
	return /^(?!\.{1,2}(\/|$))[\w.-]+(\/(?!\.{1,2}(\/|$))[\w.-]+)*$/.test(name) && fits(name);
}

const fits = (name: string): boolean =>
	name.length <= MAX_NAME && name.split("/").every((part) => part.length <= MAX_PART);

/** The name, if it is one. */
export function checkedBlobName(name: string): string {
	if (isBlobName(name)) return name;
	throw new WalError(
		"WAL_INVALID_RECORD",
		`${JSON.stringify(name)} is no name of a blob; expected parts of letters, digits, ".", "_" and "-", divided by "/": ${MAX_PART} characters each at most, and ${MAX_NAME} together`,
		{ name },
	);
}
