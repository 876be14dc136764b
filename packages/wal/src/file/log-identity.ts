/** Which log lies in a directory, and whose, without reading it. */
import fs from "node:fs";
import { join } from "node:path";
import { assertOwnDirectory, openOwn } from "../disk/own-files.ts";
import { codeOf, WalError } from "../errors.ts";
import { decodeLine } from "../record/codec.ts";
import { activePath, basePath, sealedPaths } from "./names.ts";

/** A header is shorter. */
const HEADER_BYTES = 1024;

/** Texts that are drawn at random. */
export interface LogIdentity {
	/** Given to the log when it was made. */
	readonly log: string;
	/** Given to it by the option `adopt`, the last time. */
	readonly adopted?: string;
	/** The paths of its other segments, oldest first, and of its base, that do not say the same of `adopted`. */
	others(): readonly string[];
}

/**
 * Who a log over files is, as its newest segment says; undefined where there is no segment.
 *
 * @param directory of the log
 * @throws WalError `WAL_CORRUPT` when the newest segment does not say it, `WAL_UNSAFE` when it or a file of it is not this user's own;
 * else an error of the system
 */
export function logIdentityIn(directory: string): LogIdentity | undefined {
	assertOwnDirectory(directory);
	const names = namesIn(directory);
	const sealed = sealedPaths(directory, names);
	const active = activePath(directory);
	const newest = names.some((name) => join(directory, name) === active) ? active : sealed.at(-1);
	if (newest === undefined) return undefined;
	const decoded = decodeLine(firstLine(newest));
	if (decoded.type !== "header")
		throw new WalError("WAL_CORRUPT", `${newest} does not begin with the header of a segment`, {
			path: newest,
		});
	const { log, adopted } = decoded.header;
	const base = names.map((name) => join(directory, name)).filter((path) => path === basePath(directory));
	return {
		log,
		...(adopted === undefined ? {} : { adopted }),
		others: () => [...sealed, ...base].filter((path) => path !== newest && !says(path, adopted)),
	};
}

function says(path: string, adopted: string | undefined): boolean {
	const decoded = decodeLine(firstLine(path));
	if (decoded.type === "header") return decoded.header.adopted === adopted;
	return decoded.type === "base" && decoded.base.adopted === adopted;
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
		if (codeOf(error) === "ENOENT") return [];
		throw error;
	}
}
