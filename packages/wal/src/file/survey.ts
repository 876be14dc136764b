/** Looks at a log's files without changing any: what there is, and what `wal.head` claims. */
import { dirname } from "node:path";
import { type Disk, type DiskFile, readAt } from "../disk/disk.ts";
import {
	type Base,
	type Decoded,
	decodeLine,
	HEAD_BYTES,
	type Head,
	type SegmentFooter,
	type SegmentHeader,
} from "../record/codec.ts";
import { activePath, basePath, headPath, isBroken, sealedPath, sealedPaths } from "./names.ts";
import { withFile } from "./records.ts";
import { type Scan, scan } from "./scan.ts";

export interface Survey {
	readonly sealed: readonly Sealed[];
	/** Undefined when there is no `wal.jsonl`. */
	readonly active: Scan | undefined;
	/** Undefined when the head is missing or rotten: it is a lower bound only, and then there is none. */
	readonly head: Head | undefined;
	/** Undefined when nothing was ever taken away. */
	readonly base: Base | "unsound" | undefined;
	/** The sealed segments before the base, which count no more: a truncation that was cut has left them. */
	readonly passedOver: readonly string[];
	/** The head or the base, if a newer Reyn wrote it. */
	readonly newer: { readonly path: string; readonly version: number } | undefined;
}

export interface Sealed {
	readonly path: string;
	/** Why its first or last line does not check out, if one does not. */
	readonly broken: string | undefined;
	/** The version that a newer Reyn wrote it in, if that is what is wrong. */
	readonly version: number | undefined;
	readonly header: SegmentHeader;
	readonly footer: SegmentFooter;
}

/**
 * Reads the active segment, and the two ends of each sealed one.
 *
 * @param how `quick`: of the active segment the part that the head vouches for is only summed up
 */
export function survey(disk: Disk, directory: string, how: "quick" | "whole"): Survey {
	// First of all: it never says more than is durable, so what is read after it holds at least that much.
	const headLine = readHeadLine(disk, directory);
	const head = headOf(headLine);
	const baseLine = readBaseLine(disk, directory);
	const base = baseLine && (baseLine.type === "base" ? baseLine.base : "unsound");
	const names = disk.list(directory);
	const isKept = (path: string): boolean => typeof base !== "object" || path >= sealedPath(directory, base.first);
	const paths = sealedPaths(directory, names);
	// Which of the files with damaged bytes are known to the log only its records say.
	const isQuick = how === "quick" && !names.some(isBroken);
	return {
		sealed: paths.filter(isKept).map((path) => readSealed(disk, path)),
		active: names.includes("wal.jsonl")
			? withFile(disk, activePath(directory), (file) => scan(file, isQuick ? head : undefined))
			: undefined,
		head,
		base,
		passedOver: paths.filter((path) => !isKept(path)),
		newer: newerOf(headPath(directory), headLine) ?? newerOf(basePath(directory), baseLine),
	};
}

/** The id of a log, from the header of its oldest segment alone. */
export function readLogId(disk: Disk, directory: string): string | undefined {
	const names = disk.list(directory);
	const path = sealedPaths(directory, names)[0] ?? (names.includes("wal.jsonl") ? activePath(directory) : undefined);
	const decoded = path === undefined ? undefined : withFile(disk, path, (file) => readFirst(file));
	return decoded?.type === "header" ? decoded.header.log : undefined;
}

/** A footer is one short line; more than this is something else. */
const FOOTER_BYTES = 512;
const HEADER_BYTES = 512;

/** The first line of a segment, without the rest of it. */
export function readFirst(file: DiskFile): Decoded {
	const front = readAt(file, 0, HEADER_BYTES);
	const end = front.indexOf("\n");
	return decodeLine(front, 0, end === -1 ? front.length : end);
}

function readSealed(disk: Disk, path: string): Sealed {
	return withFile(disk, path, (file) => {
		const header = readFirst(file);
		const size = file.size();
		const from = Math.max(0, size - FOOTER_BYTES);
		const tail = readAt(file, from, size - from);
		const start = tail.lastIndexOf("\n", tail.length - 2) + 1;
		const footer = decodeLine(tail, start, tail.at(-1) === 0x0a ? tail.length - 1 : tail.length);
		const broken =
			header.type !== "header"
				? "its first line is no header"
				: footer.type !== "footer"
					? "its last line is no footer"
					: footer.footer.first !== header.header.first || path !== sealedPath(dirname(path), header.header.first)
						? "its footer or its name is of another segment"
						: undefined;
		return {
			path,
			broken,
			version: header.type === "newer" ? scan(file).bad?.version : footer.type === "newer" ? footer.version : undefined,
			header: header.type === "header" ? header.header : { log: "", first: 0, prev: "", epoch: 0, created: 0 },
			footer: footer.type === "footer" ? footer.footer : { first: 0, last: 0, prev: "", epoch: 0 },
		};
	});
}

/** Undefined when it is missing or unsound. */
export const readHead = (disk: Disk, directory: string): Head | undefined => headOf(readHeadLine(disk, directory));

const headOf = (line: Decoded | undefined): Head | undefined => (line?.type === "head" ? line.head : undefined);

function readHeadLine(disk: Disk, directory: string): Decoded | undefined {
	if (disk.identity(headPath(directory)) === undefined) return undefined;
	const text = withFile(disk, headPath(directory), (file) => readAt(file, 0, HEAD_BYTES)).toString("latin1");
	const line = text.length === HEAD_BYTES ? text.replace(/ *\n$/, "") : "";
	return decodeLine(Buffer.from(line, "latin1"));
}

function readBaseLine(disk: Disk, directory: string): Decoded | undefined {
	const path = basePath(directory);
	return disk.identity(path) === undefined ? undefined : withFile(disk, path, readFirst);
}

const newerOf = (path: string, line: Decoded | undefined): Survey["newer"] =>
	line?.type === "newer" && line.isSound ? { path, version: line.version } : undefined;
