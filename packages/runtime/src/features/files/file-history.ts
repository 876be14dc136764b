/** What tools have changed in files since a moment, and what those held before and hold now. */
import { type BeforeImage, type FileContent, fileVersion, type WorkFiles } from "@reyn/journal";
import { readImage } from "@reyn/journal/internal";
import type { Scope, Seq } from "@reyn/wal";
import type { Kernel } from "../../kernel/feature.ts";
import { IMAGES } from "../../kernel/store.ts";
import { doneIn, type FileWrite, fileWrites, leftIn, type Others, observationsOf, othersIn } from "./file-writes.ts";
import { firstAfter, type PathWrites, WritesByPath } from "./path-writes.ts";

export interface FileHistoryOptions {
	/** The files that tools change. Absent: what they hold now is not known. */
	readonly files?: WorkFiles | undefined;
}

/** What was changed since a moment. */
export interface FilesSince {
	readonly since: Seq;
	readonly through: Seq;
	/** By path. */
	readonly files: readonly TouchedFile[];
	/** Tools that may have changed any file and do not say which, such as a shell: what they did is not covered. */
	readonly uncovered: readonly { readonly name: string; readonly calls: number }[];
}

/** A file that tools have changed since a moment, or begun to. */
export interface TouchedFile {
	readonly path: string;
	/** What it held at the moment: null: there was none. */
	readonly version: string | null;
	readonly image?: BeforeImage;
	/** Oldest first. */
	readonly writes: readonly FileWrite[];
	/** The versions that the writes before the moment may have left there; none: there were none. */
	readonly left: readonly (string | null)[];
}

/** A file that tools have changed, as it was and as it is. */
export interface ComparedFile {
	readonly before: FileContent;
	readonly now: FileContent;
	/** Who changed it, oldest first. `inDoubt`: nobody knows whether that was done. */
	readonly by: readonly { readonly seq: Seq; readonly scope: Scope; readonly lane: string; readonly inDoubt?: true }[];
	readonly others: Others;
}

/** A file that was changed between two moments, as it was at each. Absent: it was not changed after that, and is as it is now. */
export interface FileBetween {
	readonly path: string;
	readonly from: TouchedFile | undefined;
	readonly to: TouchedFile | undefined;
}

export class FileHistory {
	readonly #kernel: Kernel;
	readonly #files: WorkFiles | undefined;
	readonly #isHarmless: (tool: string) => boolean;
	readonly #writes = new WritesByPath();

	/** @param isHarmless does a tool of this name change no file? */
	constructor(kernel: Kernel, { files }: FileHistoryOptions, isHarmless: (tool: string) => boolean) {
		this.#kernel = kernel;
		this.#files = files;
		this.#isHarmless = isHarmless;
	}

	/**
	 * What was changed since a seq, on whatever line of history.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	async since(since: Seq): Promise<FilesSince> {
		const { timeline } = this.#kernel;
		timeline.assertHas(since);
		const { view } = await timeline.wholeLog.live();
		const { writes, uncovered } = view.get(fileWrites);
		const calls = Array.from(
			{ length: uncovered.length - firstAfter(uncovered, since) },
			(_, back) => uncovered.at(-1 - back)?.name ?? "",
		);
		const byName = Map.groupBy(calls, (name) => name);
		return {
			since,
			through: view.seq,
			files: this.#writes
				.after(writes, since)
				.flatMap((file) => touched(file, since))
				.sort((a, b) => (a.path < b.path ? -1 : 1)),
			uncovered: [...byName]
				.filter(([name]) => !this.#isHarmless(name))
				.map(([name, calls]) => ({ name, calls: calls.length }))
				.sort((a, b) => (a.name < b.name ? -1 : 1)),
		};
	}

	/**
	 * The files that tools have changed between two moments, in either order, by path; and the calls between them that say of no file
	 * whether they changed it. What a file held at a moment is what it held on disk then, whatever line of history had changed it.
	 *
	 * @throws as {@link since}
	 */
	async between(
		from: Seq,
		to: Seq,
	): Promise<Pick<FilesSince, "uncovered"> & { readonly files: readonly FileBetween[] }> {
		const [first, last] = from < to ? [from, to] : [to, from];
		const [earlier, later] = [await this.since(first), await this.since(last)];
		const after = new Map(later.files.map((file) => [file.path, file]));
		const calls = new Map(later.uncovered.map((each) => [each.name, each.calls]));
		return {
			files: earlier.files
				.map((file) => ({ path: file.path, first: file, last: after.get(file.path) }))
				.filter((each) => each.first.writes.length > (each.last?.writes.length ?? 0))
				.map(({ path, ...at }) =>
					from < to ? { path, from: at.first, to: at.last } : { path, from: at.last, to: at.first },
				),
			uncovered: earlier.uncovered
				.map(({ name, calls: all }) => ({ name, calls: all - (calls.get(name) ?? 0) }))
				.filter((each) => each.calls > 0),
		};
	}

	/**
	 * Reads what a file held at both moments: the caller takes one after the other, since each may be large. `others`: what it holds
	 * now stands for one of them, and somebody else has changed that since.
	 */
	async contents({ path, from, to }: FileBetween): Promise<{
		readonly from: FileContent;
		readonly to: FileContent;
		readonly others?: true;
	}> {
		const present = from && to ? undefined : await this.#present(path);
		const at = async (file: TouchedFile | undefined) => (file ? this.#held(file) : (present as FileContent));
		const known = from ?? to;
		const others = present && known ? othersIn(known.writes, versionIn(present), known.left).since === true : false;
		return { from: await at(from), to: await at(to), ...(others && { others }) };
	}

	/** Reads what a file held and holds: the caller takes one after the other, since each may be large. */
	async compare(file: TouchedFile): Promise<ComparedFile> {
		const { path, writes, left } = file;
		const before = await this.#held(file);
		const now = await this.#present(path);
		const present = versionIn(now);
		const by = doneIn(writes, present).map(({ seq, scope, lane, inDoubt }) => ({
			...{ seq, scope, lane },
			...(inDoubt && { inDoubt }),
		}));
		return { before, now, by, others: othersIn(writes, present, left) };
	}

	async #present(path: string): Promise<FileContent> {
		return (await this.#files?.read(path)) ?? { kind: "unknown", why: "no files were given here" };
	}

	async #held({ version, image }: TouchedFile): Promise<FileContent> {
		if (version === null) return { kind: "none" };
		if (!image) return { kind: "unknown", why: "what it held was not kept" };
		let bytes: Uint8Array | undefined;
		try {
			bytes = await readImage(image, this.#kernel.blobs(IMAGES));
		} catch (error) {
			// Of the other files it can be said.
			return { kind: "unknown", why: `its image cannot be read: ${(error as Error).message}` };
		}
		if (!bytes) return { kind: "unknown", why: `its image ${image.sha256} is missing, or has changed` };
		return { kind: "file", bytes, mode: image.mode };
	}
}

/** None: no write after the moment says what the file held. */
function touched({ path, writes, recent, earlier }: PathWrites, since: Seq): readonly TouchedFile[] {
	const first = observationsOf([...recent, ...writes], earlier).find(({ seq }) => seq > since);
	if (!first) return [];
	const { before: version, image } = first;
	return [{ path, version, ...(image && { image }), writes, left: leftIn(recent) }];
}

/** The version of a file by what it holds; null: there is none. Undefined: unknown. */
export function versionIn(content: FileContent): string | null | undefined {
	switch (content.kind) {
		case "file":
			return fileVersion(content.bytes);
		case "none":
			return null;
		case "unknown":
			return undefined;
	}
}
