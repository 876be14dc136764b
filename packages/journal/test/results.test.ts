/** What results come back as. `REYN_STATES` sets how many states are looked at for each power cut, `REYN_SEED` which. */
import { hash } from "node:crypto";
import { mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobStore, fileBlobs, fileEngine, memoryBlobs, memoryEngine } from "@reyn/wal";
import { CrashDisk, MemoryDisk } from "@reyn/wal/testing";
import { describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { pointsOf } from "../../../tests/sample.ts";
import {
	type Journal,
	Lane,
	type OpenJournalOptions,
	openJournal,
	type Purity,
	readText,
	type StepEvent,
	type StepOptions,
	spillText,
} from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const STATES = Number(process.env.REYN_STATES ?? 12);
const DIRECTORY = "/journal";
const INLINE_BYTES = 32 * 1024;

/** A text whose JSON has so many bytes. */
const textOf = (bytes: number): string => "x".repeat(bytes - 2);

/** One life of a process over a disk, which ends when its work does. */
async function live<T>(
	disk: MemoryDisk,
	work: (journal: Journal) => Promise<T>,
	options: OpenJournalOptions = {},
): Promise<T> {
	const journal = await openJournal(fileEngine(DIRECTORY, { disk }), options);
	try {
		return await work(journal);
	} finally {
		await journal.close();
	}
}

/** Calls a step with one result in two lives; gives what each saw, and how often it was called. */
async function twice(
	result: unknown,
	{ disk = new MemoryDisk(), ...options }: OpenJournalOptions & { disk?: MemoryDisk } = {},
): Promise<{ first: unknown; replay: unknown; calls: number; spills: string[] }> {
	let calls = 0;
	const call = (): unknown => {
		calls++;
		return result;
	};
	const work = (journal: Journal): Promise<unknown> => journal.step("make", call, { purity: "llm" });
	const first = await live(disk, work, options);
	const replay = await live(disk, work, options);
	return { first, replay, calls, spills: spillsOn(disk) };
}

const spillsOn = (disk: MemoryDisk): string[] =>
	[...disk.files.keys()].filter((path) => path.startsWith(`${DIRECTORY}/blobs/`));

describe("a result of 32 KiB stays in its record, one byte more lies beside the log", () => {
	test.each([
		["ASCII", textOf(INLINE_BYTES), textOf(INLINE_BYTES + 1)],
		["of two bytes a character", "é".repeat(INLINE_BYTES / 2 - 1), `${"é".repeat(INLINE_BYTES / 2 - 1)}x`],
		["in an object", { text: textOf(INLINE_BYTES - 9) }, { text: textOf(INLINE_BYTES - 8) }],
	])("%s", async (_, inline, spilled) => {
		expect(Buffer.byteLength(JSON.stringify(inline))).toBe(INLINE_BYTES);
		expect(Buffer.byteLength(JSON.stringify(spilled))).toBe(INLINE_BYTES + 1);
		expect(await twice(inline)).toEqual({ first: inline, replay: inline, calls: 1, spills: [] });
		const sha256 = hash("sha256", JSON.stringify(spilled), "hex");
		expect(await twice(spilled)).toEqual({
			first: spilled,
			replay: spilled,
			calls: 1,
			spills: [`${DIRECTORY}/blobs/${sha256.slice(0, 2)}/${sha256}.blob`],
		});
	});

	test("and there its bytes are those of its JSON, whatever it holds", async () => {
		const disk = new MemoryDisk();
		const result = {
			odd: '\u0000\u2028\ud83d\ude00\\"/',
			empty: {},
			list: [null, 1e300, -0.5, false],
			pad: textOf(INLINE_BYTES),
		};
		expect(await twice(result, { disk })).toMatchObject({ first: result, replay: result, calls: 1 });
		const [path = ""] = spillsOn(disk);
		expect(Buffer.from(disk.files.get(path)?.bytes ?? []).toString()).toBe(JSON.stringify(result));
	});

	class Page {
		readonly at = new Date(0);
		readonly next = undefined;
		readonly share = Number.NaN;
	}

	test.each([
		["half a character", "a \ud83d", "a \ufffd"],
		["half a character in a field", { "\udc00": ["\ud83d"] }, { "\ufffd": ["\ufffd"] }],
		["an object of a class", new Page(), { at: "1970-01-01T00:00:00.000Z", share: null }],
		["a list with nothing in it", [undefined, Number.POSITIVE_INFINITY, -0], [null, null, 0]],
	])("what was paid for is kept, though JSON lacks it: %s", async (_, result, kept) => {
		expect(await twice(result)).toEqual({ first: kept, replay: kept, calls: 1, spills: [] });
		const large = { result, pad: textOf(INLINE_BYTES) };
		expect(await twice(large)).toMatchObject({ first: { result: kept }, replay: { result: kept }, calls: 1 });
	});

	test("without a place beside the log it stays in its record", async () => {
		const log = new DyingLog();
		const step = { kind: "step", name: "make", args: {}, purity: "llm", call: async () => textOf(100_000) } as const;
		expect(await new Lane("a", scope, using(log)).perform(step)).toBe(textOf(100_000));
		expect(log.records.at(-1)?.data).toMatchObject({ result: textOf(100_000) });
	});
});

describe("bytes come back as bytes", () => {
	const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
	const results = {
		"as the whole result": bytes,
		"of no length": new Uint8Array(),
		nested: { image: { name: "a.png", data: bytes } },
		"in arrays": [bytes, [bytes, "text"], new Uint8Array()],
		"under keys with / and ~ and nothing": { "a/b": { "~": bytes, "~1": "text" }, "": bytes, "~0/~1": [bytes] },
		"under __proto__": JSON.parse('{"__proto__":{"length":1}}'),
		"beside texts that look like them": { text: "AAEC", data: Uint8Array.of(0, 1, 2) },
		"from a view of a larger buffer": new Uint8Array(bytes.buffer, 3, 5),
	};

	test.each(Object.entries(results))("inline: %s", async (_, result) => {
		expect(await twice(result)).toEqual({ first: result, replay: result, calls: 1, spills: [] });
	});

	test.each(Object.entries(results))("spilled: %s", async (_, result) => {
		const large = { result, pad: new Uint8Array(INLINE_BYTES).fill(7) };
		const { first, replay, calls, spills } = await twice(large);
		expect([first, replay, calls, spills.length]).toEqual([large, large, 1, 1]);
	});

	test("a Buffer comes back as a Uint8Array, in the first run too", async () => {
		for (const seen of Object.values(await twice(Buffer.from("abc"))).slice(0, 2)) {
			expect(Object.getPrototypeOf(seen)).toBe(Uint8Array.prototype);
			expect(seen).toEqual(Uint8Array.from(Buffer.from("abc")));
		}
	});
});

describe("a spilled result that is", () => {
	const damages: [string, (disk: MemoryDisk, path: string) => void][] = [
		["missing", (disk, path) => disk.remove(path)],
		["truncated", (disk, path) => disk.open(path, "write").truncate(20_000)],
		["empty", (disk, path) => disk.open(path, "write").truncate(0)],
		["changed in one byte", (disk, path) => disk.open(path, "write").write(Buffer.from("y"), 30_000)],
		["longer", (disk, path) => disk.open(path, "write").write(Buffer.from(" "), INLINE_BYTES + 1)],
	];
	describe.each(damages)("%s", (_, damage) => {
		/** The first life makes it, then it is damaged, then there is another. */
		async function damaged(purity: Purity, more: StepOptions<string> = {}) {
			const disk = new MemoryDisk();
			let calls = 0;
			const call = (): string => {
				calls++;
				return textOf(INLINE_BYTES + 1);
			};
			const events: StepEvent[] = [];
			const work = (journal: Journal): Promise<string> => journal.step("make", call, { purity, ...more });
			await live(disk, work);
			const [path = ""] = spillsOn(disk);
			damage(disk, path);
			const outcome = await live(disk, work, { observe: (event) => events.push(event) }).then(
				(result) => ({ result }),
				(error) => ({ error }),
			);
			return { outcome, calls, events, work, disk };
		}

		test.each<Purity>(["llm", "world"])("%s: is made again, and an event says why", async (purity) => {
			const { outcome, calls, events, work, disk } = await damaged(purity);
			expect([outcome, calls]).toEqual([{ result: textOf(INLINE_BYTES + 1) }, 2]);
			// A world is asked again anyhow, before its old answer is read.
			const lost = purity === "llm" ? ["lost"] : [];
			expect(events.map(({ type }) => type)).toEqual([
				...[...lost, "calling", "live"],
				...(purity === "world" ? ["world_asked"] : []),
			]);
			expect(await live(disk, work), "and is whole again").toBe(textOf(INLINE_BYTES + 1));
		});

		test("an effect's: RESULT_LOST, and nothing is called", async () => {
			const { outcome, calls, events } = await damaged("side_effect");
			expect(outcome).toMatchObject({
				error: { code: "RESULT_LOST", detail: { sha256: expect.stringMatching(/^\w{64}$/) } },
			});
			expect([calls, events.map(({ type }) => type)]).toEqual([1, ["lost"]]);
		});

		test("an effect's whose far side knows it: what that says, from now on", async () => {
			const asked: string[] = [];
			const reconcile: StepOptions<string>["reconcile"] = async (key) => {
				asked.push(key);
				return { kind: "done", result: textOf(INLINE_BYTES + 1) };
			};
			const { outcome, calls, work, disk } = await damaged("side_effect", { reconcile });
			expect([outcome, calls]).toEqual([{ result: textOf(INLINE_BYTES + 1) }, 1]);
			await live(disk, work);
			expect(asked).toHaveLength(1);
		});

		test("an effect's whose far side does not know it: RESULT_LOST", async () => {
			const { outcome, calls } = await damaged("side_effect", { reconcile: async () => ({ kind: "not_done" }) });
			expect(outcome).toMatchObject({ error: { code: "RESULT_LOST" } });
			expect(calls).toBe(1);
		});
	});

	test("missing is asked of the world again only while no effect rests on it: then it is lost, and says so", async () => {
		const disk = new MemoryDisk();
		const events: string[] = [];
		let answer = textOf(INLINE_BYTES + 1);
		const work = async (journal: Journal): Promise<string> => {
			const seen = await journal.step("look", () => answer, { purity: "world" });
			await journal.step("write", () => "written");
			return seen;
		};
		await live(disk, work);
		answer = "the world has moved";
		expect(await live(disk, work), "kept").toBe(textOf(INLINE_BYTES + 1));
		disk.remove(spillsOn(disk)[0] ?? "");
		const observe = ({ name, type }: StepEvent): void => void events.push(`${name} ${type}`);
		expect(await live(disk, work, { observe })).toBe(answer);
		expect(events).toEqual(["look lost", "look calling", "look live", "write ghost"]);
	});
});

describe("what is no JSON is WAL_NOT_JSON, names the place, and what gave it is not called again", () => {
	const cycle: Record<string, unknown> = { name: "x" };
	cycle.self = { again: [cycle] };
	test.each<[string, unknown, string]>([
		["a cycle", cycle, "/self/again/0"],
		["a function", { a: [{ "b/c": () => 1 }] }, "/a/0/b~1c"],
		["a BigInt", { total: 10n }, "/total"],
		["a Map", { seen: new Map([["a", 1]]) }, "/seen"],
		["a Set", [new Set()], "/0"],
		["a symbol", Symbol("s"), ""],
		["a BigInt beside much else", { pad: textOf(INLINE_BYTES), total: 10n }, "/total"],
	])("%s", async (what, result, path) => {
		const disk = new MemoryDisk();
		let calls = 0;
		const call = (): unknown => {
			calls++;
			return result;
		};
		const refused = { code: "WAL_NOT_JSON", detail: { path }, message: expect.stringContaining(path || "its top") };
		await expect(live(disk, (journal) => journal.step("make", call))).rejects.toMatchObject(refused);
		await expect(live(disk, (journal) => journal.step("make", call))).rejects.toMatchObject({
			...refused,
			message: expect.stringMatching(new RegExp(what.split(" ")[1] ?? "?", "i")),
			cause: { code: "STEP_FAILED" },
		});
		expect(calls).toBe(1);
		const ask = (journal: Journal): Promise<unknown> => journal.step("ask", call, { purity: "llm" });
		await expect(live(disk, ask)).rejects.toMatchObject(refused);
		await expect(live(disk, ask)).rejects.toMatchObject(refused);
		expect([calls, spillsOn(disk)]).toEqual([2, []]);
	});

	test("one value at two places is no cycle", async () => {
		const shared = { a: 1 };
		expect(await twice([shared, { shared }])).toMatchObject({ replay: [{ a: 1 }, { shared: { a: 1 } }], calls: 1 });
	});
});

test("the first run sees what every replay sees: the result as JSON gives it back", async () => {
	class Point {
		x = 1;
	}
	const result = { at: new Date(0), none: undefined, list: [undefined, Number.NaN], point: new Point() };
	const plain = { at: "1970-01-01T00:00:00.000Z", list: [null, null], point: { x: 1 } };
	const { first, replay, calls } = await twice(result);
	expect([first, replay, calls]).toStrictEqual([plain, plain, 1]);
	const large = await twice({ ...result, pad: textOf(INLINE_BYTES) });
	expect([large.first, large.replay]).toStrictEqual(Array(2).fill({ ...plain, pad: textOf(INLINE_BYTES) }));
	const nothing = await twice(undefined);
	expect([nothing.first, nothing.replay, nothing.calls]).toEqual([undefined, undefined, 1]);
});

test.each<[string, () => { list: unknown[]; bytes?: Uint8Array }]>([
	["inline", () => ({ list: [1] })],
	["with bytes", () => ({ list: [1], bytes: Uint8Array.of(1) })],
	["spilled", () => ({ list: [1, textOf(INLINE_BYTES)] })],
])("what a caller does to a result is not seen by the next one of the same life: %s", async (_, make) => {
	const log = new DyingLog();
	const results = memoryBlobs();
	const step = { kind: "step", name: "make", args: {}, purity: "llm", call: async () => make() } as const;
	for (let run = 0; run < 3; run++) {
		const result = await new Lane("a", scope, using(log, { results })).perform(step);
		expect(result).toEqual(make());
		result.list.push("changed");
		result.bytes?.fill(2);
	}
	expect(log.kinds).toEqual(["step_completed"]);
});

test("a world that says the same again has no second record, and is seen as before", async () => {
	const engine = memoryEngine();
	const look = async (journal: Journal): Promise<unknown> =>
		journal.step("look", () => ({ none: undefined, list: [undefined, Number.NaN], bytes: Uint8Array.of(1) }), {
			purity: "world",
		});
	const seen: unknown[] = [];
	const sizes: (number | undefined)[] = [];
	for (let life = 0; life < 3; life++) {
		const journal = await openJournal(engine);
		seen.push(await look(journal));
		await journal.close();
		sizes.push((await engine.log("main").tail())?.seq);
	}
	expect(seen).toStrictEqual(Array(3).fill({ list: [null, null], bytes: Uint8Array.of(1) }));
	// Each opening has a record of its own.
	expect(sizes.map((size) => (size ?? 0) - (sizes[0] ?? 0))).toEqual([0, 1, 2]);
});

describe("a secret", () => {
	const SECRET = "sk-4242424242";
	const redact = (text: string): string => text.replaceAll(SECRET, "[key]");
	/** All that is written, a byte a character. */
	const writtenOn = (disk: MemoryDisk): string =>
		[...disk.files].map(([path, { bytes }]) => path + Buffer.from(bytes).toString("latin1")).join("\n");

	test.each<[string, unknown, unknown]>([
		["a result", `key ${SECRET}`, "key [key]"],
		["a nested one", { a: [{ b: SECRET }], c: 1 }, { a: [{ b: "[key]" }], c: 1 }],
		["one that says itself as JSON", { toJSON: () => ({ key: SECRET }) }, { key: "[key]" }],
		["a key", { [SECRET]: { n: 1 }, data: Uint8Array.of(1) }, { "[key]": { n: 1 }, data: Uint8Array.of(1) }],
		["a key beside one that it becomes", { [SECRET]: 1, "[key]": 2 }, { "[key]": 2 }],
		["a key above bytes", { [SECRET]: [Uint8Array.of(1)] }, { "[key]": [Uint8Array.of(1)] }],
		["a spilled result", [SECRET, textOf(INLINE_BYTES)], ["[key]", textOf(INLINE_BYTES)]],
	])("in %s is in no file, and the first run sees what the replay sees", async (_, result, redacted) => {
		const disk = new MemoryDisk();
		const { first, replay, calls } = await twice(result, { redact, disk });
		expect([first, replay, calls]).toEqual([redacted, redacted, 1]);
		expect(writtenOn(disk)).not.toContain(SECRET);
		expect(writtenOn(disk)).toContain("step_completed");
	});

	test("in a failure's message is in no file, in no event, and not in what the replay throws", async () => {
		const disk = new MemoryDisk();
		const events: StepEvent[] = [];
		const work = (journal: Journal): Promise<unknown> =>
			journal.step("send", () => Promise.reject(new Error(`401 for ${SECRET}`)), {
				retry: { maxAttempts: 2, initialIntervalMs: 0 },
			});
		const options = { redact, observe: (event: StepEvent) => void events.push(event) };
		await expect(live(disk, work, options)).rejects.toThrow(/^401 for \[key\]$/);
		await expect(live(disk, work, options)).rejects.toMatchObject({
			message: "401 for [key]",
			cause: { code: "STEP_FAILED" },
		});
		expect(JSON.stringify(events)).not.toContain(SECRET);
		expect(JSON.stringify(events)).toContain("401 for [key]");
		expect(writtenOn(disk)).not.toContain(SECRET);
	});

	test("in the arguments is in no file, though the fingerprint tells it from another", async () => {
		const disk = new MemoryDisk();
		const calls: string[] = [];
		for (const key of [SECRET, SECRET, "another"])
			await live(disk, (journal) => journal.step("send", () => void calls.push(key), { args: { key } }), { redact });
		expect(calls).toEqual([SECRET, "another"]);
		expect(writtenOn(disk)).not.toContain(SECRET);
	});
});

describe("a result that is being spilled when the process ends is recorded whole or not at all", () => {
	const result = textOf(INLINE_BYTES + 1);

	test(`after a power cut at any operation (${STATES} states a cut, seed ${SEED})`, async () => {
		const disk = new CrashDisk();
		const known: { cut: number; names: string[] }[] = [];
		const names: string[] = [];
		const work = async (journal: Journal, called: (name: string) => void): Promise<void> => {
			for (const name of ["first", "second"]) {
				const call = (): string => {
					called(name);
					return name + result;
				};
				expect(await journal.step(name, call, { purity: name === "first" ? "llm" : "side_effect" })).toBe(
					name + result,
				);
				await journal.durable();
				names.push(name);
				known.push({ cut: disk.cuts, names: [...names] });
			}
		};
		await live(disk, (journal) => work(journal, () => {}));
		const random = seeded(SEED);
		let wasCut = 0;
		const acknowledged = [...known];
		for (const cut of pointsOf(0, disk.cuts, 3)) {
			const durable = acknowledged.findLast((each) => each.cut <= cut)?.names ?? [];
			for (const state of disk.states(cut, { limit: STATES, random })) {
				const calls: string[] = [];
				const events: StepEvent[] = [];
				const observe = (event: StepEvent): void => void events.push(event);
				await live(state, (journal) => work(journal, (name) => calls.push(name)), { observe });
				expect(events.filter(({ type }) => type === "lost")).toEqual([]);
				expect(calls.filter((name) => durable.includes(name))).toEqual([]);
				wasCut += calls.length;
			}
		}
		expect(wasCut).toBeGreaterThan(0);
	});

	test.each<Purity>(["llm", "side_effect"])("when it cannot be kept: a step of purity %s", async (purity) => {
		const engine = memoryEngine();
		const full: BlobStore = { ...memoryBlobs(), put: () => Promise.reject(new Error("ENOSPC")) };
		let calls = 0;
		const call = (): string => {
			calls++;
			return result;
		};
		const broken = await openJournal({ ...engine, blobs: () => full });
		await expect(broken.step("make", call, { purity })).rejects.toThrow("ENOSPC");
		await broken.close();
		const events: string[] = [];
		const mended = await openJournal(engine, { observe: ({ type }) => events.push(type) });
		expect(await mended.step("make", call, { purity })).toBe(result);
		expect(events).toEqual([...(purity === "llm" ? [] : ["in_doubt"]), "calling", "live"]);
		expect(calls).toBe(2);
		await mended.close();
	});
});

test("a result that lies beside the log is asked for with its recorded size, and is lost where it is larger", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-results-"));
	try {
		const blobs = fileBlobs(directory);
		const text = textOf(INLINE_BYTES + 1);
		const spilled = await spillText(text, blobs);
		if (!spilled) throw new Error("it was kept in the record");
		expect(await readText(spilled, blobs)).toBe(text);
		// It takes no space: nothing but its size is there.
		await truncate(join(directory, spilled.sha256.slice(0, 2), `${spilled.sha256}.blob`), 8 * 1024 ** 3);
		await expect(readText(spilled, blobs)).rejects.toMatchObject({
			code: "RESULT_LOST",
			message: expect.stringContaining(`at most ${spilled.bytes} were written`),
		});
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
});
