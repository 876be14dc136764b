/** What is asked most, by scripts and by who is new, and needs nothing of all that a command loads: the version, and the help as the build wrote it down. */
import { readFileSync } from "node:fs";
import { out } from "./print.ts";
import { heedReaders } from "./stop.ts";
import { version } from "./version.ts";

/** @returns was that an answer? From source there is no help that was written down. */
export function answerAtOnce(flag: string): boolean {
	const text = /^(-V|--version)$/.test(flag) ? version() : writtenHelp();
	if (text === undefined) return false;
	heedReaders();
	out.text(text.trimEnd());
	return true;
}

function writtenHelp(): string | undefined {
	try {
		return readFileSync(new URL("./help.txt", import.meta.url), "utf8");
	} catch {
		return undefined;
	}
}
