/** Files beside the log that records and states name: which of them nothing names any more, and taking those away. */
import type { Dirent, Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { journal, spilledResults } from "@reyn/journal";
import { scriptRuns } from "@reyn/journal/script";
import { decompositions, planRuns, spilledStepResults } from "@reyn/plan";
import type { View } from "@reyn/snapshot";
import { type Collection as Cut, isMeta, stepLate, type Timeline } from "@reyn/timetravel";
import {
	assertOwnDirectory,
	type Draft,
	isTemporaryName,
	removeFiles,
	type Scope,
	type Seq,
	type Wal,
	type WalRecord,
} from "@reyn/wal";
import { conversation } from "../features/conversation/conversation.ts";
import { spilledMessages } from "../features/conversation/large-texts.ts";
import { scriptFiles } from "../features/script/script-files.ts";
import type { SessionScope } from "../kernel/session.ts";
import type { Gate } from "../kernel/shared-lock.ts";
import { allStoredStates, type Layout, storedStatesOf } from "./layout.ts";

/** What `gc` has done, or would do, in the log and beside it. */
export interface Collection extends Cut {
	readonly artifacts: ArtifactsGone;
}

/**
 * Results, files of script runs and decompositions that nothing refers to, and what writes that were killed have left. Where a cut
 * is only foreseen, at most so many: how far its whole segments will reach is not known.
 */
export interface ArtifactsGone {
	readonly files: number;
	readonly bytes: number;
	/** A record of a kind that is not known here, which may refer to anything: so nothing went. */
	readonly undecided?: { readonly seq: Seq; readonly kind: string };
}

export interface ArtifactPorts {
	readonly layout: Layout;
	/** Through which they are written. */
	readonly gate: Gate;
	readonly wal: Wal;
	/** The kinds of record that are known here. */
	readonly known: readonly string[];
	readonly timeline: Timeline;
	/** The sessions that there ever were, whose states are kept. */
	readonly sessions: readonly SessionScope[];
	/** Only say what would go. */
	readonly dryRun: boolean;
}

/**
 * Takes away what nothing refers to that can still be reached: no record that the log has, on whatever line of history, and no
 * state that outlives its records. Killed anywhere, the next time takes the rest. Only the writer of the log may do this, once
 * the cut is durable. What a record names that comes meanwhile is young, or was named before.
 */
export async function collectArtifacts(cut: Cut, ports: ArtifactPorts): Promise<ArtifactsGone> {
	const kinds = kindsIn(ports.layout);
	const known = new Set(ports.known);
	const isKnown = (kind: string): boolean => known.has(kind) || isMeta(kind);
	const needed = new Set<string>();
	for await (const record of recordsAfter(cut, ports)) {
		const said = stepLate.is(record) ? record.data : record;
		if (!isKnown(said.kind)) return { files: 0, bytes: 0, undecided: { seq: record.seq, kind: said.kind } };
		for (const path of namedByRecord(kinds, said, record.scope)) needed.add(path);
	}
	for (const seq of cut.kept)
		for (const scope of ports.sessions)
			for (const path of namedByView(kinds, await ports.timeline.at(seq, scope))) needed.add(path);

	let [files, bytes] = [0, 0];
	for (const kind of kinds) {
		for (const [directory, names] of await unneeded(kind, needed, ports.layout.root)) {
			// What is written again meanwhile is young: until it is gone, none is.
			await ports.gate.alone(async () => {
				const sizes = await Promise.all(names.map(({ name }) => sizeOfOld(join(directory, name))));
				const gone = names.flatMap(({ name }, i) => (sizes[i] === undefined ? [] : [name]));
				if (!ports.dryRun && gone.length > 0) await removeFiles(directory, gone);
				files += gone.length;
				bytes += sizes.reduce<number>((sum, size = 0) => sum + size, 0);
			});
		}
	}
	return { files, bytes };
}

/** One kind of file: its owner says which names are its own, below a directory, and which of them are referred to. */
interface Kind {
	/** Where those of a scope lie. */
	directoryOf(scope: Scope): string;
	/** Where any lie. */
	directories(): Promise<readonly string[]>;
	isName(name: string): boolean;
	ofRecord(said: Draft): readonly string[];
	ofView(view: View): readonly string[];
}

const kindsIn = (layout: Layout): readonly Kind[] => [
	{
		...inOne(layout.results),
		// A blob `a/b` is the file `a/b.blob`.
		isName: (name) => name.endsWith(BLOB) && spilledResults.isName(name.slice(0, -BLOB.length)),
		ofRecord: (said) =>
			[spilledResults, spilledStepResults, spilledMessages]
				.flatMap(({ ofRecord }) => ofRecord(said))
				.map((name) => name + BLOB),
		ofView: (view) =>
			[
				...spilledResults.ofState(view.get(journal)),
				...spilledStepResults.ofState(view.get(planRuns)),
				...spilledMessages.ofState(view.get(conversation)),
			].map((name) => name + BLOB),
	},
	{
		...inOne(layout.runs),
		isName: scriptFiles.isName,
		ofRecord: scriptFiles.ofRecord,
		ofView: (view) => scriptFiles.ofState(view.get(scriptRuns)),
	},
	{
		directoryOf: (scope) => layout.plans(scope),
		directories: async () =>
			(await entriesOf(layout.agents))
				.filter((entry) => !entry.isFile())
				.map(({ name }) => layout.plansIn(join(layout.agents, name))),
		// The ids that plans have here: `p` and the seq of a turn.
		isName: (name) => /^p\d+\//.test(name) && decompositions.isName(name),
		ofRecord: decompositions.ofRecord,
		ofView: (view) => decompositions.ofState(view.get(planRuns)),
	},
	// Which states are needed is not known here: only what writes have left goes, and what a log had before it was taken over.
	...allStoredStates(layout).map((directory) => ({
		...inOne(directory),
		isName: () => !Object.values(storedStatesOf(layout)).includes(directory),
		ofRecord: () => [],
		ofView: () => [],
	})),
];

const inOne = (directory: string): Pick<Kind, "directoryOf" | "directories"> => ({
	directoryOf: () => directory,
	directories: async () => [directory],
});

const BLOB = ".blob";

const namedByRecord = (kinds: readonly Kind[], said: Draft, scope: Scope): readonly string[] =>
	kinds.flatMap((kind) => kind.ofRecord(said).map((name) => join(kind.directoryOf(scope), name)));

const namedByView = (kinds: readonly Kind[], view: View): readonly string[] =>
	kinds.flatMap((kind) => kind.ofView(view).map((name) => join(kind.directoryOf(view.scope), name)));

/** All that the log has: also what a cut leaves before its first record that counts, since script runs are looked up there. */
async function* recordsAfter({ retainedFrom, was, kept }: Cut, { wal, timeline, dryRun }: ArtifactPorts) {
	const first = dryRun && retainedFrom > was ? retainedFrom : wal.first;
	yield* wal.read({ after: first - 1 });
	for (const seq of kept) {
		const record: WalRecord | undefined = await timeline.record(seq);
		if (record) yield record;
	}
}

/** The names that are not needed, by directory. What is no artifact is somebody else's, and stays. @throws WalError `WAL_UNSAFE` */
async function unneeded(
	kind: Kind,
	needed: ReadonlySet<string>,
	root: string,
): Promise<ReadonlyMap<string, readonly { readonly name: string }[]>> {
	const found: { readonly parentPath: string; readonly name: string }[] = [];
	for (const place of await kind.directories()) {
		assertOwnWay(root, place);
		for await (const { name, parentPath } of filesBelow(place)) {
			const path = join(parentPath, name);
			const isOne = kind.isName(relative(place, path).replaceAll(sep, "/"));
			if (!isTemporaryName(name) && (!isOne || needed.has(path))) continue;
			found.push({ parentPath, name });
		}
	}
	return Map.groupBy(found, ({ parentPath }) => parentPath);
}

/** Looks at the root, at a directory below it, and at those between. */
function assertOwnWay(root: string, directory: string): void {
	const parts = relative(root, directory).split(sep);
	for (let i = 0; i <= parts.length; i++) assertOwnDirectory(join(root, ...parts.slice(0, i)));
}

/** By hand: a recursive `readdir` follows links in some versions of Node. */
async function* filesBelow(directory: string): AsyncGenerator<Dirent> {
	assertOwnDirectory(directory);
	for (const entry of await entriesOf(directory)) {
		if (entry.isFile()) yield entry;
		// A link is none, and refused: it may be meant to lead there.
		else yield* filesBelow(join(directory, entry.name));
	}
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
	return (await unlessGone(readdir(directory, { withFileTypes: true }))) ?? [];
}

/**
 * What is young may belong to work that is under way, which writes a file before the record that names it: that is at most as
 * old as this process. An hour more, for a clock that was set since, and for a file server whose clock is another.
 */
const GRACE = 60 * 60 * 1000;

/** The size of a file in bytes; undefined where it is young, or gone. */
async function sizeOfOld(path: string): Promise<number | undefined> {
	const stats = await statsOf(path);
	return stats && stats.mtimeMs < performance.timeOrigin - GRACE ? stats.size : undefined;
}

const statsOf = (path: string): Promise<Stats | undefined> => unlessGone(lstat(path));

async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
	try {
		return await look;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
		throw error;
	}
}
