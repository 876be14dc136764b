/** What tests of configuration files share: a directory as hands see it, and a model that copies it whole. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileChanged } from "@reyn/snapshot/files";
import { reset } from "@reyn/timetravel";
import type { Seq, WalRecord } from "@reyn/wal";
import { linesOf } from "./cut.ts";

/** Text by path. */
export type Contents = Readonly<Record<string, string>>;

const setAside = /\.unrecorded-[0-9a-f]{8}$/;

export async function contentsOf(
	directory: string,
): Promise<{ readonly files: Contents; readonly aside: readonly string[] }> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
	const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
	const all = await Promise.all(
		paths.sort().map(async (path) => [relative(directory, path), await readFile(path, "utf8")] as const),
	);
	return {
		files: Object.fromEntries(all.filter(([path]) => !setAside.test(path) && !path.endsWith(".tmp"))),
		aside: all.filter(([path]) => setAside.test(path)).map(([, text]) => text),
	};
}

/** A person's hand. */
export async function edit(directory: string, path: string, content: string | null): Promise<void> {
	if (content === null) return rm(join(directory, path), { force: true });
	await mkdir(dirname(join(directory, path)), { recursive: true });
	await writeFile(join(directory, path), content);
}

/** The files at every seq of a log, each copied from the one before, or from where a rewind went back to. */
export async function copied(state: string): Promise<readonly Contents[]> {
	const states: Contents[] = [{}];
	for (const line of (await linesOf(state)).slice(1)) {
		const record = JSON.parse(line) as WalRecord;
		const before = states.at(-1) as Contents;
		if (reset.is(record)) {
			const { target, drop } = record.data;
			const { agent = "default", session = "main", run } = record.scope;
			const isMoved =
				(!drop || drop.includes(fileChanged.kind)) && agent === "default" && session === "main" && run === undefined;
			states.push(isMoved ? (states[target] as Contents) : before);
		} else if (fileChanged.is(record)) states.push(changed(before, record.data));
		else states.push(before);
	}
	return states;
}

export function changed(
	before: Contents,
	{ path, content }: { readonly path: string; readonly content: string | null },
): Contents {
	const { [path]: _, ...others } = before;
	return content === null ? others : { ...others, [path]: content };
}

/** The seqs of a kind of record in a log. */
export async function seqsOf(state: string, kind: string): Promise<readonly Seq[]> {
	const lines = (await linesOf(state)).slice(1);
	return lines.flatMap((line, i) => ((JSON.parse(line) as { kind: string }).kind === kind ? [i + 1] : []));
}
