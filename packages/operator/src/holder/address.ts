/** Where the process that has the log listens: a socket in the state directory, for its owner alone. */
import { closeSync, constants, lstatSync, openSync, type Stats } from "node:fs";
import { join } from "node:path";
import { codeOf } from "@reyn/wal";
import { assertOwnDirectory } from "@reyn/wal/internal";
import { OperatorError } from "../errors.ts";

const NAME = "holder.sock";

/** What fits into the address of a socket, with its end, on every system. */
const LONGEST_PATH = 103;

/** Has this system sockets in directories that are known to be for their owner alone? */
export const hasSockets = process.platform !== "win32";

export const socketIn = (directory: string): string => join(directory, NAME);

/**
 * Uses the path of the socket, in a form that fits into an address however long the directory's is.
 *
 * @throws OperatorError `OPERATOR_HOLDER` where there is no such form
 */
export function atAddress<T>(directory: string, use: (path: string) => T): T {
	const path = socketIn(directory);
	if (Buffer.byteLength(path) <= LONGEST_PATH) return use(path);
	if (process.platform !== "linux")
		throw new OperatorError("OPERATOR_HOLDER", `${path} is too long for the address of a socket`, { path });
	const opened = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
	try {
		return use(`/proc/self/fd/${opened}/${NAME}`);
	} finally {
		closeSync(opened);
	}
}

/**
 * The socket that is there, if there is one that is this user's own.
 *
 * @throws OperatorError `OPERATOR_HOLDER` for a link, a file, another user's, or one that others may use
 */
export function ownSocket(directory: string): Stats | undefined {
	assertOwnDirectory(directory);
	const path = socketIn(directory);
	let found: Stats;
	try {
		found = lstatSync(path);
	} catch (error) {
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	}
	const why = !found.isSocket()
		? "is no socket"
		: found.uid !== process.getuid?.()
			? "is another user's"
			: (found.mode & 0o077) !== 0
				? "can be used by others"
				: undefined;
	if (why === undefined) return found;
	throw new OperatorError(
		"OPERATOR_HOLDER",
		`${path} ${why}, so nothing is said to it. Take it away; whoever works there next makes one`,
		{ path },
	);
}
