/** Files that a person gives with a prompt: read here, and only where they can be attached. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { assertSize, attachedAs } from "@reyn/journal/internal";
import type { GivenFile } from "@reyn/runtime";
import { codeOf } from "@reyn/wal";
import { CliError } from "./exit-code.ts";

/** @throws CliError `CLI_NOT_FOUND`, `CLI_USAGE`; JournalError `FILE_REFUSED` */
export async function readAttached(path: string, directory = "."): Promise<GivenFile> {
	const at = resolve(directory, path);
	// Does not wait for whoever would write into a pipe.
	const file = await open(at, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
		const code = codeOf(error);
		const what = code === "ENOENT" ? "there is no file" : `${code}: cannot read`;
		throw new CliError(code === "ENOENT" ? "CLI_NOT_FOUND" : "CLI_USAGE", `${what} ${at}; give an image or a PDF`);
	});
	try {
		const stat = await file.stat();
		if (!stat.isFile()) throw new CliError("CLI_USAGE", `${at} is no regular file; give an image or a PDF`);
		assertSize(basename(at), stat.size);
		const given = { name: basename(at), bytes: await file.readFile() };
		attachedAs(given.name, given.bytes);
		return given;
	} finally {
		await file.close();
	}
}

/** The images and PDFs that a prompt names as `@shot.png`, each once. Other files an agent reads by itself. */
export const namedIn = (prompt: string): readonly string[] => [
	...new Set(
		[...prompt.matchAll(/(?<=^|\s)@(\S+\.(?:png|jpe?g|gif|webp|pdf))(?=[\s,;:.?!)]|$)/gi)].map(([, path = ""]) => path),
	),
];
