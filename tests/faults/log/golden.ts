/** Row 48: logs that old versions wrote fold to the same state each time they are opened; a newer version's is refused. */
import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openWal, type WalRecord } from "@reyn/wal";
import type { Fault } from "../fault.ts";
import { codeOf } from "../lab/check.ts";
import { withDirectory } from "../lab/start.ts";

export const fault: Fault = {
	name: "golden",
	title: "logs of old versions",
	promise: "the same state at every open; a newer version refused",
	rows: [
		{
			row: 48,
			title: "logs of format v1, opened again and again; a newer format",
			how: "the golden logs of `tests/formats`",
			promise: "the same state hash each time; refused",
			seen: "4 logs, 20 opens, the same state; 8 of 8 refused, nothing changed. No version has been released yet, so there is no older format",
		},
	],
	needs: () => undefined,
	async run({ short }) {
		// Every open but the first is of what the one before left.
		const times = short ? 2 : 5;
		// The golden logs lie outside what the planted defects copy.
		const { directoryOf, expectedPath, goldenNames, notePut, stateHash } = await import("../../formats/v1.ts");
		let opens = 0;
		let refused = 0;
		for (const name of goldenNames) {
			const expected = JSON.parse(await readFile(expectedPath(name), "utf8")) as {
				state: string;
				records: WalRecord[];
			};
			const last = expected.records.at(-1)?.seq ?? 0;
			await withDirectory(async (directory) => {
				await cp(directoryOf(name), directory, { recursive: true });
				for (let i = 0; i < times; i++) {
					const wal = await openWal(directory, { records: [notePut], readOnly: i === 0 });
					const records: WalRecord[] = [];
					for await (const record of wal.read()) records.push(record);
					await wal.close();
					assert.equal(stateHash(records), expected.state, `${name}, open ${i + 1}: another state`);
					for (const { seq, crc } of expected.records) assert.equal(records[seq - 1]?.crc, crc, `${name}: seq ${seq}`);
					assert.ok(records.slice(last).every(({ kind }) => kind.startsWith("wal_")));
					opens++;
				}
			});
			await withDirectory(async (directory) => {
				await cp(directoryOf(name), directory, { recursive: true });
				for (const file of await readdir(directory)) {
					const path = join(directory, file);
					await writeFile(
						path,
						(await readFile(path, "latin1")).replaceAll('{"v":1,', '{"v":2,').replaceAll('"crc"', '"sum"'),
						"latin1",
					);
				}
				const before = await contents(directory);
				for (const readOnly of [true, false]) {
					assert.equal(await codeOf(() => openWal(directory, { records: [notePut], readOnly })), "WAL_NEWER_FORMAT");
					refused++;
				}
				for (const [path, text] of before) assert.equal(await readFile(join(directory, path), "latin1"), text, path);
			});
		}
		return {
			"golden logs": goldenNames.length,
			"opened with the same state": opens,
			"of a newer version, refused": refused,
		};
	},
};

async function contents(directory: string): Promise<[string, string][]> {
	const names = await readdir(directory);
	return Promise.all(
		names.map(async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), "latin1")]),
	);
}
