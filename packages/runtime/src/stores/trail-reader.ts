/** Reads an audit trail, newest lines first, and then what comes. It needs no log, and may be used beside the process that writes. */
import { type Clock, type Seq, systemClock } from "@reyn/wal";
import { type TrailDirectory, type TrailFile, trailFiles } from "./trail-files.ts";
import { dayOf, parseTrailLine, type TrailLine } from "./trail-line.ts";

/** Which lines are wanted. Default: all. */
export interface TrailQuery {
	/** Milliseconds since 1970: none from before. */
	readonly since?: number | undefined;
	/** None that are older, in milliseconds. */
	readonly maxAge?: number | undefined;
	/** None of records before this one. */
	readonly from?: Seq | undefined;
	readonly kinds?: readonly string[] | undefined;
}

export interface TrailFound {
	/** Oldest first. */
	readonly lines: readonly TrailLine[];
	/** Lines that cannot be read: torn by a crash, changed, or of a newer version. Oldest first. */
	readonly unread: readonly { readonly file: string /** From 1 on. */; readonly line: number }[];
}

/** A file has less than that; where one has more, what is behind it is not read. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

export class TrailReader {
	readonly #directory: TrailDirectory;
	readonly #clock: Clock;
	/** How far `more` has come. */
	#at: { readonly name: string; readonly position: number; readonly line: number } | undefined;

	constructor(directory: TrailDirectory, clock: Clock = systemClock) {
		this.#directory = directory;
		this.#clock = clock;
	}

	/** The newest lines that are wanted. @returns `isAll`: nothing older is wanted */
	async newest(query: TrailQuery, most: number): Promise<TrailFound & { readonly isAll: boolean }> {
		const since = this.#sinceOf(query);
		const files = trailFiles(await this.#directory.list());
		const lines: TrailLine[] = [];
		const unread: { file: string; line: number }[] = [];
		this.#at = undefined;
		for (const file of files.toReversed()) {
			// A file has no line of a later day than its own.
			if (since !== undefined && file.day < dayOf(since)) break;
			const texts = Buffer.from(await this.#directory.read(file.name, 0, MAX_FILE_BYTES))
				.toString()
				.split("\n");
			if (!this.#at) this.#at = endOf(file, texts);
			for (let at = texts.length - 1; at >= 0; at--) {
				const text = texts[at] as string;
				if (text === "") continue;
				const line = parseTrailLine(text);
				// The end of the newest file may be being written.
				if (!line && !(at === texts.length - 1 && file === files.at(-1)))
					unread.push({ file: file.name, line: at + 1 });
				if (!line || !isWanted(line, { ...query, since })) continue;
				if (lines.length === most) return { lines: lines.reverse(), unread: unread.reverse(), isAll: false };
				lines.push(line);
			}
		}
		return { lines: lines.reverse(), unread: unread.reverse(), isAll: true };
	}

	/** What has come since it was asked last, or since `newest`. */
	async more(query: TrailQuery): Promise<TrailFound> {
		const since = this.#sinceOf(query);
		const lines: TrailLine[] = [];
		const unread: { file: string; line: number }[] = [];
		const files = trailFiles(await this.#directory.list());
		const known = files.findIndex(({ name }) => name === this.#at?.name);
		for (const file of files.slice(known < 0 ? 0 : known)) {
			const { position, line } = this.#at?.name === file.name && this.#at.position <= file.bytes ? this.#at : start;
			if (file.bytes === position) continue;
			const bytes = Buffer.from(await this.#directory.read(file.name, position, MAX_FILE_BYTES));
			const end = bytes.lastIndexOf("\n") + 1;
			const texts = bytes.subarray(0, end).toString().split("\n").slice(0, -1);
			for (const [at, text] of texts.entries()) {
				const found = parseTrailLine(text);
				if (found && isWanted(found, { ...query, since })) lines.push(found);
				if (!found && text !== "") unread.push({ file: file.name, line: line + at });
			}
			this.#at = { name: file.name, position: position + end, line: line + texts.length };
		}
		return { lines, unread };
	}

	#sinceOf({ since, maxAge }: TrailQuery): number | undefined {
		return maxAge === undefined ? since : Math.max(since ?? 0, this.#clock.now() - maxAge);
	}
}

const start = { position: 0, line: 1 };

/** Behind the last whole line of a file. */
function endOf({ name }: TrailFile, texts: readonly string[]) {
	const last = texts.at(-1) as string;
	const isWhole = last === "" || parseTrailLine(last) !== undefined;
	const whole = isWhole ? texts : [...texts.slice(0, -1), ""];
	return { name, position: Buffer.byteLength(whole.join("\n")), line: texts.length };
}

const isWanted = ({ at, seq, kind }: TrailLine, { since, from, kinds }: TrailQuery): boolean =>
	(since === undefined || Date.parse(at) >= since) &&
	(from === undefined || seq >= from) &&
	(kinds === undefined || kinds.includes(kind));
