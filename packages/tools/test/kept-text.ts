/** Prints how many bytes of the heap the lines keep that were found in 30 files of 1 MB: in a process of its own, where nothing else comes or goes. */
import { systemTimers } from "@reyn/wal";
import { collectGarbage } from "../../../tests/kit/collect-garbage.ts";
import { Effort } from "../src/effort.ts";
import { type ScannedFile, scanText } from "../src/scan-text.ts";

const { signal } = new AbortController();
const none = Number.POSITIVE_INFINITY;
const limits = { maxFiles: none, maxBytes: none, maxMs: 3_600_000, maxCompared: none };

const scan = (name: string): Promise<ScannedFile | undefined> => {
	const text = `the needle lies at the beginning of a long file\n${"straw in the stack\n".repeat(50_000)}`;
	// Decoded, as a file is: a text of its own, in one piece.
	return scanText(name, Buffer.from(text).toString(), ["needle"], new Effort(limits, signal, systemTimers));
};

await scan("warm.txt");
await collectGarbage();
const before = process.memoryUsage().heapUsed;
const kept: (ScannedFile | undefined)[] = [];
for (let n = 0; n < 30; n++) kept.push(await scan(`${n}.txt`));
await collectGarbage();
console.log(JSON.stringify({ bytes: process.memoryUsage().heapUsed - before, last: kept[29]?.lines }));
