/** A file that a person names: written where there is none yet, or refused in words. */
import { randomBytes } from "node:crypto";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "@reyn/wal";
import { CliError } from "./exit-code.ts";

/** What to do where there is such a file, and where there cannot be one. */
export interface FileAdvice {
	readonly taken?: string;
	readonly impossible?: string;
}

/** All of it or nothing, also where the process is killed. @throws CliError as {@link unwritable} says; what was begun is taken away */
export async function writeNew(path: string, text: string, advice?: FileAdvice): Promise<void> {
	const made = `${path}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		await writeSynced(made, text);
		try {
			// Unlike a rename it takes the place of nothing.
			await link(made, path);
		} catch (error) {
			if (!withoutLinks.has(codeOf(error) ?? "")) throw error;
			await writeSynced(path, text);
		} finally {
			await rm(made, { force: true });
		}
		await syncDirectory(dirname(path));
	} catch (error) {
		throw unwritable(path, error, advice);
	}
}

/** How a file system says that it has no second names of files. */
const withoutLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

async function writeSynced(path: string, text: string): Promise<void> {
	const file = await open(path, "wx");
	try {
		await file.writeFile(text);
		await file.sync();
	} catch (error) {
		await rm(path, { force: true });
		throw error;
	} finally {
		await file.close();
	}
}

/** Where a system opens no directories it cannot be done. */
async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, "r").catch(() => undefined);
	await directory?.sync().catch(() => {});
	await directory?.close();
}

/** @returns CliError `CLI_REFUSED` where there is such a file, else `CLI_USAGE` */
export function unwritable(
	path: string,
	error: unknown,
	{ taken = "give another name", impossible = "give the path of a file" }: FileAdvice = {},
): CliError {
	const code = codeOf(error);
	if (code === "EEXIST") return new CliError("CLI_REFUSED", `${path} is there already; ${taken}`);
	return new CliError("CLI_USAGE", `${path} cannot be written (${code}); ${impossible}`);
}
