/** A file that a person names: written where there is none yet, or refused in words. */
import { open, rm } from "node:fs/promises";
import { codeOf } from "@reyn/wal";
import { CliError } from "./exit-code.ts";

/** What to do where there is such a file, and where there cannot be one. */
export interface FileAdvice {
	readonly taken?: string;
	readonly impossible?: string;
}

/** @throws CliError as {@link unwritable} says; what was begun is taken away */
export async function writeNew(path: string, text: string, advice?: FileAdvice): Promise<void> {
	try {
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
	} catch (error) {
		throw unwritable(path, error, advice);
	}
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
