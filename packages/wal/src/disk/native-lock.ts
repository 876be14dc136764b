/// <reference path="./fs-native-extensions.d.ts" />
/**
 * The system's lock on an open file. Node has none, so an addon takes it, which is loaded when a lock is first asked for. There is no other
 * kind: two kinds would not see each other (docs/adr/0032-locks-are-of-one-kind.md).
 */
import { createRequire } from "node:module";
import { codeOf, WalError } from "../errors.ts";

/** A byte behind all that is written: Windows lets nobody read what another has locked. */
const LOCKED_AT = 2 ** 31 - 1;

type Addon = Pick<typeof import("fs-native-extensions"), "tryLock">;
let addon: Addon | undefined;

/**
 * Locks an open file for as long as it is open. @returns false when somebody else has it
 *
 * @throws WalError `WAL_IO` where the addon cannot be loaded
 */
export function tryLock(fd: number): boolean {
	addon ??= load();
	return addon.tryLock(fd, LOCKED_AT, 1);
}

function load(): Addon {
	const require = createRequire(import.meta.url);
	try {
		return require(PACKAGE);
	} catch (cause) {
		const found = codeOf(cause) === "ADDON_NOT_FOUND" ? ofGlibc(require) : undefined;
		if (found) return found;
		throw noLock(cause as Error);
	}
}

const PACKAGE = "fs-native-extensions";

/** On Alpine the addon looks for a binary of musl, and has none. The one of glibc is found by its place; of what musl lacks it uses nothing. */
function ofGlibc(require: NodeJS.Require): Addon | undefined {
	try {
		const { tryLock } = require(`${PACKAGE}/prebuilds/linux-${process.arch}/${PACKAGE}.node`);
		return {
			tryLock(...range) {
				try {
					tryLock(...range, true);
					return true;
				} catch (error) {
					if (codeOf(error) === "EAGAIN") return false;
					throw error;
				}
			},
		};
	} catch {
		return undefined;
	}
}

function noLock(cause: Error): WalError {
	const platform = `${process.platform}-${process.arch}`;
	const [missing, what] = missingOf(cause, platform);
	return new WalError(
		"WAL_IO",
		`no file can be locked here: ${what}. What needs no lock works: readOnly, memoryEngine, @reyn/wal/sqlite`,
		{ platform, code: "NO_LOCK", missing },
		{ cause },
	);
}

/** What is not there, and what to do about it. */
function missingOf(cause: Error, platform: string): readonly [missing: string, what: string] {
	const why = cause.message.split("\n")[0];
	switch (codeOf(cause.cause) ?? codeOf(cause)) {
		case "MODULE_NOT_FOUND":
			return ["package", `${PACKAGE} is not installed (${why}). Install it; a bundler has to leave it out`];
		case "ERR_DLOPEN_DISABLED":
			return ["permission", `Node was told to load no addons, and ${PACKAGE} is one. Allow it (--allow-addons)`];
		case "ADDON_NOT_FOUND":
			return [
				"binary",
				`${PACKAGE} has no binary for ${platform}; it has them for Linux, macOS and Windows on x64 and arm64`,
			];
		default:
			return ["addon", `${PACKAGE} cannot be loaded on ${platform} (${why})`];
	}
}
