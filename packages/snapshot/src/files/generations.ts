/** Keeps the files of a directory in step with the log: `record` takes changes on disk into the log, `restore` goes the other way. */
import { type Appended, type Appender, codeOf, type WalError, type WalRecord } from "@reyn/wal";
import { parseData } from "@reyn/wal/internal";
import { SnapshotError } from "../errors.ts";
import type { View } from "../fold.ts";
import { TrackedDirectory } from "./directory.ts";
import { fileChanged, files } from "./records.ts";

export interface FileGenerationsOptions {
	/** The directory of the files. Give each directory a scope of its own: its files are those of the view that is passed. */
	readonly directory: string;
	/** Decides which files are recorded, by path in the directory: `agents/main.yaml`. A file that was recorded once is always tracked. */
	tracks(path: string): boolean;
	/** Says why a text may not be recorded; undefined: it may. Default: every text may. */
	refuses?(content: string): string | undefined;
}

/** Calls run one after the other. The views have to be of the directory's scope, with `files` among their projections. */
export interface FileGenerations {
	/**
	 * Appends a record for each file that differs from the view: the disk counts. Resolves with the records once they are durable. Call it
	 * after a start, once interrupted rewinds are finished, and before each rewind: so an edit by hand belongs to the line of history
	 * on which it was made.
	 *
	 * @throws SnapshotError `SNAPSHOT_FILE_NOT_RECORDED`: the other files are recorded
	 */
	record(log: Appender, view: View): Promise<readonly WalRecord[]>;
	/**
	 * Changes a file, or removes it (null): first the durable record, then the file. An edit by hand that the view does not have is
	 * recorded before. Resolves with the records. If the process is killed between record and file, the file is the old one: the next
	 * `record` takes that for an edit, and `restore(at(seq - 1), at(seq))` finishes the change.
	 *
	 * @throws SnapshotError `SNAPSHOT_FILE_NOT_RECORDED`, and what `append` throws: nothing was changed. `SNAPSHOT_NOT_RESTORED`
	 */
	write(log: Appender, view: View, path: string, content: string | null): Promise<readonly WalRecord[]>;
	/**
	 * Brings the files in which two states differ from the one state to the other: the log counts. Other files stay as they are. A file
	 * on disk that is in neither state is renamed, never lost. If the process is killed, call it again; another call changes nothing.
	 *
	 * @throws SnapshotError `SNAPSHOT_NOT_RESTORED`
	 */
	restore(from: View, to: View): Promise<RestoredFiles>;
	/** What a `record`, and then a `restore` to another state, would change, by path: edits by hand count. Reads only. */
	preview(from: View, to: View): Promise<readonly FileStep[]>;
}

/** What becomes of a file: it is made, gets another text, or is removed. */
export interface FileStep {
	readonly path: string;
	readonly change: "made" | "changed" | "removed";
}

/** What a restore did, by path in the directory. */
export interface RestoredFiles {
	readonly written: readonly string[];
	readonly removed: readonly string[];
	/** Files that were in neither state, and their new names. */
	readonly kept: readonly { readonly path: string; readonly keptIn: string }[];
}

/**
 * Keeps every generation of an application's text files in the log, so that a rewind takes them along.
 *
 * @example
 * const config = fileGenerations({ directory: "config", tracks: (path) => path.endsWith(".yaml") });
 * await config.record(wal, await timeline.at(wal.tip, {})); // in `quiet`
 * await config.restore(await timeline.at(seq - 1, {}), await timeline.at(seq, {})); // in `rebuild`
 */
export function fileGenerations(options: FileGenerationsOptions): FileGenerations {
	return new Generations(options);
}

class Generations implements FileGenerations {
	readonly #directory: TrackedDirectory;
	readonly #tracks: (path: string) => boolean;
	readonly #refuses: (content: string) => string | undefined;
	#last: Promise<unknown> = Promise.resolve();

	constructor(options: FileGenerationsOptions) {
		this.#directory = new TrackedDirectory(options.directory);
		this.#tracks = (path) => options.tracks(path);
		this.#refuses = (content) => options.refuses?.(content);
	}

	record(log: Appender, view: View): Promise<readonly WalRecord[]> {
		return this.#inTurn(async () => {
			const known = contents(view);
			const tracked = (await this.#directory.list()).filter(this.#tracks);
			const appended: Appended[] = [];
			const refused: Refusal[] = [];
			for (const path of [...new Set([...known.keys(), ...tracked])].sort()) {
				try {
					const content = await this.#content(path);
					if (content !== (known.get(path) ?? null)) appended.push(this.#append(log, view, path, content));
				} catch (error) {
					if (!isRefusal(error)) throw error;
					refused.push(...error.detail.files);
				}
			}
			await appended.at(-1)?.durable;
			if (refused.length > 0) throw notRecorded(refused);
			return appended.map(({ record }) => record);
		});
	}

	write(log: Appender, view: View, path: string, content: string | null): Promise<readonly WalRecord[]> {
		return this.#inTurn(async () => {
			parseData(fileChanged, { path, content });
			let known = contents(view).get(path) ?? null;
			const found = await this.#content(path);
			const appended: Appended[] = [];
			for (const next of [found ?? known, content]) {
				if (next !== known) appended.push(this.#append(log, view, path, next));
				known = next;
			}
			await appended.at(-1)?.durable;
			await this.#move(path, found, content);
			await this.#directory.sync([path]);
			return appended.map(({ record }) => record);
		});
	}

	restore(from: View, to: View): Promise<RestoredFiles> {
		return this.#inTurn(async () => {
			const [before, after] = [contents(from), contents(to)];
			const changed = [...new Set([...before.keys(), ...after.keys()])]
				.filter((path) => before.get(path) !== after.get(path))
				// Removals first: a new file may have the name of a folder that goes.
				.sort((a, b) => Number(after.has(a)) - Number(after.has(b)));
			for (const path of changed) {
				// Every path is checked, since the records may come from a log of somebody else.
				const why = await this.#directory.beyond(path);
				if (why !== undefined) throw notRestored(path, `${why}; nothing was changed`);
			}
			const moves: Move[] = [];
			for (const path of changed) moves.push(await this.#move(path, before.get(path) ?? null, after.get(path) ?? null));
			// All changed files, since a killed call may have written some without this sync.
			await this.#directory.sync(changed);
			const done = moves.filter(({ moved }) => moved).map(({ path }) => path);
			return {
				written: done.filter((path) => after.has(path)),
				removed: done.filter((path) => !after.has(path)),
				kept: moves.flatMap(({ path, keptIn }) => (keptIn === undefined ? [] : [{ path, keptIn }])),
			};
		});
	}

	preview(from: View, to: View): Promise<readonly FileStep[]> {
		return this.#inTurn(async () => {
			const [before, after] = [contents(from), contents(to)];
			const tracked = (await this.#directory.list()).filter(this.#tracks);
			const steps: FileStep[] = [];
			for (const path of [...new Set([...before.keys(), ...tracked, ...after.keys()])].sort()) {
				const then = after.get(path) ?? null;
				const known = before.get(path) ?? null;
				// What no record can hold is not recorded: the restore goes by what is.
				const found = await this.#content(path).catch((error: unknown) => {
					if (!isRefusal(error)) throw error;
					return known;
				});
				const now = found !== null && this.#refuses(found) !== undefined ? known : found;
				if (now === then) continue;
				steps.push({ path, change: then === null ? "removed" : now === null ? "made" : "changed" });
			}
			return steps;
		});
	}

	async #move(path: string, from: string | null, to: string | null): Promise<Move> {
		try {
			const found = await this.#directory.inspect(path);
			const there = "why" in found ? undefined : found.content;
			const isKnown = there === null || there === from || there === to;
			const keptIn = isKnown ? undefined : await this.#directory.setAside(path);
			if (to !== null && there !== to) await this.#directory.write(path, to);
			if (to === null && there !== null) await this.#directory.remove(path);
			// Also when there is no file: a killed removal may have left its folders.
			if (to === null) await this.#directory.prune(path);
			return { path, moved: there !== to, keptIn };
		} catch (cause) {
			throw notRestored(path, (cause as Error).message, cause);
		}
	}

	/** The text of a file; null if there is none. @throws a refusal if no record can hold it */
	async #content(path: string): Promise<string | null> {
		const beyond = await this.#directory.beyond(path);
		const found = beyond === undefined ? await this.#directory.inspect(path) : { why: beyond };
		if ("why" in found) throw notRecorded([{ path, why: found.why }]);
		return found.content;
	}

	#append(log: Appender, view: View, path: string, content: string | null): Appended {
		const why = content === null ? undefined : this.#refuses(content);
		if (why !== undefined) throw notRecorded([{ path, why }]);
		return append(log, view, path, content);
	}

	/** Runs one call at a time, so that a file which another call is about to write does not count as an edit by hand. */
	#inTurn<T>(call: () => Promise<T>): Promise<T> {
		const done = this.#last.then(call);
		this.#last = done.catch(() => {});
		return done;
	}
}

/** What became of one file. */
interface Move {
	readonly path: string;
	readonly moved: boolean;
	readonly keptIn: string | undefined;
}

const contents = (view: View): ReadonlyMap<string, string> => new Map(Object.entries(view.get(files)));

function append(log: Appender, view: View, path: string, content: string | null): Appended {
	try {
		return log.append(fileChanged({ path, content }), view.scope);
	} catch (cause) {
		const { code, message } = cause as WalError;
		if (code !== "WAL_TOO_LARGE") throw cause;
		throw notRecorded([{ path, why: message }]);
	}
}

/** Why a file has no record. */
interface Refusal {
	readonly path: string;
	readonly why: string;
}

function notRecorded(files: readonly Refusal[]): SnapshotError {
	const each = files.map(({ path, why }) => `${path} (${why})`).join(", ");
	return new SnapshotError(
		"SNAPSHOT_FILE_NOT_RECORDED",
		`expected text of less than 8 MiB to record; found ${each}. Nothing was done to it. Leave it out of tracks(), or make it such a file`,
		{ files },
	);
}

function isRefusal(
	error: unknown,
): error is SnapshotError & { readonly detail: { readonly files: readonly Refusal[] } } {
	return codeOf(error) === "SNAPSHOT_FILE_NOT_RECORDED";
}

function notRestored(path: string, why: string, cause?: unknown): SnapshotError {
	return new SnapshotError(
		"SNAPSHOT_NOT_RESTORED",
		`${path} could not be brought to its state in the log: ${why}. Mend that, then restore again`,
		{ path },
		{ cause },
	);
}
