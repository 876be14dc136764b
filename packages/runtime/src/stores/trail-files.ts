/**
 * The files of the audit trail: one a day, and another one of that day when it gets too large. Files in the order of their names
 * have the lines in the order of their seqs. Old ones go. What was written is never changed.
 */
import { MAX_LINE_BYTES, parseTrailLine, type TrailLine } from "./trail-line.ts";

/** The directory of a trail. Errors are those of the system, with their `code`. */
export interface TrailDirectory {
	/** All names in it, with sizes in bytes; none when it is missing. */
	list(): Promise<readonly { readonly name: string; readonly bytes: number }[]>;
	/** Up to so many bytes of a file from a position on. */
	read(name: string, position: number, most: number): Promise<Uint8Array>;
	/** Makes a file, and the directory where it is missing. Refuses one that is there. A part may be written where it throws. */
	create(name: string, bytes: Uint8Array): Promise<void>;
	/** Refuses a file that is not there (`ENOENT`). A part may be written where it throws. */
	append(name: string, bytes: Uint8Array): Promise<void>;
	remove(names: readonly string[]): Promise<void>;
}

export interface TrailLimits {
	/** So many days are kept before the newest one, of those on which something was written. */
	readonly keepDays: number;
	/** The oldest files go, so that all together have no more than so many bytes. */
	readonly maxBytes: number;
	/** No file gets larger, but by the one line that it begins with. */
	readonly maxFileBytes: number;
}

/** A file of a trail. */
export interface TrailFile {
	readonly name: string;
	readonly day: string;
	/** From 1 on: which file of its day it is. */
	readonly part: number;
	readonly bytes: number;
}

/** The files of a trail, oldest first; other names are not its own. */
export function trailFiles(names: Awaited<ReturnType<TrailDirectory["list"]>>): readonly TrailFile[] {
	return names
		.flatMap(({ name, bytes }) => {
			const [, day, part = "1"] = /^(\d{4}-\d\d-\d\d)(?:-([2-9]|[1-9]\d{1,5}))?\.jsonl$/.exec(name) ?? [];
			return day === undefined || Number.isNaN(Date.parse(day)) ? [] : [{ name, day, part: Number(part), bytes }];
		})
		.sort((a, b) => (a.day === b.day ? a.part - b.part : a.day < b.day ? -1 : 1));
}

/** @param given absent ones: 90 days, 100 MB */
export function trailLimits({ keepDays = 90, maxBytes = 100_000_000 }: TrailKept = {}): TrailLimits {
	return { keepDays, maxBytes, maxFileBytes: Math.min(16 * 1024 * 1024, maxBytes / 8) };
}

/** What stays of a trail. */
export type TrailKept = { readonly keepDays?: number | undefined; readonly maxBytes?: number | undefined };

/** The file that a line goes into. A clock that goes back changes no order: the newest file goes on then. */
export function fileFor(
	newest: TrailFile | undefined,
	{ day, bytes }: { readonly day: string; readonly bytes: number },
	{ maxFileBytes }: Pick<TrailLimits, "maxFileBytes">,
): Pick<TrailFile, "day" | "part"> {
	if (!newest || day > newest.day) return { day, part: 1 };
	const isFull = newest.bytes > 0 && newest.bytes + bytes > maxFileBytes;
	return { day: newest.day, part: newest.part + (isFull ? 1 : 0) };
}

/** The files that are too old, or too many, oldest first. The newest one stays: it says how far the trail has come. */
export function outdated(
	files: readonly TrailFile[],
	{ keepDays, maxBytes, maxFileBytes }: TrailLimits,
): readonly TrailFile[] {
	const newest = files.at(-1);
	if (!newest) return [];
	// Days on which something was written: a clock that was wrong once, or a stray file, makes no other day old.
	const days = [...new Set(files.map(({ day }) => day))];
	const oldest = days.at(-1 - keepDays) ?? "";
	const others = files.slice(0, -1);
	// The newest one may still grow.
	let bytes = maxFileBytes;
	const first = others.findLastIndex((file) => {
		bytes += file.bytes;
		return file.day < oldest || bytes > maxBytes;
	});
	return others.slice(0, first + 1);
}

/** A line to be written. */
export interface NewLine {
	readonly day: string;
	readonly text: string;
}

export class TrailWriter {
	readonly #directory: TrailDirectory;
	readonly #limits: TrailLimits;
	#files: TrailFile[] = [];
	/** Does the newest file end within a line? The next one then begins behind it. */
	#isTorn = false;
	/** Has a file begun, so that others may be too old now? */
	#isPrunable = false;

	constructor(directory: TrailDirectory, limits: TrailLimits) {
		this.#directory = directory;
		this.#limits = limits;
	}

	/** Looks at what is there, at first and after an error, and gives the last whole line; undefined: there is none. */
	async open(): Promise<TrailLine | undefined> {
		this.#files = [...trailFiles(await this.#directory.list())];
		[this.#isTorn, this.#isPrunable] = [false, true];
		for (const [back, { name, bytes }] of this.#files.toReversed().entries()) {
			const end = await this.#directory.read(name, Math.max(0, bytes - END_BYTES), END_BYTES);
			const text = Buffer.from(end).toString();
			if (back === 0) this.#isTorn = text !== "" && !text.endsWith("\n");
			for (const line of text.split("\n").reverse()) {
				const found = parseTrailLine(line);
				if (found) return found;
			}
		}
		return undefined;
	}

	/** Writes lines, in order. After an error it has to be opened again: nobody knows how much of them is there. */
	async write(lines: readonly NewLine[]): Promise<void> {
		for (let at = 0; at < lines.length; ) {
			const newest = this.#files.at(-1);
			const first = lines[at] as NewLine;
			const file = fileFor(newest, sized(first), this.#limits);
			let text = "";
			let bytes = 0;
			for (; at < lines.length; at++) {
				const line = sized(lines[at] as NewLine);
				const now = { ...file, name: nameOf(file), bytes: (isSame(file, newest) ? newest.bytes : 0) + bytes };
				if (text !== "" && !isSame(fileFor(now, line, this.#limits), now)) break;
				text += line.text;
				bytes += line.bytes;
			}
			await this.#append(file, text);
		}
	}

	/** Takes away what is too old, or too much. */
	async prune(): Promise<void> {
		if (!this.#isPrunable) return;
		this.#isPrunable = false;
		const gone = outdated(this.#files, this.#limits);
		if (gone.length === 0) return;
		this.#files = this.#files.slice(gone.length);
		await this.#directory.remove(gone.map(({ name }) => name));
	}

	/** Where somebody took the files away, a new one begins with the first record, and not in the middle. */
	async #assertThere({ name }: TrailFile): Promise<void> {
		if ((await this.#directory.list()).some((each) => each.name === name)) return;
		throw Object.assign(new Error(`${name} is gone`), { code: "ENOENT" });
	}

	async #append(file: Pick<TrailFile, "day" | "part">, text: string): Promise<void> {
		const name = nameOf(file);
		const newest = this.#files.at(-1);
		if (!isSame(file, newest)) {
			const bytes = Buffer.from(text);
			if (newest) await this.#assertThere(newest);
			await this.#directory.create(name, bytes);
			this.#files.push({ ...file, name, bytes: bytes.length });
			this.#isPrunable = true;
		} else {
			const bytes = Buffer.from(this.#isTorn ? `\n${text}` : text);
			await this.#directory.append(name, bytes);
			this.#files[this.#files.length - 1] = { ...newest, bytes: newest.bytes + bytes.length };
		}
		this.#isTorn = false;
	}
}

/** So much of the end of a file is read: a torn line, and a whole one before it. */
const END_BYTES = 4 * MAX_LINE_BYTES;

const sized = ({ day, text }: NewLine) => ({ day, text, bytes: Buffer.byteLength(text) });

const nameOf = ({ day, part }: Pick<TrailFile, "day" | "part">): string =>
	`${day}${part === 1 ? "" : `-${part}`}.jsonl`;

const isSame = (a: Pick<TrailFile, "day" | "part">, b: TrailFile | undefined): b is TrailFile =>
	a.day === b?.day && a.part === b.part;
