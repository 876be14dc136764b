/** The least that any reader of a log of JSON lines can do: chunks, line ends, `JSON.parse`. */
import { closeSync, openSync, readSync } from "node:fs";

const CHUNK_BYTES = 1024 * 1024;

/** Gives each line to `use`; ends at a blank one, where space that was allocated ahead begins. */
export function parseLines(path: string, use: (line: unknown) => void): void {
	const file = openSync(path, "r");
	const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
	let rest = "";
	try {
		for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
			let start = 0;
			for (let end = chunk.indexOf(0x0a); end !== -1 && end < read; end = chunk.indexOf(0x0a, start)) {
				const line = rest + chunk.toString("latin1", start, end);
				if (line === "") return;
				use(JSON.parse(line));
				rest = "";
				start = end + 1;
			}
			rest += chunk.toString("latin1", start, read);
		}
	} finally {
		closeSync(file);
	}
}
