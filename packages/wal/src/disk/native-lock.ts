/// <reference path="./fs-native-extensions.d.ts" />
/** The system's lock on an open file. Node has none, so an addon takes it, which is loaded when a lock is first asked for. */
import { createRequire } from "node:module";
import { WalError } from "../errors.ts";

/** A byte behind all that is written: Windows lets nobody read what another has locked. */
const LOCKED_AT = 2 ** 31 - 1;

type Addon = typeof import("fs-native-extensions");
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
	try {
		return createRequire(import.meta.url)("fs-native-extensions") as Addon;
	} catch (cause) {
		const platform = `${process.platform}-${process.arch}`;
		const { message } = cause as Error;
		throw new WalError(
			"WAL_IO",
			`no file can be locked here: fs-native-extensions cannot be loaded on ${platform} (${message.split("\n")[0]}). It has binaries for Linux with glibc, macOS and Windows; a bundler has to leave it out. What needs no lock works: readOnly, memoryEngine, @reyn/wal/sqlite`,
			{ platform, code: "NO_LOCK" },
			{ cause },
		);
	}
}
