/** Takes files back to what they held at a moment, as recorded writes: so the way forward is such a way back, and a crash finishes it. */
import {
	type BeforeImage,
	type FileContent,
	fileChangeSchema,
	type Lane,
	laneClosed,
	runProgram,
	type Step,
	type WorkFiles,
} from "@reyn/journal";
import { readImage } from "@reyn/journal/internal";
import { type Moved, reset } from "@reyn/timetravel";
import { isReynError, type Seq, WalError, type WalRecord } from "@reyn/wal";
import { z } from "zod";
import { RuntimeError } from "../../kernel/errors.ts";
import type { Kernel } from "../../kernel/feature.ts";
import { ADOPT } from "../../kernel/records.ts";
import { mainSession } from "../../kernel/sessions.ts";
import { IMAGES } from "../../kernel/store.ts";
import { type FileHistory, type FilesSince, type TouchedFile, versionIn } from "./file-history.ts";
import { type FileWrite, isModeOfOthers, restoreLane } from "./file-writes.ts";

/** What a restore would do. */
export interface FilesPreview extends Pick<FilesSince, "uncovered"> {
	/** The moment. */
	readonly to: Seq;
	readonly changes: readonly FileChanged[];
	readonly kept: readonly KeptFile[];
	/** Of what changes, the files that somebody else has changed since: give them to the move, or they stay. */
	readonly theirs: readonly Theirs[];
}

/** What a restore does to a file: it is made again, changed back, or removed since there was none. */
export interface FileChanged {
	readonly path: string;
	readonly change: "made" | "changed" | "removed";
}

/** A file that a restore leaves as it is. */
export interface KeptFile {
	readonly path: string;
	readonly why: string;
	/** Somebody else has changed it since: it can be taken all the same. */
	readonly isTheirs?: true;
}

/** A file of somebody else that is to be taken, as it was seen. */
export type Theirs = z.infer<typeof theirs>;

/** What a restore has done. */
export type FilesRestored = Pick<FilesPreview, "to" | "changes" | "kept">;

const theirs = z.object({ path: z.string(), version: z.string().nullable() });

/** What stands in the reset of a move that takes files along. */
const along = z.object({
	theirs: z.array(theirs),
	/** Only these paths. Absent: all. */
	only: z.array(z.string()).optional(),
});

/** The name by which it stands there. */
const FILES = "files";

/** So many files go back beside each other. */
const LANES = 32;

/** So many are read beside each other: each may be large. */
const READS = 8;

/** So many that stay are named in an error. */
const NAMED = 5;

/** One file that goes back. `from`: what it holds now; absent: another try of a write that a crash has cut. */
interface Row extends FileChanged {
	/** Where that was begun. */
	readonly lane?: string;
	readonly isTheirs?: true;
	readonly from?: string | null;
	readonly to: string | null;
	readonly image?: BeforeImage | undefined;
	/** Where it lies, the uppermost directory that tools have made since: it goes too where nothing is left in it. */
	readonly made?: string | undefined;
	/** It stands where a directory is that goes with its files. */
	readonly isInPlace?: true;
}

export class FileRestore {
	readonly #kernel: Kernel;
	readonly #history: FileHistory;
	readonly #files: WorkFiles | undefined;
	#done: { readonly seq: Seq; readonly restored: FilesRestored }[] = [];

	constructor(kernel: Kernel, history: FileHistory, files: WorkFiles | undefined) {
		this.#kernel = kernel;
		this.#history = history;
		this.#files = files;
	}

	/**
	 * What a restore of the files to a moment would do. Reads only.
	 *
	 * @param takes are files that somebody else has changed since to be taken too?
	 * @param only these paths alone; absent: all
	 * @throws RuntimeError `RUNTIME_FILES`; TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	preview(to: Seq, takes = false, only?: readonly string[]): Promise<FilesPreview> {
		return this.#preview(to, () => takes, only);
	}

	/** @throws RuntimeError `RUNTIME_FILES` where a restore to a moment would leave a file as it is, but for none that is taken */
	async assertAll(to: Seq, taken: readonly Theirs[] = [], only?: readonly string[]): Promise<void> {
		const { kept } = await this.#preview(to, isAmong(taken), only);
		if (kept.length === 0) return;
		const named = kept.slice(0, NAMED).map(({ path, why }) => `${path}: ${why}`);
		const more = kept.length > NAMED ? `; and ${kept.length - NAMED} more` : "";
		throw refused(
			`all files were to go back or none, and ${kept.length} cannot; nothing was written (${named.join("; ")}${more}). Put right what is said of them, take those that somebody else has changed, or let the others go back without them`,
			{ kept },
		);
	}

	async #preview(to: Seq, takes: (theirs: Theirs) => boolean, only?: readonly string[]): Promise<FilesPreview> {
		this.#door();
		const { uncovered, files } = await this.#history.since(to);
		const { rows, kept } = await this.#rows(among(files, only), takes, undefined);
		const theirs = rows.flatMap(({ path, from, isTheirs }) => (isTheirs ? [{ path, version: from ?? null }] : []));
		return {
			to,
			changes: rows.map(({ path, change }) => ({ path, change })),
			kept,
			theirs,
			uncovered: only ? [] : uncovered,
		};
	}

	/** Which files this move of history takes along; undefined: none. Of one whose record `gc` has taken away nobody knows, and none do. */
	async alongWith(move: Seq): Promise<{ readonly only?: readonly string[] | undefined } | undefined> {
		const record = await this.#kernel.timeline.record(move).catch((error: unknown) => {
			if (isReynError(error, "TIMETRAVEL_PRUNED")) return undefined;
			throw error;
		});
		return alongIn(record?.data as { readonly along?: Moved["along"] } | undefined);
	}

	/** What stands in the reset of a move that does. @param only as of {@link preview} @throws RuntimeError `RUNTIME_FILES` */
	along(taken: readonly Theirs[] = [], only?: readonly string[]): NonNullable<Moved["along"]> {
		this.#door();
		const given = along.safeParse({ theirs: taken, ...(only && { only }) });
		if (!given.success) throw refused("`theirs` is not as `previewFiles` gives it: a list of path and version");
		return { [FILES]: given.data };
	}

	/**
	 * What the moves from a reset on, that this process has made or finished, have done to files together; undefined: none took any along.
	 * What those before it did is forgotten: moves are made, and told of, one after the other.
	 */
	doneFrom(seq: Seq): FilesRestored | undefined {
		this.#done = this.#done.filter((each) => each.seq >= seq);
		const all = this.#done.map(({ restored }) => restored);
		const last = all.at(-1);
		if (!last) return undefined;
		// Of each path what was done, or not done, to it last.
		const rows = new Map<string, { readonly change?: FileChanged; readonly kept?: KeptFile }>();
		for (const { changes, kept } of all) {
			for (const change of changes) rows.set(change.path, { change });
			for (const each of kept) rows.set(each.path, { kept: each });
		}
		const found = [...rows.values()];
		const changes = found.flatMap(({ change }) => change ?? []).sort((a, b) => (a.path < b.path ? -1 : 1));
		return { to: last.to, changes, kept: found.flatMap(({ kept }) => kept ?? []) };
	}

	/** Twice is once: what is back already is no row any more, and a write that was cut is found again. */
	async moved({ seq, target: to, along }: Moved): Promise<void> {
		const taken = alongIn({ along });
		if (!taken) return;
		if (!this.#files)
			throw refused(
				`the move at seq ${seq} takes files along and is not finished; open it with the files that it is about`,
			);
		const session = this.#kernel.sessions.at(mainSession);
		const due = async () =>
			this.#rows(among((await this.#history.since(to)).files, taken.only), isAmong(taken.theirs), seq);
		let { rows, kept } = await due();
		const changes: FileChanged[] = [];
		const failed: KeptFile[] = [];
		const put = async (at: Lane, row: Row): Promise<void> => {
			const { path, change } = row;
			try {
				await at.perform(this.#write(row));
				changes.push({ path, change });
			} catch (error) {
				if (error instanceof WalError) throw error;
				failed.push({ path, why: (error as Error).message });
			}
		};
		if (rows.length > 0) {
			const { observe, ...ports } = this.#kernel.using(session, new AbortController().signal);
			const heard = (event: Parameters<NonNullable<typeof observe>>[0]): void =>
				event.type === "no_space" ? observe?.(event) : undefined;
			// Beside each other, so that one flush is of the starts of many; in each lane one after the other, which a next try can follow.
			const putAll = async (some: readonly Row[]): Promise<void> => {
				const lanes = Map.groupBy(some.entries(), ([at, row]) => row.lane ?? `${restoreLane(seq)}/${at % LANES}`);
				await settled(
					lanes.entries().map(([lane, rows]) =>
						runProgram(lane, session.scope, { ...ports, observe: heard }, async (at) => {
							for (const [, row] of rows) await put(at, row);
						}),
					),
				);
			};
			await putAll(rows.filter(({ change }) => change === "removed"));
			for (const { path, isInPlace } of rows) if (isInPlace) await this.#files.directories?.clear(path, path);
			// Where a file was in the way of another one, that can be seen now.
			if (changes.length > 0 && kept.length > 0) ({ rows, kept } = await due());
			await putAll(rows.filter(({ change }) => change !== "removed"));
			await session.log.append(laneClosed({ lane: restoreLane(seq) }), session.scope).durable;
		}
		const named = new Set(failed.map(({ path }) => path));
		kept = [...kept.filter(({ path }) => !named.has(path)), ...failed];
		for (const files of [changes, kept]) files.sort((a, b) => (a.path < b.path ? -1 : 1));
		this.#done.push({ seq, restored: { to, changes, kept } });
	}

	/**
	 * @param takes is a file that somebody else has changed since to go back too?
	 * @param move whose restore may have been cut: its open writes are tried again
	 */
	async #rows(
		touched: readonly TouchedFile[],
		takes: (theirs: Theirs) => boolean,
		move: Seq | undefined,
	): Promise<{ readonly rows: readonly Row[]; readonly kept: KeptFile[] }> {
		const found = await inOrder(touched, READS, (file) => this.#rowOf(file, takes, move));
		const made = madeBy(touched);
		const rows = found
			.filter((each) => each !== undefined && "change" in each)
			.map((row) => (row.to === null ? { ...row, made: uppermost(made, row.path) } : row));
		const kept = found.filter((each) => each !== undefined && "why" in each);
		const gone = new Set(rows.filter(({ to }) => to === null).map(({ path }) => path));
		const free = await inOrder(kept, READS, (each) => this.#isFree(each, gone, made));
		const byPath = new Map(touched.map((file) => [file.path, file]));
		for (const [at, place] of free.entries()) {
			const { path = "" } = kept[at] ?? {};
			const { version: to, image } = byPath.get(path) ?? {};
			// There was none, and once the directory is gone there is none.
			if (!place || typeof to !== "string") continue;
			rows.push({ path, change: "made", to, image, from: null, ...(place === "directory" && { isInPlace: true }) });
		}
		return { rows, kept: kept.filter((_, at) => !free[at]).map(({ isUnread: _, ...each }) => each) };
	}

	/** Is what stands in the way of a file a file that goes, or a directory that tools have made of which nothing stays? */
	async #isFree(
		{ path, isTheirs, isUnread }: Unread,
		gone: ReadonlySet<string>,
		made: ReadonlySet<string>,
	): Promise<"directory" | "file" | undefined> {
		if (isTheirs || !isUnread) return undefined;
		if (around(path).some((each) => gone.has(each))) return "file";
		if (uppermost(made, `${path}/`) === undefined) return undefined;
		const inside = await this.#files?.directories?.inside(path);
		return inside?.every((each) => gone.has(each)) ? "directory" : undefined;
	}

	/** Undefined: it holds that already. */
	async #rowOf(
		file: TouchedFile,
		takes: (theirs: Theirs) => boolean,
		move: Seq | undefined,
	): Promise<Row | Unread | undefined> {
		const { path, version: to, image } = file;
		const cut = move === undefined ? undefined : file.writes.find((write) => isCut(write, move));
		const { before, now, others } = await this.#history.compare(file);
		const unknown = [before, now].find((each) => each.kind === "unknown");
		const from = versionIn(now);
		const row = {
			path,
			change: changeOf(from, to),
			to,
			image: image && { ...image, mode: modeFor(file, image.mode, now) },
		};
		if (cut) return { ...row, lane: cut.lane };
		if (unknown || from === undefined)
			return { path, why: whyUnknown(unknown), ...(before.kind !== "unknown" && { isUnread: true }) };
		if (from === to) {
			const mode = modeOf(now);
			const isOurs = mode !== undefined && !isModeOfOthers(file.writes, mode);
			return isOurs && modeOf(before) !== mode ? { ...row, from } : undefined;
		}
		if (others.since !== true) return { ...row, from };
		if (takes({ path, version: from })) return { ...row, from, isTheirs: true };
		return { path, why: "somebody else has changed it since", isTheirs: true };
	}

	#write({ path, from, to, image, made }: Row): Step<string> {
		const files = this.#door();
		const done = async (): Promise<string> => {
			if (made !== undefined) await files.directories?.clear(around(path).at(-1) ?? path, made);
			return "as it was";
		};
		const held = async (): Promise<string | null | undefined> => versionIn(await files.read(path));
		return {
			...{ kind: "step", name: "restore", args: { path, to }, purity: "side_effect", inDoubt: "retry" },
			prepare: async ({ keep }) => {
				const now = await files.read(path);
				const before = versionIn(now);
				if (before === undefined || before !== from) throw changed(path);
				if (now.kind === "file" && !keep) throw refused(`${path} is not changed: what it holds is not kept here`);
				const kept = now.kind === "file" && keep && { image: { ...(await keep(now.bytes)), mode: now.mode } };
				const makes = to === null || before !== null ? undefined : await files.directories?.missing(path);
				return { path, before, after: to, ...(kept || {}), ...(makes !== undefined && { makes }) };
			},
			call: async ({ prepared, idempotencyKey: token = "" }) => {
				const { before, after } = fileChangeSchema.parse(prepared);
				const now = await held();
				if (now === after && before !== after) return done();
				if (now !== before) throw changed(path);
				const bytes = image && (await readImage(image, this.#kernel.blobs(IMAGES)));
				if (to !== null && !(image && bytes)) throw refused(`${path} is not changed: what it held is missing`);
				await files.put(path, image && bytes ? { bytes, mode: image.mode } : null, { token, isNew: before === null });
				return done();
			},
			reconcile: async (token, prepared) => {
				await files.forget(path, token);
				const { before, after } = fileChangeSchema.parse(prepared);
				const now = await held();
				// The permissions alone: once more is the same.
				if (now === after && before !== after) return { kind: "done", result: await done() };
				return { kind: now === before ? "not_done" : "unknown" };
			},
		};
	}

	#door(): WorkFiles {
		if (this.#files) return this.#files;
		throw refused("no files were given to this runtime (`files`), so none can be restored");
	}
}

/** The permissions of a file that goes back: what a person has closed stays so. */
const modeFor = ({ writes }: TouchedFile, then: number, now: FileContent): number =>
	now.kind === "file" && isModeOfOthers(writes, now.mode) ? now.mode : then;

function changeOf(from: string | null | undefined, to: string | null): FileChanged["change"] {
	if (to === null) return "removed";
	return from === null ? "made" : "changed";
}

const modeOf = (content: FileContent): number | undefined => (content.kind === "file" ? content.mode : undefined);

const among = (files: readonly TouchedFile[], only: readonly string[] | undefined): readonly TouchedFile[] =>
	only ? files.filter(({ path }) => only.includes(path)) : files;

/** The path that a record adopts from another moment; undefined: it adopts none. */
export function adoptedPath(record: WalRecord): string | undefined {
	if (!reset.is(record) || record.data.mode !== ADOPT) return undefined;
	return alongIn(record.data)?.only?.[0];
}

const isAmong =
	(all: readonly Theirs[]) =>
	({ path, version }: Theirs): boolean =>
		all.some((each) => each.path === path && each.version === version);

const whyUnknown = (content: FileContent | undefined): string =>
	content?.kind === "unknown" ? content.why : "what it holds is not known";

/** One that stays; is that because it cannot be read what is there now, while it is known what it held? */
type Unread = KeptFile & { readonly isUnread?: true };

/** The directories that these writes may have made, each the uppermost one. */
const madeBy = (touched: readonly TouchedFile[]): ReadonlySet<string> =>
	new Set(touched.flatMap(({ writes }) => writes.flatMap(({ makes }) => makes ?? [])));

/** The uppermost of some directories that a path lies in. */
const uppermost = (directories: ReadonlySet<string>, path: string): string | undefined =>
	around(path).find((each) => directories.has(each));

/** The directories on the way to a path, the uppermost first. */
function around(path: string): readonly string[] {
	const names = path.split("/");
	return names.slice(1).map((_, at) => names.slice(0, at + 1).join("/"));
}

/** Is it a write of the restore of this move that was begun, and has no end? */
const isCut = ({ lane, outcome }: FileWrite, move: Seq): boolean =>
	outcome === "open" && `${lane}/`.startsWith(`${restoreLane(move)}/`);

/** What a few at a time give, in the order of the items. */
async function inOrder<T, R>(items: readonly T[], atATime: number, work: (item: T) => Promise<R>): Promise<R[]> {
	const found: R[] = [];
	const left = items.entries();
	const workers = Array.from({ length: atATime }, async () => {
		for (const [at, item] of left) found[at] = await work(item);
	});
	await settled(workers);
	return found;
}

/** Resolves when all are over. @throws the first error, then */
async function settled(works: Iterable<Promise<void>>): Promise<void> {
	for (const work of await Promise.allSettled(works)) if (work.status === "rejected") throw work.reason;
}

function alongIn(data: { readonly along?: Moved["along"] } | undefined): z.infer<typeof along> | undefined {
	return along.safeParse(data?.along?.[FILES]).data;
}

const changed = (path: string): RuntimeError =>
	refused(`${path} has changed meanwhile, by somebody else: it stays as it is`);

const refused = (why: string, detail: { readonly kept?: readonly KeptFile[] } = {}): RuntimeError =>
	new RuntimeError("RUNTIME_FILES", why, detail);
