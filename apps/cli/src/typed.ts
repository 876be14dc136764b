/** What was typed for a verb, made into what it takes: a script in place of the path of its file, and what JSON says. */
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { typedName, type Verb } from "@reyn/operator";
import { CliError } from "./exit-code.ts";

type Raw = Readonly<Record<string, unknown>>;

/** Where JSON of a param may stand in a file, the name of the option that takes its path: `argsFile`, typed as `--args-file`. */
export const fileOption = (name: string): string => `${name}File`;

/** @throws CliError `CLI_NOT_FOUND`, `CLI_USAGE` */
export async function readTyped({ params }: Verb, typed: Raw): Promise<Raw> {
	const raw: Record<string, unknown> = { ...typed };
	for (const [name, { reads }] of Object.entries(params)) {
		if (reads === "json") {
			raw[name] = await json(name, typed);
			delete raw[fileOption(name)];
		} else if (reads === "script" && typeof raw[name] === "string") raw[name] = await script(raw[name]);
	}
	return raw;
}

async function script(file: string): Promise<{ readonly name: string; readonly source: string }> {
	return { name: basename(file), source: await readInput(file, "the script", "a TypeScript file") };
}

/** Undefined where none is given. */
async function json(name: string, typed: Raw): Promise<unknown> {
	const [text, file] = [typed[name], typed[fileOption(name)]] as (string | undefined)[];
	const [option, other] = [name, fileOption(name)].map((each) => `--${typedName(each)}`);
	if (text !== undefined && file !== undefined) throw new CliError("CLI_USAGE", `give ${option} or ${other}, not both`);
	const given = file === undefined ? text : await readInput(file, "the arguments", "a JSON file");
	try {
		return given === undefined ? undefined : JSON.parse(given);
	} catch (error) {
		const where = file === undefined ? option : resolve(file);
		throw new CliError("CLI_USAGE", `${where}: expected JSON; ${(error as Error).message}`);
	}
}

/** @throws CliError `CLI_NOT_FOUND`, `CLI_USAGE` */
async function readInput(file: string, what: string, expected: string): Promise<string> {
	try {
		return await readFile(file, "utf8");
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		throw new CliError(
			code === "ENOENT" ? "CLI_NOT_FOUND" : "CLI_USAGE",
			`${what} ${resolve(file)} cannot be read (${code}); give the path of ${expected}`,
		);
	}
}
