/** What was sent before, over restarts: one line of JSON each, for this user alone. */
import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { clean } from "@reyn/operator/text";

/** As many are kept; the file is cut once it has twice as many. */
const MOST = 1000;

export class SentBefore {
	readonly #path: string;
	readonly #redact: (text: string) => string;
	#last: Promise<unknown> = Promise.resolve();

	/** @param redact takes secrets out of what is written down */
	constructor(path: string, redact: (text: string) => string) {
		this.#path = path;
		this.#redact = redact;
	}

	/** Oldest first. What cannot be read is no history; a damaged line is left out. */
	async read(): Promise<readonly string[]> {
		const lines = (await readFile(this.#path, "utf8").catch(() => "")).split("\n");
		const texts = lines.flatMap((line) => textOf(line) ?? []);
		const kept = texts.slice(-MOST);
		if (texts.length > 2 * MOST) await this.#write(kept);
		return kept;
	}

	/** Nothing is the worse for it if it cannot be written. */
	add(text: string): Promise<void> {
		const line = `${JSON.stringify({ text: this.#redact(text) })}\n`;
		const written = this.#last.then(async () => {
			await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
			await appendFile(this.#path, line, { mode: 0o600 });
		});
		this.#last = written.catch(() => {});
		return this.#last as Promise<void>;
	}

	/** Resolves when all that was added is there. */
	written(): Promise<unknown> {
		return this.#last;
	}

	async #write(texts: readonly string[]): Promise<void> {
		const beside = `${this.#path}.${process.pid}`;
		const lines = texts.map((text) => `${JSON.stringify({ text })}\n`).join("");
		await writeFile(beside, lines, { mode: 0o600 })
			.then(() => rename(beside, this.#path))
			.catch(() => {});
	}
}

function textOf(line: string): string | undefined {
	try {
		const { text } = JSON.parse(line) as { text?: unknown };
		return typeof text === "string" && text !== "" ? clean(text) : undefined;
	} catch {
		return undefined;
	}
}
