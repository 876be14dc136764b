/** The files of a directory for who wants to know what they hold now, through the door that the tools go through. */
import type { FileContent, WorkFiles } from "@reyn/journal";
import { systemTimers } from "@reyn/wal";
import { Effort } from "./effort.ts";
import { ToolError } from "./errors.ts";
import { openRoot, parsePath, type RootDirectory, type RootOptions, showPath } from "./root-directory.ts";
import { showBytes } from "./text-file.ts";

/** Larger files are not read, and not changed. */
export const MAX_FILE_BYTES = 1_000_000;

export interface WorkFilesOptions extends RootOptions {
	/** Of files above this size it is not said what they hold. Default 1 MB. */
	readonly maxFileBytes?: number;
}

/** Give it the options that the tools have: what is closed to them is closed here. */
export function createWorkFiles(root: string, options: WorkFilesOptions = {}): WorkFiles {
	const { maxFileBytes = MAX_FILE_BYTES } = options;
	const through = sharedDoor(root, options);
	return {
		async read(path): Promise<FileContent> {
			try {
				const found = await through((door) => contentAt(door, path, maxFileBytes));
				return found ? { kind: "file", ...found } : { kind: "none" };
			} catch (error) {
				return { kind: "unknown", why: (error as Error).message };
			}
		},
		async put(path, content, how): Promise<void> {
			const { bytes, mode } = content ?? {};
			if (bytes) assertSize(showPath(path), bytes.length, maxFileBytes, "would have");
			const put = { ...how, ...(mode !== undefined && { mode }) };
			await through((door) => door.change(parsePath(path), bytes, put));
		},
		async forget(path, token): Promise<void> {
			await through((door) => door.forget(parsePath(path), token));
		},
		directories: {
			missing: (path) => through((door) => missingOn(door, path)),
			clear: (path, from) =>
				through(async (door) => {
					const least = parsePath(from).length;
					for (let names = parsePath(path); names.length >= least; names = names.slice(0, -1))
						if (!(await door.clear(names))) return;
				}),
			inside: (path) => through((door) => inside(door, parsePath(path))),
		},
	};
}

/** The uppermost directory on the way to a file that is missing. */
export async function missingOn(root: RootDirectory, path: string): Promise<string | undefined> {
	const names = parsePath(path);
	const depth = await root.depth(names);
	return depth < names.length - 1 ? names.slice(0, depth + 1).join("/") : undefined;
}

/** Of a directory with more than these nobody needs to know: it is not one that changes of tools have made. */
const MOST_INSIDE = 10_000;

async function inside(root: RootDirectory, top: readonly string[]): Promise<readonly string[] | undefined> {
	const limits = { maxFiles: MOST_INSIDE, maxBytes: 0, maxMs: 10_000, maxCompared: 0 };
	// Not by `using`: writers run from source in the oldest Node too, which has none.
	const effort = new Effort(limits, new AbortController().signal, systemTimers);
	try {
		return await foundInside(root, top, effort);
	} finally {
		effort[Symbol.dispose]();
	}
}

async function foundInside(
	root: RootDirectory,
	top: readonly string[],
	effort: Effort,
): Promise<readonly string[] | undefined> {
	const found: string[] = [];
	const left = [top];
	for (let names = left.pop(); names; names = left.pop()) {
		const directory = await root.directory(names).catch(() => undefined);
		if (!directory) return names === top ? undefined : [...found, names.join("/")];
		try {
			const { files, links, directories } = await directory.entries(effort, MOST_INSIDE);
			found.push(...[...files, ...links].map((name) => directory.below(name)));
			left.push(...directories.map((name) => [...(names ?? []), name]));
			if (names !== top && files.length + links.length + directories.length === 0) found.push(directory.path);
		} finally {
			await directory.close();
		}
		if (found.length > MOST_INSIDE) break;
	}
	return found;
}

/** Opens the root once for all who go through at the same time: that takes longer than what most of them do. */
function sharedDoor(root: string, options: RootOptions) {
	let inUse: { readonly door: Promise<RootDirectory>; users: number } | undefined;
	return async <T>(go: (door: RootDirectory) => Promise<T>): Promise<T> => {
		inUse ??= { door: openRoot(root, options), users: 0 };
		const mine = inUse;
		mine.users++;
		try {
			return await go(await mine.door);
		} finally {
			mine.users--;
			if (mine.users === 0 && inUse === mine) inUse = undefined;
		}
	};
}

/**
 * What a file holds, and its permissions; undefined: there is none.
 *
 * @throws ToolError `TOOL_TOO_LARGE`, and as {@link RootDirectory} does
 */
export async function contentAt(
	root: RootDirectory,
	at: string,
	maxFileBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly mode: number } | undefined> {
	const found = await root.file(parsePath(at)).catch((error: unknown) => {
		if (error instanceof ToolError && error.detail.isAbsent) return undefined;
		throw error;
	});
	if (!found) return undefined;
	try {
		assertSize(showPath(at), found.bytes, maxFileBytes);
		const { mode } = await found.handle.stat();
		return { bytes: await found.handle.readFile(), mode: mode & 0o777 };
	} finally {
		await found.handle.close();
	}
}

export function assertSize(name: string, bytes: number, maxFileBytes: number, has = "has"): void {
	if (bytes <= maxFileBytes) return;
	const most = showBytes(maxFileBytes);
	throw new ToolError("TOOL_TOO_LARGE", `${name} ${has} more than ${most}; files above that are not changed`);
}
