/**
 * Makes the golden logs of format v1 under `v1/`: `node --conditions=@reyn/source tests/formats/make.ts`. Time, ids, pid and
 * host are fixed, so that the bytes are too. It was run once: what old versions wrote cannot be written again by new ones,
 * so a golden that is there is never overwritten.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Draft, defineRecord, fileEngine, type Lease, type RealmLog, type Scope, type WalRecord } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";
import { encodeRecord } from "../../packages/wal/src/record/codec.ts";
import { directoryOf, type Expected, expectedPath, type GoldenName, notePut, stateHash } from "./v1.ts";

const TIME = 1_767_225_600_000;
const ROOT = "/log";
/** Room for three or four records. */
const SMALL = 720;
const writer = defineRecord<unknown, unknown>("wal_epoch", {
	"~standard": { version: 1, vendor: "reyn-tests", validate: (value) => ({ value }) },
});
const main: Scope = { agent: "default", session: "main" };

/** A log in memory, written through the real engine, one record a flush. */
class Golden {
	readonly name: GoldenName;
	readonly disk = new MemoryDisk();
	readonly records: WalRecord[] = [];
	#log!: RealmLog;
	#lease!: Lease;
	#crc = "";

	constructor(name: GoldenName) {
		this.name = name;
	}

	async open(id: string, segmentBytes = 16 * 1024 * 1024): Promise<void> {
		const engine = fileEngine(ROOT, { disk: this.disk, segmentBytes, allocateBytes: 1024 });
		this.#log = engine.log("main");
		this.#lease = await this.#log.acquire({
			owner: { pid: 4711, host: "example", started: "2026-01-01T00:00:00.000Z", command: "golden" },
			nonce: "n",
			fresh: { log: id.repeat(16), salt: id.repeat(4), now: TIME },
			proven: async () => 0,
			opening: ({ prev, epoch }) => {
				this.#crc = prev;
				return [this.#encode(writer({ epoch, pid: 4711, host: "example" }), {})];
			},
		});
	}

	async append(draft: Draft, scope: Scope = main): Promise<void> {
		await this.#log.append(this.#lease, this.records.length, [this.#encode(draft, scope)]);
	}

	/** The line of the next record. */
	#encode({ kind, data }: Draft, scope: Scope): string {
		const seq = this.records.length + 1;
		const ts = TIME + seq * 1000;
		const parts = { seq, ts, kind, scope, data: JSON.stringify(data), dur: seq - 1, prev: this.#crc };
		const { line, crc } = encodeRecord(parts);
		this.records.push({ seq, ts, kind, scope, data, crc });
		this.#crc = crc;
		return line;
	}

	close(): Promise<void> {
		return this.#log.release(this.#lease);
	}

	/** What is on the disk now, changed in `wal.jsonl` as a crash would. */
	save(crash: (bytes: Buffer) => Buffer = (bytes) => bytes, torn?: Expected["torn"]): void {
		const directory = directoryOf(this.name);
		if (existsSync(directory)) {
			console.log(`${this.name} is there, and stays as it is`);
			return;
		}
		mkdirSync(directory, { recursive: true });
		for (const [path, { bytes }] of this.disk.files) {
			const isActive = path === `${ROOT}/wal.jsonl`;
			writeFileSync(join(directory, basename(path)), isActive ? crash(Buffer.from(bytes)) : bytes);
		}
		const { records } = this;
		const expected: Expected = {
			log: this.#lease.log,
			state: stateHash(records),
			...(torn === undefined ? {} : { torn }),
			records,
		};
		writeFileSync(expectedPath(this.name), `${JSON.stringify(expected, null, "\t")}\n`);
	}
}

const clean = new Golden("clean");
await clean.open("c1");
await clean.append(notePut({ id: "a", text: "hello" }));
await clean.append(notePut({ id: "b", text: 'Grüße: "quoted", a tab\tand 😀' }));
await clean.close();
clean.save();

const sealed = new Golden("sealed");
await sealed.open("5e", SMALL);
for (const text of ["one", "two", "three", "four"]) await sealed.append(notePut({ id: text.slice(0, 2), text }));
await sealed.close();
await sealed.open("5e", SMALL);
for (const text of ["five", "six"]) await sealed.append(notePut({ id: "last", text }), { ...main, run: "p1" });
await sealed.close();
sealed.save();

// A crash in the middle of the write of seq 4: half of its line is there, and of the line behind it only the end.
const torn = new Golden("torn");
await torn.open("70");
await torn.append(notePut({ id: "a", text: "kept" }));
await torn.append(notePut({ id: "a", text: "kept too" }));
const TORN = `{"v":1,"seq":4,"ts":1767225604000,"kind":"note_put","sco\0\0\0\0\0\0\0\0","crc":"01234567"}`;
torn.save(
	(bytes) => {
		bytes.write(TORN, endOf(bytes));
		return bytes;
	},
	{ seq: 4, bytes: TORN.length, sha256: createHash("sha256").update(TORN).digest("hex") },
);

// A crash without a write under way: space allocated ahead, some of it never written by the disk.
const padding = new Golden("padding");
await padding.open("9d");
await padding.append(notePut({ id: "a", text: "before the padding" }));
padding.save((bytes) => {
	bytes.fill(0, bytes.length - 100);
	return bytes;
});

/** Where the padding begins. */
function endOf(bytes: Buffer): number {
	return bytes.lastIndexOf("}\n") + 2;
}
