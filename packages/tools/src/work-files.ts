/** The files of a directory for who wants to know what they hold now, through the door that the tools go through. */
import type { FileContent, WorkFiles } from "@reyn/journal";
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
	};
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
