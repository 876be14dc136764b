/** Finds skills: what loads can be run, and what does not is named, and stops nothing else. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isReynError, systemTimers, type Timers } from "@reyn/wal";
import type { Skill } from "../define-skill.ts";
import { asSkill } from "../definition.ts";
import { SkillError } from "../errors.ts";
import type { FoundSkills, SkillProblem } from "../found-skills.ts";
import { type Loaded, loadModule, loadPackage, untrusted, withoutTypes } from "./loading.ts";
import { hashOf, isSkillName, type SkillFile, skillFilesIn, skillNameOf, textOf } from "./skill-files.ts";

/** A directory whose files define skills, each one that is called as its file: `report.ts` default-exports the skill `report`. */
export interface SkillDirectory {
	readonly directory: string;
	/** May this text run here? It is asked about each file that a skill is made of. Default: all may. */
	isTrusted?(file: SkillFile): boolean;
}

/** A package whose default export is a skill, or a list of skills. */
export interface SkillPackage {
	readonly name: string;
	/** The directory from which it is looked for, as an import there would be. */
	readonly from: string;
}

/** Where skills are looked for. Of two that are called the same the first is taken, in this order: `taken`, `directories`, `packages`. */
export interface SkillPlaces {
	readonly directories?: readonly SkillDirectory[];
	readonly packages?: readonly SkillPackage[];
	/** Skills that there are already. */
	readonly taken?: readonly Skill[];
	/** What files of directories get for a package that they import, whatever is installed: the URL of a module, by the package's name. */
	readonly provides?: Readonly<Record<string, string>>;
	/** The timers of the limit. Default: those of the system. */
	readonly timers?: Timers;
}

const EXPORTED = ["SKILL_LOAD", "its default export is no skill"] as const;

/** A module may wait at its top for something that never comes. In milliseconds. */
const MOST_MS = 10_000;

/** What was loaded before, by the path of its file: a file is not run again while it, and what it imports, are as they were. */
const before = new Map<string, { readonly read: Loaded["read"]; readonly skill: Skill }>();

/** Loads all skills of these places: their modules run in this process. Call it again to have what was edited since. Never throws. */
export async function findSkills({
	directories = [],
	packages = [],
	taken = [],
	provides = {},
	timers = systemTimers,
}: SkillPlaces): Promise<FoundSkills> {
	const skills: Skill[] = [];
	const problems: SkillProblem[] = [];
	const add = (skill: Skill, path: string): void => {
		const first = [...taken, ...skills].find(({ name }) => name === skill.name);
		if (!first) return void skills.push(skill);
		const of = first.source ? first.source.path : "a skill that is built in";
		const why = `${path}: there is a skill ${skill.name} already, ${of}; call this one otherwise`;
		problems.push({ name: skill.name, path, error: new SkillError("SKILL_TWICE", why, { path, skill: skill.name }) });
	};
	for (const place of directories) {
		for (const file of filesOf(place, problems)) {
			const path = join(place.directory, file.name);
			try {
				add(await skillIn(path, file, place, provides, timers), path);
			} catch (error) {
				problems.push({ name: skillNameOf(file.name), path, error: asProblem(path, error) });
			}
		}
	}
	for (const { name, from } of packages) {
		try {
			const { exports, hash = "" } = await inTime(loadPackage(name, from), timers);
			for (const each of [exports.default].flat())
				add({ ...asSkill(each, ...EXPORTED), source: { path: name, hash } }, `the package ${name}`);
		} catch (error) {
			problems.push({ name, path: name, error: asProblem(name, error) });
		}
	}
	return { skills, problems };
}

function filesOf({ directory }: SkillDirectory, problems: SkillProblem[]): readonly SkillFile[] {
	try {
		return skillFilesIn(directory).filter(({ name }) => isSkillName(name));
	} catch (error) {
		const { message } = error as Error;
		const found = new SkillError("SKILL_LOAD", `${directory} cannot be read: ${message}`, { path: directory });
		problems.push({ name: "", path: directory, error: found });
		return [];
	}
}

async function skillIn(
	path: string,
	file: SkillFile,
	{ directory, isTrusted = () => true }: SkillDirectory,
	provides: Readonly<Record<string, string>>,
	timers: Timers,
): Promise<Skill> {
	const known = before.get(path);
	if (!isTrusted(file)) throw untrusted(file.name);
	if (known && isAsItWas(known.read, skillFilesIn(directory), isTrusted)) return known.skill;
	const { exports, read } = await inTime(loadModule(path, { directory, isTrusted, provides }), timers);
	if (!("default" in exports))
		throw new SkillError("SKILL_LOAD", "it has no default export; expected export default defineSkill({ … })");
	const skill = { ...asSkill(exports.default, ...EXPORTED), source: { path, hash: hashOfAll(file, read) } };
	const name = skillNameOf(file.name);
	if (skill.name !== name)
		throw new SkillError(
			"SKILL_LOAD",
			`it defines the skill "${skill.name}", and a file is called as its skill: call one as the other`,
			{ skill: skill.name },
		);
	before.set(path, { read, skill });
	return skill;
}

function isAsItWas(
	read: Loaded["read"],
	now: readonly SkillFile[],
	isTrusted: NonNullable<SkillDirectory["isTrusted"]>,
): boolean {
	const files = new Map(now.map((file) => [file.name, file]));
	return [...read].every(([name, hash]) => files.get(name)?.hash === hash && isTrusted({ name, hash }));
}

/** Of a file that imports none beside it, that of the file itself; else over the names and hashes of all. */
function hashOfAll({ name, hash }: SkillFile, read: Loaded["read"]): string {
	const others = [...read].filter(([each]) => each !== name).sort(([a], [b]) => (a < b ? -1 : 1));
	if (others.length === 0) return read.get(name) ?? hash;
	return hashOf(JSON.stringify([[name, read.get(name) ?? hash], ...others]));
}

async function inTime<T>(loading: Promise<T>, timers: Timers): Promise<T> {
	let stop = (): void => {};
	const late = new Promise<never>((_, reject) => {
		const why = `its module waits at its top for more than ${MOST_MS / 1000} s; do in a phase what takes time`;
		stop = timers.after(MOST_MS, () => reject(new SkillError("SKILL_LOAD", why)));
	});
	try {
		return await Promise.race([loading, late]);
	} finally {
		stop();
	}
}

/** Named with its file, and its line where that is known. */
function asProblem(path: string, error: unknown): SkillError {
	const line = lineIn(path, error) ?? (error instanceof SyntaxError ? brokenLine(path) : undefined);
	const at = line === undefined ? path : `${path}:${line}`;
	const { message } = error instanceof Error ? error : new Error(String(error));
	// One of another copy of this package has the same codes.
	const known = isReynError(error, "SKILL_LOAD", "SKILL_GRAPH", "SKILL_UNTRUSTED") ? error : undefined;
	const isSyntax = error instanceof SyntaxError || /SYNTAX/.test((error as { code?: string } | null)?.code ?? "");
	const why = known || isSyntax ? message : `it throws when it is loaded: ${message}`;
	const detail = { ...known?.detail, path, ...(line !== undefined && { line }) };
	return new SkillError(known?.code ?? "SKILL_LOAD", `${at}: ${why}`, detail, { cause: error });
}

/** Node keeps to itself in which line JavaScript is broken; who erases types says it. */
function brokenLine(path: string): number | undefined {
	try {
		withoutTypes(textOf(path) ?? "");
		return undefined;
	} catch (error) {
		return lineIn(path, error);
	}
}

/** The first line of this file in a stack trace: there it throws, or is not as it should be. */
function lineIn(path: string, error: unknown): number | undefined {
	const { stack } = (error ?? {}) as { readonly stack?: unknown };
	if (typeof stack !== "string") return undefined;
	const { href } = pathToFileURL(path);
	for (const part of stack.split("\n")) {
		const at = part.indexOf(href);
		const found = at < 0 ? null : /^(?:\?[^:]*)?:(\d+)/.exec(part.slice(at + href.length));
		if (found) return Number(found[1]);
	}
	// Where types are erased, the place is said by its line alone.
	const [, first] = /^[^\n]*:(\d+)\n/.exec(stack) ?? [];
	return first === undefined ? undefined : Number(first);
}
