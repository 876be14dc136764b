/**
 * Which texts of skills may run in a project. A project may come from a stranger, and changes with each pull, so a person says it once for
 * each text: what they have said is kept outside of all projects, by the directory, and the name and the hash of each file.
 */
import { mkdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { oneLine } from "@reyn/operator/text";
import { type SkillFile, skillFilesIn } from "@reyn/skill-resume/files";
import { codeOf } from "@reyn/wal";
import { atomicWrite } from "@reyn/wal/internal";
import { z } from "zod";
import { answered } from "../confirm.ts";
import { err } from "../print.ts";
import { secretsDirectory } from "../trust.ts";

/** By the real path of a directory: the hash of each file, by its name. */
const trustedSchema = z.record(z.string(), z.record(z.string(), z.string()));

const fileOf = (): string => join(secretsDirectory(), "trusted-skills.json");

/** Says of a file of this directory whether it may run. What cannot be read trusts nothing. */
export function trustedIn(directory: string): (file: SkillFile) => boolean {
	const files = new Map(Object.entries(all()[realOf(directory)] ?? {}));
	return ({ name, hash }) => files.get(name) === hash;
}

/** The files of a directory that are new, or have changed, since a person has said that they may run. */
export function untrustedIn(directory: string): readonly SkillFile[] {
	const isTrusted = trustedIn(directory);
	return skillFilesIn(directory).filter((file) => !isTrusted(file));
}

/** What lies in this directory may run, as it is now, or as it was when it was shown. */
export async function remember(directory: string, files = skillFilesIn(directory)): Promise<void> {
	const now = Object.fromEntries(files.map(({ name, hash }) => [name, hash]));
	if (files.length === 0) return;
	try {
		mkdirSync(dirname(fileOf()), { recursive: true, mode: 0o700 });
		await atomicWrite(fileOf(), `${JSON.stringify({ ...all(), [realOf(directory)]: now }, null, "\t")}\n`);
	} catch (error) {
		err.line(`reyn: that these skills may run cannot be kept: ${oneLine((error as Error).message, 200)}`);
	}
}

/** In this process. */
const asked = new Set<string>();

/** Asks once about what is new. Where the answer is no, or nobody can be asked, all else goes on without these skills. */
export async function askAboutSkills(
	directory: string,
	{ trust = false }: { readonly trust?: boolean },
): Promise<void> {
	if (trust) return remember(directory);
	if (asked.has(directory)) return;
	const fresh = untrustedIn(directory);
	if (fresh.length === 0) return;
	asked.add(directory);
	const names = oneLine(fresh.map(({ name }) => name).join(", "), 300);
	const what = `skills in ${directory} are new, or have changed since you said that they may run: ${names}`;
	if (!process.stdin.isTTY) return void err.line(`reyn: ${what}. They do not run before you say --trust`);
	err.lines([what, "their code runs with your rights, and no tool's permission holds it: read it first"]);
	const all = skillFilesIn(directory);
	if (await answered("may they run?", false)) await remember(directory, all);
}

function all(): z.infer<typeof trustedSchema> {
	try {
		return trustedSchema.parse(JSON.parse(readFileSync(fileOf(), "utf8")));
	} catch {
		return {};
	}
}

/** The same directory by another path is the same. */
function realOf(directory: string): string {
	try {
		return realpathSync(directory);
	} catch (error) {
		if (codeOf(error) !== "ENOENT") throw error;
		return directory;
	}
}
