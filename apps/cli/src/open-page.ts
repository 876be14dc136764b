/** Opens an address in the browser that this system shows pages with. The address is a key, so no argument of a process has it. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
	darwin: ["open"],
	win32: ["explorer.exe"],
};

/**
 * Shows a page that leads to the address, which lies in a file that this user alone can read.
 *
 * @returns takes the file away
 */
export async function openPage(address: string): Promise<() => Promise<void>> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-page-"));
	const file = join(directory, "reyn.html");
	const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}"><title>reyn</title>\n`;
	await writeFile(file, page, { mode: 0o600, flag: "wx" });
	const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
	const opener = spawn(program, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true });
	await new Promise<void>((resolve, reject) => opener.once("spawn", resolve).once("error", reject)).catch(
		async (error) => {
			await rm(directory, { recursive: true });
			throw error;
		},
	);
	opener.unref();
	return () => rm(directory, { recursive: true, force: true });
}
