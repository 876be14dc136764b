/** Logs that are committed open for ever: the golden files of each format that was ever written, read by the code of today. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWal, type Wal, type WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
	decodeLine,
	encodeFooter,
	encodeHead,
	encodeHeader,
	encodeRecord,
	HEAD_BYTES,
} from "../../packages/wal/src/record/codec.ts";
import { directoryOf, type Expected, expectedPath, type GoldenName, goldenNames, notePut, stateHash } from "./v1.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-formats-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const openCopy = (readOnly: boolean): Promise<Wal> => openWal(directory, { records: [notePut], readOnly });

describe.each(goldenNames)("the golden log %s", (name) => {
	test.each(["writer", "reader"] as const)("opens for a %s, and folds to what stands beside it", async (who) => {
		const expected = await copyOf(name);
		await using wal = await openCopy(who === "reader");
		expect(wal.id).toBe(expected.log);
		// The last of what the log held; a writer has added its own records since.
		const last = expected.records.at(-1)?.seq ?? 0;
		const records = await recordsOf(wal, last);
		expect(records.map(({ seq, ts, kind, scope, data, crc }) => ({ seq, ts, kind, scope, data, crc }))).toEqual(
			expected.records,
		);
		expect(stateHash(records)).toBe(expected.state);
		if (who === "reader") expect(wal.tip).toBe(last);
		else expect(wal.torn?.sha256).toBe(expected.torn?.sha256);
	});

	test("is refused by name when a newer version wrote it, and nothing is changed", async () => {
		await copyOf(name);
		const path = join(directory, "wal.jsonl");
		const newer = (await readFile(path, "latin1")).replaceAll('{"v":1,', '{"v":2,').replaceAll('"crc"', '"sum"');
		await writeFile(path, newer, "latin1");
		for (const readOnly of [true, false])
			await expect(openCopy(readOnly)).rejects.toMatchObject({ code: "WAL_NEWER_FORMAT", detail: { version: 2 } });
		expect(await readFile(path, "latin1")).toBe(newer);
	});

	test("is what today's encoder makes of its lines", async () => {
		for (const { path, lines } of await linesOf(name)) {
			const again = lines.map(encodeAgain);
			expect(again, path).toEqual(lines.map((line) => `${line}\n`));
		}
	});
});

test("the torn golden's tail is set aside to the byte", async () => {
	const { torn } = await copyOf("torn");
	await using wal = await openCopy(false);
	expect(wal.torn).toMatchObject(torn ?? {});
	const kept = (await readdir(directory)).filter((each) => each.includes(".broken-"));
	expect(kept).toEqual([`wal.jsonl.broken-${torn?.seq}-${torn?.sha256.slice(0, 8)}`]);
	expect(await readFile(join(directory, kept[0] ?? ""))).toHaveLength(torn?.bytes ?? 0);
});

test("the sealed golden has two sealed segments and an active one", async () => {
	const names = (await readdir(directoryOf("sealed"))).sort();
	expect(names).toEqual(["wal-00000000000000000001.jsonl", "wal-00000000000000000004.jsonl", "wal.head", "wal.jsonl"]);
});

async function copyOf(name: GoldenName): Promise<Expected> {
	await cp(directoryOf(name), directory, { recursive: true });
	return JSON.parse(await readFile(expectedPath(name), "utf8"));
}

async function recordsOf(wal: Wal, through: number): Promise<WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of wal.read({ through })) records.push(record);
	return records;
}

/** The lines of each file that say something: padding and what was torn are left out. */
async function linesOf(name: GoldenName): Promise<{ path: string; lines: string[] }[]> {
	const names = await readdir(directoryOf(name));
	return Promise.all(
		names.map(async (path) => {
			const text = await readFile(join(directoryOf(name), path), "utf8");
			const lines = text.split("\n").filter((line) => decodeLine(Buffer.from(line.trimEnd())).type !== "bad");
			expect(lines.length, path).toBeGreaterThan(0);
			return { path, lines };
		}),
	);
}

function encodeAgain(line: string): string {
	const decoded = decodeLine(Buffer.from(line.trimEnd()));
	switch (decoded.type) {
		case "header":
			return encodeHeader(decoded.header);
		case "footer":
			return encodeFooter(decoded.footer);
		case "record":
			return encodeRecord({ ...decoded.record, data: JSON.stringify(decoded.record.data) }).line;
		case "head":
			expect(line).toHaveLength(HEAD_BYTES - 1);
			return encodeHead(decoded.head);
		default:
			throw new Error(`a golden has a line that is ${decoded.type}: ${line}`);
	}
}
