/** Where there is bubblewrap, a command can write in its directory and in a temporary one of its own alone. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The same on every call: what a system can do does not change. */
let found: Promise<boolean> | undefined;

/** Is bubblewrap there, and may it be used? */
export function hasBubblewrap(): Promise<boolean> {
	found ??= run("bwrap", [...walls, "true"], { timeout: 5000 }).then(
		() => true,
		() => false,
	);
	return found;
}

const walls = [
	"--ro-bind",
	"/",
	"/",
	"--dev",
	"/dev",
	"--proc",
	"/proc",
	"--tmpfs",
	"/tmp",
	"--unshare-pid",
	"--die-with-parent",
	"--new-session",
];

/** @param closed directories that are empty there */
export const confined = (directory: string, closed: readonly string[], argv: readonly string[]): readonly string[] => [
	...["bwrap", ...walls, "--bind", directory, directory],
	...closed.flatMap((each) => ["--tmpfs", each]),
	...["--chdir", directory, "--", ...argv],
];
