/** A state that was made here is known, and one that came from elsewhere is not, whatever it brings along. */
import { createHash } from "node:crypto";
import {
	closeSync,
	cpSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { defineRecord, fileEngine, openWal } from "@reyn/wal";
import { applyRepair, proposeRepair } from "@reyn/wal/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { claimState, forgetUnknown, layoutOf, stateFingerprint, stateOrigin, trustState } from "../src/index.ts";
import { areaIn } from "../src/stores/layout.ts";
import { bytesReadBy } from "./bytes-read.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

let home: string;
let state: string;
let secrets: string;
beforeEach(() => {
	home = mkdtempSync(join(tmpdir(), "reyn-trust-"));
	[state, secrets] = [join(home, ".reyn"), join(home, "secrets", "reyn")];
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A state with something in it, as `claimState` and then work leave it. */
async function ownState(): Promise<void> {
	await claimState(state, secrets);
	mkdirSync(join(state, "agents"), { mode: 0o700 });
}

test("what is missing or has nothing in it is new", async () => {
	expect(await stateOrigin(state, secrets)).toBe("new");
	mkdirSync(state, { mode: 0o700 });
	writeFileSync(join(state, ".gitignore"), "*\n");
	expect(await stateOrigin(state, secrets)).toBe("new");
});

test("what a process has left that was killed before it had made a log is new, and nothing else is", async () => {
	mkdirSync(join(state, "state"), { recursive: true, mode: 0o700 });
	expect(await stateOrigin(state, secrets)).toBe("new");
	writeFileSync(join(state, "state/wal.jsonl.new.tmp"), "{", { mode: 0o600 });
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	rmSync(join(state, "state/wal.jsonl.new.tmp"));
	writeFileSync(join(state, "state/wal.lock"), "", { mode: 0o600 });
	expect(await stateOrigin(state, secrets)).toBe("new");
	writeFileSync(join(state, "state/wal.jsonl.new.tmp"), "{", { mode: 0o600 });
	expect(await stateOrigin(state, secrets)).toBe("new");
	for (const other of ["state/wal.jsonl", "state/kept", "agents", "runs"]) {
		writeFileSync(join(state, other), "", { mode: 0o600 });
		expect([other, await stateOrigin(state, secrets)]).toEqual([other, "unknown"]);
		rmSync(join(state, other));
	}
});

test("a state that was made here is known, through a link above it too", async () => {
	await ownState();
	expect(await stateOrigin(state, secrets)).toBe("own");
	symlinkSync(home, join(home, "other name"));
	expect(await stateOrigin(join(home, "other name", ".reyn"), secrets)).toBe("own");
});

test("a state whose log is another one is not known: files may come into it that nobody saw", async () => {
	const log = await openWal(join(state, "state"), { records: [] });
	await log.close();
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
	rmSync(join(state, "state"), { recursive: true });
	await (await openWal(join(state, "state"), { records: [] })).close();
	expect(await stateOrigin(state, secrets)).toBe("unknown");
});

/** A log with so many records, in segments of 4 KiB. */
async function write(directory: string, records: number): Promise<void> {
	const wal = await openWal(fileEngine(directory, { segmentBytes: 4096 }), { records: [said] });
	for (let i = 0; i < records; i++) await wal.append(said({ text: "x".repeat(500) }), {}).durable;
	await wal.close();
}

test("whoever a trusted state came from can put nothing more into it: what they send goes on in their log, not in this one", async () => {
	const theirs = join(home, "theirs");
	await write(theirs, 30);
	cpSync(theirs, join(state, "state"), { recursive: true });
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await trustState(state, secrets);
	await write(join(state, "state"), 30);
	expect(await stateOrigin(state, secrets)).toBe("own");
	cpSync(state, join(home, "kept"), { recursive: true });

	// A pull of all that it has, and of each file.
	await write(theirs, 1);
	const names = readdirSync(theirs).filter((name) => name !== "wal.lock");
	expect(names.length).toBeGreaterThan(3);
	for (const pulled of [names, ...names.map((name) => [name])]) {
		rmSync(state, { recursive: true });
		cpSync(join(home, "kept"), state, { recursive: true });
		for (const name of pulled) {
			const bytes = readFileSync(join(theirs, name));
			// Their segments as they were sealed are known already: these say something else.
			if (name.startsWith("wal-")) bytes[600] = (bytes[600] as number) ^ 1;
			writeFileSync(join(state, "state", name), bytes);
		}
		// The head says how far the log was durable: no more than a log of its own bears out.
		expect([pulled, await stateOrigin(state, secrets)]).toEqual([
			pulled,
			pulled.join() === "wal.head" ? "own" : "unknown",
		]);
	}
});

/** A log of theirs that is trusted here, and works on; gives where they have theirs. */
async function trusted(): Promise<string> {
	const theirs = join(home, "theirs");
	await write(theirs, 30);
	cpSync(theirs, join(state, "state"), { recursive: true });
	await trustState(state, secrets);
	await write(join(state, "state"), 30);
	return theirs;
}

const sealedIn = (directory: string): string[] =>
	readdirSync(directory)
		.filter((name) => /^wal-\d+\.jsonl$/.test(name))
		.sort();

test("nor under a name that was not there when it was trusted, nor by a base that passes over what was", async () => {
	const theirs = await trusted();
	const names = sealedIn(theirs);
	const planted = readFileSync(join(theirs, names[1] as string));
	const log = await openWal(fileEngine(theirs), { records: [said] });
	const { tip } = log;
	for (const before of [10, 20]) await log.truncate({ before });
	await log.close();
	const base = readFileSync(join(theirs, "wal.base"));
	cpSync(state, join(home, "kept"), { recursive: true });
	const firsts = [2, tip, 10_000].map((first) => `wal-${String(first).padStart(20, "0")}.jsonl`);
	for (const pulled of [...firsts.map((name) => [name]), ["wal.base"], [...firsts, "wal.base"]]) {
		rmSync(state, { recursive: true });
		cpSync(join(home, "kept"), state, { recursive: true });
		for (const name of pulled) writeFileSync(join(state, "state", name), name === "wal.base" ? base : planted);
		const before = readdirSync(join(state, "state"));
		expect([pulled, await stateOrigin(state, secrets)]).toEqual([pulled, "unknown"]);
		// Whoever does not ask first takes nothing away.
		await expect(write(join(state, "state"), 1)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
		expect(readdirSync(join(state, "state"))).toEqual(before);
	}
});

test("a trusted log whose front its owner takes away stays known", async () => {
	await trusted();
	for (const before of [20, 50]) {
		const log = await openWal(fileEngine(join(state, "state")), { records: [said] });
		await log.truncate({ before });
		expect(log.first).toBeGreaterThan(before - 15);
		await log.close();
		expect(await stateOrigin(state, secrets)).toBe("own");
	}
	// Trusted once more, as where it was moved to, the base says so too.
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
});

test("a segment that was known, and is a gigabyte of nothing now, is not", async () => {
	const [name = ""] = sealedIn(await trusted());
	truncateSync(join(state, "state", name), 1024 ** 3);
	expect(await stateOrigin(state, secrets)).toBe("unknown");
});

test("where a state was trusted that had no log, one that comes later is not, whatever it calls itself", async () => {
	mkdirSync(join(state, "state"), { recursive: true, mode: 0o700 });
	mkdirSync(join(state, "runs"), { mode: 0o700 });
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
	for (const log of ["", "c".repeat(32)]) {
		const header = `{"v":1,"log":"${log}","first":1,"prev":"00000000","epoch":0,"created":1`;
		const crc = crc32(header).toString(16).padStart(8, "0");
		writeFileSync(join(state, "state", "wal.jsonl"), `${header},"crc":"${crc}"}\n`, { mode: 0o600 });
		expect([log, await stateOrigin(state, secrets)]).toEqual([log, "unknown"]);
	}
});

test("what is not known does not become so by a repair, which makes one segment of what was somebody else's", async () => {
	await trusted();
	const log = join(state, "state");
	const repair = async (): Promise<void> => {
		await forgetUnknown(state, secrets);
		await applyRepair(log, { acceptLoss: (await proposeRepair(log)).accept });
	};
	const damage = (name: string): void => {
		const bytes = readFileSync(join(log, name));
		const at = bytes.lastIndexOf("xxxx");
		bytes[at] = (bytes[at] as number) ^ 1;
		writeFileSync(join(log, name), bytes);
	};
	damage("wal.jsonl");
	await repair();
	expect(await stateOrigin(state, secrets)).toBe("own");
	damage(sealedIn(log)[1] as string);
	await repair();
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
});

test("a log that does not say who it is, is not known", async () => {
	await ownState();
	mkdirSync(join(state, "state"), { mode: 0o700 });
	writeFileSync(join(state, "state", "wal.jsonl"), `${" ".repeat(2000)}\n`, { mode: 0o600 });
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await claimState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await expect(trustState(state, secrets)).rejects.toMatchObject({ code: "WAL_CORRUPT" });
});

test("an older code of the same place is not known any more, whoever has kept it with the log that it was of", async () => {
	await write(join(state, "state"), 3);
	await trustState(state, secrets);
	cpSync(state, join(home, "given away"), { recursive: true });
	// It came back changed, and was trusted anew.
	await write(join(state, "state"), 1);
	rmSync(join(state, "own"));
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
	rmSync(state, { recursive: true });
	cpSync(join(home, "given away"), state, { recursive: true });
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	// One that was made known before anything was remembered stays so.
	rmSync(state, { recursive: true });
	await ownState();
	const place = join(secrets, "own-states");
	for (const name of readdirSync(place)) if (name !== "secret") rmSync(join(place, name));
	expect(await stateOrigin(state, secrets)).toBe("own");
});

test("what is trusted is what was seen", async () => {
	await write(join(state, "state"), 3);
	const seen = await stateFingerprint(state);
	await write(join(state, "state"), 1);
	const names = readdirSync(join(state, "state"));
	await expect(trustState(state, secrets, { seen })).rejects.toMatchObject({ code: "RUNTIME_STATE_CHANGED" });
	expect([readdirSync(join(state, "state")), await stateOrigin(state, secrets)]).toEqual([names, "unknown"]);
	mkdirSync(join(state, "state", "kept", "chunks"), { recursive: true, mode: 0o700 });
	const before = await stateFingerprint(state);
	writeFileSync(join(state, "state", "kept", "chunks", `${"a".repeat(64)}.blob`), "more", { mode: 0o600 });
	expect(await stateFingerprint(state)).not.toBe(before);
	await trustState(state, secrets, { seen: await stateFingerprint(state) });
	expect(await stateOrigin(state, secrets)).toBe("own");
	// Where there was no log when it was shown.
	const other = join(home, "other");
	mkdirSync(join(other, "runs"), { recursive: true, mode: 0o700 });
	const nothing = await stateFingerprint(other);
	await write(join(other, "state"), 1);
	await expect(trustState(other, secrets, { seen: nothing })).rejects.toMatchObject({ code: "RUNTIME_STATE_CHANGED" });
});

/** Writes a file of a state, with the directories that lead to it. */
function plant(path: string, text: string | Buffer): void {
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	writeFileSync(path, text, { mode: 0o600 });
}

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");

test("all that decides what counts is seen: the head, the base, each segment, whether a torn tail lies there, each kept state", async () => {
	await trusted();
	const log = await openWal(fileEngine(join(state, "state")), { records: [said] });
	await log.truncate({ before: 20 });
	await log.close();
	const wal = join(state, "state");
	const kept = join(areaIn(layoutOf(state), "kept"));
	const names = ["branches", "log", `chunks/${"a".repeat(64)}`, `roots/x-1/${"1".padStart(20, "0")}`];
	for (const name of [...names, ...names.slice(1).map((each) => `whole/${each}`)])
		plant(join(kept, `${name}.blob`), "1");
	const files = (readdirSync(state, { recursive: true }) as string[])
		.map((name) => join(state, name))
		.filter((path) => /wal(-\d+)?\.(jsonl|head|base)$|\.blob$/.test(path));
	expect(files.length).toBeGreaterThan(12);
	const before = await stateFingerprint(state);
	for (const path of files) {
		const bytes = readFileSync(path);
		const other = Buffer.from(bytes);
		other[0] = (other[0] as number) ^ 1;
		writeFileSync(path, other);
		expect([path, (await stateFingerprint(state)) === before]).toEqual([path, false]);
		writeFileSync(path, bytes);
	}
	expect(await stateFingerprint(state)).toBe(before);
	writeFileSync(join(wal, "wal.jsonl.broken-9-00000000"), "", { mode: 0o600 });
	expect(await stateFingerprint(state)).not.toBe(before);
});

test("names that no Reyn writes say nothing of other files: neither are they seen", async () => {
	await write(join(state, "state"), 1);
	const kept = join(state, "state", "kept");
	const index = join(kept, "branches.blob");
	const [shown, other] = ["what is shown", "what is trusted"];
	// What was said of the files, a line each; the name of one says what two lines of the other do.
	const lines = [
		`${kept}/a f ${sha256Of("f")}`,
		`${kept} branches.blob ${sha256Of(shown)}`,
		`${kept}/c g ${sha256Of("g")}`,
		`${kept} branches.blob ${sha256Of(other)}`,
		`${kept}/d e ${sha256Of("e")}`,
	];
	const named = (from: number, to: number): string => {
		const [, directory = "", name = ""] = /^(.*) (\S+) [0-9a-f]{64}$/s.exec(lines.slice(from, to + 1).join("\n")) ?? [];
		return join(directory, name);
	};
	plant(join(kept, "a", "f"), "f");
	plant(index, shown);
	plant(named(2, 4), "e");
	const seen = await stateFingerprint(state);
	rmSync(kept, { recursive: true });
	plant(named(0, 2), "g");
	plant(index, other);
	plant(join(kept, "d", "e"), "e");
	await expect(trustState(state, secrets, { seen })).rejects.toMatchObject({ code: "RUNTIME_STATE_CHANGED" });
	expect(await stateOrigin(state, secrets)).toBe("unknown");
});

test("of more than can be held to what was shown nothing is read, and nothing trusted", async () => {
	await write(join(state, "state"), 1);
	const log = join(state, "state", "wal.jsonl");
	const bytes = readFileSync(log).length;
	const tooLarge = { code: "WAL_TOO_LARGE", message: expect.stringMatching(/at most 536870912 .*Nothing was trusted/) };
	truncateSync(log, 600 * 1024 ** 2);
	await expect(stateFingerprint(state)).rejects.toMatchObject({ ...tooLarge, detail: { path: join(state, "state") } });
	await expect(trustState(state, secrets, { seen: "x" })).rejects.toMatchObject(tooLarge);
	truncateSync(log, bytes);
	// Together, and under names that are looked at.
	const chunks = join(state, "state", "kept", "chunks");
	for (let i = 0; i < 20; i++) {
		const path = join(chunks, `${String(i).padStart(64, "0")}.blob`);
		plant(path, "");
		truncateSync(path, 511 * 1024 ** 2);
	}
	const read = await bytesReadBy(async () => {
		await expect(stateFingerprint(state)).rejects.toMatchObject({ ...tooLarge, detail: { files: 22 } });
		await expect(trustState(state, secrets)).rejects.toMatchObject({ code: "WAL_TOO_LARGE", detail: { files: 20 } });
	});
	expect(read).toBeLessThan(64 * 1024 ** 2);
	expect([await stateOrigin(state, secrets), readdirSync(join(state, "state")).includes("wal.jsonl")]).toEqual([
		"unknown",
		true,
	]);
});

test("a segment too large to be known later is refused before the log is taken over", async () => {
	await write(join(state, "state"), 30);
	const [name = ""] = sealedIn(join(state, "state"));
	const path = join(state, "state", name);
	const bytes = readFileSync(path);
	// Its two ends are those of a segment, with gigabytes of nothing between them.
	const end = bytes.lastIndexOf("\n", -2) + 1;
	const file = openSync(path, "r+");
	writeSync(file, bytes.subarray(end), 0, bytes.length - end, 1024 ** 3);
	closeSync(file);
	const names = readdirSync(join(state, "state"));
	await expect(trustState(state, secrets)).rejects.toMatchObject({ code: "WAL_TOO_LARGE", detail: { path } });
	expect(readdirSync(join(state, "state"))).toEqual(names);
});

test("a state with many segments stays known", async () => {
	await write(join(state, "state"), 3);
	await trustState(state, secrets);
	const own = readFileSync(join(state, "own"), "latin1");
	writeFileSync(join(state, "own"), own + "wal-00000000000000000001.jsonl 00\n".repeat(40_000));
	// Not as a code that nobody can read, but as one that is not ours.
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	writeFileSync(join(state, "own"), own);
	expect(await stateOrigin(state, secrets)).toBe("own");
});

test("a copy, a state that was moved, and one of another user are not", async () => {
	await ownState();
	cpSync(state, join(home, "copy"), { recursive: true });
	expect(await stateOrigin(join(home, "copy"), secrets)).toBe("unknown");
	expect(await stateOrigin(state, join(home, "of another user"))).toBe("unknown");
	await trustState(join(home, "third"), join(home, "of another user"));
	expect(await stateOrigin(state, join(home, "of another user"))).toBe("unknown");
	renameSync(state, join(home, "moved"));
	expect(await stateOrigin(join(home, "moved"), secrets)).toBe("unknown");
});

test.each([
	["no code", undefined],
	["none of its own", "0".repeat(64)],
	["an empty one", ""],
	["a large one", "0".repeat(10_000)],
])("a state with %s is not known until somebody trusts it", async (_, code) => {
	await ownState();
	if (code === undefined) rmSync(join(state, "own"));
	else writeFileSync(join(state, "own"), code);
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
});

test("a secret that a crash has left half, and a link in its place, are refused with the path", async () => {
	await ownState();
	const path = join(secrets, "own-states", "secret");
	const secret = readFileSync(path);
	writeFileSync(path, secret.subarray(7));
	await expect(stateOrigin(state, secrets)).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path } });
	rmSync(path);
	writeFileSync(join(home, "target"), secret);
	symlinkSync(join(home, "target"), path);
	await expect(trustState(state, secrets)).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path } });
});

test("many that begin at once agree on one secret, and leave nothing else behind", async () => {
	const states = Array.from({ length: 20 }, (_, at) => join(home, `${at}`));
	await Promise.all(states.map((each) => trustState(each, secrets)));
	for (const each of states) {
		mkdirSync(join(each, "agents"));
		expect(await stateOrigin(each, secrets)).toBe("own");
	}
	expect(readdirSync(secrets)).toEqual(["own-states"]);
});
