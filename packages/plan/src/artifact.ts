/** What a plan keeps beside the log: `decomposition.json`, as the model made it and never made again, and large results of steps. */
import { createHash } from "node:crypto";
import { dirname, join, posix } from "node:path";
import { type SpilledText, spilledResults } from "@reyn/journal";
import { asFileName } from "@reyn/snapshot";
import { assertOwnDirectory, atomicWrite, type Draft, readOwnFile } from "@reyn/wal";
import { type Decomposition, decompositionSchema, MAX_BYTES, textOf } from "./decomposition.ts";
import type { PlanRuns } from "./plan-runs.ts";
import { planStarted, planStepCompleted } from "./records.ts";

export type ReadDecomposition =
	| { readonly kind: "sound"; readonly decomposition: Decomposition }
	| { readonly kind: "lost"; readonly why: string };

export const decompositionPath = (directory: string, plan: string): string => join(directory, nameOf(plan));

/** The artifacts of a directory, by their names below it: which are theirs, and who refers to them. */
export const decompositions = {
	isName: (name: string): boolean => name.endsWith(FILE) && name.indexOf("/") === name.length - FILE.length,

	ofRecord({ kind, data }: Draft): readonly string[] {
		return kind === planStarted.kind ? namesOf((data as { plan: string }).plan) : [];
	},

	ofState: (plans: PlanRuns): readonly string[] => Object.keys(plans).flatMap(namesOf),
};

/** The results of steps that lie beside the log, by their names in the store of results: who refers to them. */
export const spilledStepResults = {
	ofRecord: ({ kind, data }: Draft): readonly string[] =>
		kind === planStepCompleted.kind ? spilledResults.ofText((data as { spilled?: SpilledText }).spilled) : [],

	ofState: (plans: PlanRuns): readonly string[] =>
		Object.values(plans)
			.flatMap(({ steps }) => Object.values(steps))
			.flatMap((step) => (step.status === "completed" ? spilledResults.ofText(step.spilled) : [])),
};

const FILE = "/decomposition.json";

const nameOf = (plan: string): string => asFileName(plan) + FILE;

/** Where it is, and where an older version has put it: under the name of the plan as it was, if that led nowhere else. */
function namesOf(plan: string): readonly string[] {
	const former = posix.normalize(plan + FILE);
	const isInside = !former.startsWith("../") && !former.startsWith("/") && !former.includes("\0");
	return [...new Set([nameOf(plan), ...(isInside ? [former] : [])])];
}

/** Writes the artifact durably and gives its SHA-256, which the plan's first record carries. */
export async function writeDecomposition(
	directory: string,
	plan: string,
	decomposition: Decomposition,
): Promise<string> {
	const text = textOf(decomposition);
	const path = decompositionPath(directory, plan);
	for (const each of [directory, dirname(path)]) assertOwnDirectory(each);
	await atomicWrite(path, text);
	return sha256(text);
}

/** Reads it back; one that is missing or changed is lost, and says so. Any other failure to read is thrown: it may pass. */
export async function readDecomposition(directory: string, plan: string, expected: string): Promise<ReadDecomposition> {
	const path = decompositionPath(directory, plan);
	let text: string | undefined;
	assertOwnDirectory(directory);
	try {
		for (const name of namesOf(plan)) text ??= await read(join(directory, name));
	} catch (error) {
		const { code, message } = error as { code?: unknown; message: string };
		if (code === "WAL_TOO_LARGE") return { kind: "lost", why: message };
		throw error;
	}
	if (text === undefined) return { kind: "lost", why: `${path} is gone` };
	if (sha256(text) !== expected) return { kind: "lost", why: `${path} is not what was written: its hash has changed` };
	return { kind: "sound", decomposition: decompositionSchema.parse(JSON.parse(text)) };
}

/** Undefined where there is none, and where there can be none. */
async function read(path: string): Promise<string | undefined> {
	try {
		return (await readOwnFile(path, MAX_BYTES))?.toString();
	} catch (error) {
		if (!["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
		return undefined;
	}
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
