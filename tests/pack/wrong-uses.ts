/**
 * 24 wrong uses of the log, compiled and run in a stranger's folder: a use that should not compile and does is an error of the
 * compiler (the comment above it is unused), and each one that runs has to end with a code.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf, defineRecord, fileEngine, isReynError, memoryEngine, openWal } from "@reyn/wal";
import { z } from "zod";

const paid = defineRecord("paid", z.object({ order: z.string(), cents: z.int() }));
const engine = memoryEngine();
const wal = await openWal(engine, { records: [paid] });
const reader = await openWal(engine, { records: [paid], readOnly: true });
const directory = await mkdtemp(join(tmpdir(), "wrong-uses-"));

const uses: readonly (readonly [what: string, code: string, use: () => unknown])[] = [
	// @ts-expect-error: where the log lies is missing
	["no directory", "WAL_OPTIONS", () => openWal(undefined, { records: [paid] })],
	["an empty directory", "WAL_OPTIONS", () => openWal("", { records: [paid] })],
	// @ts-expect-error: options are missing
	["no options", "WAL_OPTIONS", () => openWal(memoryEngine())],
	// @ts-expect-error: kinds are missing
	["no kinds", "WAL_OPTIONS", () => openWal(memoryEngine(), {})],
	// @ts-expect-error: a schema is no kind
	["a schema for a kind", "WAL_OPTIONS", () => openWal(memoryEngine(), { records: [z.object({})] })],
	// @ts-expect-error: it is called readOnly
	["an option with a typo", "WAL_OPTIONS", () => openWal(memoryEngine(), { records: [paid], readonly: true })],
	// @ts-expect-error: true, false, or "as recovered"
	["a readOnly that is a word", "WAL_OPTIONS", () => openWal(memoryEngine(), { records: [paid], readOnly: "yes" })],
	// @ts-expect-error: a function is asked
	["a seq that is proven", "WAL_OPTIONS", () => openWal(memoryEngine(), { records: [paid], proven: 5 })],
	["a kind that is there twice", "WAL_INVALID_RECORD", () => openWal(memoryEngine(), { records: [paid, paid] })],
	["a second writer", "WAL_LOCKED", () => openWal(engine, { records: [paid] })],
	["a reader of no log", "WAL_IO", () => openWal(join(directory, "none"), { records: [paid], readOnly: true })],
	// @ts-expect-error: it is called segmentBytes
	["a typo of the files", "WAL_OPTIONS", () => fileEngine(directory, { segmentbytes: 1 })],
	["a name of the log's own", "WAL_INVALID_RECORD", () => defineRecord("wal_mine", z.object({}))],
	// @ts-expect-error: the schema is missing
	["a kind without a schema", "WAL_INVALID_RECORD", () => defineRecord("mine")],
	// @ts-expect-error: a text is no draft
	["an append of a text", "WAL_INVALID_RECORD", () => wal.append("paid")],
	["an append of a kind that nobody knows", "WAL_INVALID_RECORD", () => wal.append({ kind: "unheard_of", data: {} })],
	// @ts-expect-error: cents are missing
	["data without a field", "WAL_INVALID_RECORD", () => wal.append(paid({ order: "a17" }))],
	// @ts-expect-error: cents are a number
	["data of another type", "WAL_INVALID_RECORD", () => wal.append(paid({ order: "a17", cents: "1250" }))],
	["data that the schema refuses", "WAL_INVALID_RECORD", () => wal.append(paid({ order: "a17", cents: 0.5 }))],
	// @ts-expect-error: a scope has agent, session and run
	["a scope with a typo", "WAL_INVALID_RECORD", () => wal.append(paid({ order: "a17", cents: 1 }), { agnet: "a" })],
	["an append to a reader", "WAL_READ_ONLY", () => reader.append(paid({ order: "a17", cents: 1 }))],
	// @ts-expect-error: it is called after
	["a range with a typo", "WAL_OPTIONS", () => all(wal.read({ aftr: 1 }))],
	// @ts-expect-error: a seq is a number
	["a seq that is a text", "WAL_OUT_OF_RANGE", () => all(wal.read({ after: "1" }))],
	// @ts-expect-error: before which seq is missing
	["a truncation of nothing", "WAL_OUT_OF_RANGE", () => wal.truncate({})],
];

const ends = await Promise.all(uses.map(async ([what, code, use]) => [what, code, await end(use)] as const));
for (const [what, code, found] of ends) if (found !== code) console.log(`${what}: expected ${code}, found ${found}`);
console.log(`${ends.length} wrong uses, tip ${wal.tip}`);
await wal.close();
await rm(directory, { recursive: true });

async function all(records: AsyncIterable<unknown>): Promise<void> {
	for await (const _ of records) {
		// They are taken, and that is all.
	}
}

async function end(use: () => unknown): Promise<unknown> {
	try {
		await use();
		return "no error";
	} catch (error) {
		return isReynError(error) ? codeOf(error) : error;
	}
}
