/** The files that a search has found something in, and as much of their lines as fits. */
import { keptPerFile, type ScannedFile } from "./scan-text.ts";

/** About characters: what is kept of all files together, so that a search takes megabytes whatever it finds. */
const mostKept = 8_000_000;

export class KeptLines {
	readonly #most: number;
	#files: ScannedFile[] = [];
	#size = 0;
	#perFile = keptPerFile;

	constructor(most = mostKept) {
		this.#most = most;
	}

	get files(): readonly ScannedFile[] {
		return this.#files;
	}

	/**
	 * Keeps a file; where all have become too many, the least telling half of the lines of each goes. The order of the files
	 * makes no difference to what stays. False when one line of each is still too much.
	 */
	add(file: ScannedFile): boolean {
		const cut = this.#cut(file);
		this.#files.push(cut);
		this.#size += sizeOf(cut);
		while (this.#size > this.#most && this.#perFile > 1) {
			this.#perFile = Math.floor(this.#perFile / 2);
			this.#files = this.#files.map((each) => this.#cut(each));
			this.#size = this.#files.reduce((size, each) => size + sizeOf(each), 0);
		}
		return this.#size <= this.#most;
	}

	#cut(file: ScannedFile): ScannedFile {
		return file.lines.length <= this.#perFile ? file : { ...file, lines: file.lines.slice(0, this.#perFile) };
	}
}

// What an object takes besides its text.
const each = 100;

const sizeOf = ({ path, lines, tally }: ScannedFile): number =>
	lines.reduce((size, { text }) => size + text.length + each, path.length + each + tally.size * (each / 2));
