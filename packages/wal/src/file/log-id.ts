/** Which log lies in a directory, without reading it. */
import fs from "node:fs";
import { join } from "node:path";
import { decodeLine } from "../codec.ts";
import { openOwn } from "../own-files.ts";
import { activePath, sealedPaths } from "./names.ts";

/** A header is shorter. */
const HEADER_BYTES = 1024;

/**
 * The random id that a log over files was given when it was made, as its newest segment says; undefined where none says it.
 *
 * @param directory of the log
 * @throws WalError `WAL_UNSAFE` when a file of it is not this user's own; else an error of the system
 */
export function logIdIn(directory: string): string | undefined {
	const names = namesIn(directory);
	for (const path of [activePath(directory), ...sealedPaths(directory, names).toReversed()]) {
		if (!names.some((name) => join(directory, name) === path)) continue;
		const decoded = decodeLine(firstLine(path));
		if (decoded.type === "header") return decoded.header.log;
	}
	return undefined;
}

function firstLine(path: string): Buffer {
	const file = openOwn(path, fs.constants.O_RDONLY);
	try {
		const bytes = Buffer.alloc(HEADER_BYTES);
		const read = bytes.subarray(0, fs.readSync(file, bytes, 0, HEADER_BYTES, 0));
		const end = read.indexOf("\n");
		return end < 0 ? read : read.subarray(0, end);
	} finally {
		fs.closeSync(file);
	}
}

function namesIn(directory: string): readonly string[] {
	try {
		return fs.readdirSync(directory);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	}
}
