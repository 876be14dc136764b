/** Row 30: `wal.head` says more than the log has, or less, or nothing. It is a lower bound of what was acknowledged. */
import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import type { WalError } from "@reyn/wal";
import { decodeLine, encodeHead, type Head } from "../../../packages/wal/src/record/codec.ts";
import { type Case, type Fault, runCases } from "../fault.ts";
import { checkLog, openLog } from "../lab/check.ts";
import { ACTIVE, diskOf, engineOn, type Files, filesOf, HEAD, linesOf, type Sample, sample } from "../lab/memory.ts";

const cases: readonly Case[] = [
	{
		name: "ahead of the log alone",
		async run() {
			let refused = 0;
			for (const each of await samples()) {
				const head = headOf(each);
				for (const ahead of [1, 2, 100, 1e6, 2 ** 53 - 1 - head.seq])
					for (const bytes of [1, 60 * ahead])
						refused += await isRefused(
							withHead(each, { ...head, seq: head.seq + ahead, offset: head.offset + Math.min(bytes, 2 ** 50) }),
							head.seq + 1,
						);
			}
			return `${refused} of ${refused} refused, what is missing named, nothing changed`;
		},
	},
	{
		name: "ahead, and yet with the checksum of the bytes that are there",
		async run() {
			let refused = 0;
			for (const each of await samples()) {
				const head = headOf(each);
				for (const ahead of [1, 2, 100])
					refused += await isRefused(withHead(each, { ...head, seq: head.seq + ahead }), head.seq + 1);
			}
			return `${refused} of ${refused} refused`;
		},
	},
	{
		name: "in a segment that is not there",
		async run() {
			let refused = 0;
			for (const each of await samples()) {
				const head = headOf(each);
				const next = { ...head, segment: head.seq + 1, seq: head.seq + 1 };
				refused += await isRefused(withHead(each, next), head.seq + 1);
			}
			return `${refused} of ${refused} refused`;
		},
	},
	{
		name: "behind the log, as it was once, or missing",
		async run() {
			let opened = 0;
			for (const each of await samples()) {
				for (const head of [...headsOf(each), undefined]) {
					const { records } = await checkLog(engineOn(diskOf(withHead(each, head)), each.options), each.records);
					assert.equal(records.length, each.records.length + 1);
					opened++;
				}
			}
			return `${opened} of ${opened} opened with all records`;
		},
	},
];

export const fault: Fault = {
	name: "head",
	title: "wal.head ahead of the log, behind it or gone",
	promise: "refused where it is ahead, else every record is there",
	rows: [
		{
			row: 30,
			title: "the head ahead of the log alone; in a segment that is not there; behind, as it was once; missing",
			how: "in memory: closed, killed, in segments; a writer and a reader",
			promise: "ahead: refused, nothing changed; else all records",
			seen: "ahead: 60 of 60 refused, 6 of 6; behind or missing: 34 of 34 opened with all. With the checksum of the bytes that are there, and only a higher seq: 18 of 18 refused",
		},
	],
	needs: () => undefined,
	run: (settings) => runCases(cases, settings),
};

const samples = async (): Promise<Sample[]> => [
	await sample(12),
	await sample(12, { close: false }),
	await sample(14, { segmentBytes: 1500 }),
];

function headOf({ files }: Sample): Head {
	const decoded = decodeLine(
		Buffer.from(
			Buffer.from(files.get(HEAD) as Uint8Array)
				.toString("latin1")
				.trimEnd(),
		),
	);
	assert.equal(decoded.type, "head");
	return (decoded as { head: Head }).head;
}

/** The head after each record of the active segment. */
function headsOf(of: Sample): Head[] {
	const last = headOf(of);
	const bytes = of.files.get(ACTIVE) as Uint8Array;
	let offset = 0;
	return linesOf(bytes.subarray(0, last.offset)).map((line, i) => {
		offset += line.length;
		const sum = crc32(bytes.subarray(0, offset)).toString(16).padStart(8, "0");
		return { ...last, seq: last.segment - 1 + i, offset, sum };
	});
}

function withHead({ files }: Sample, head: Head | undefined): Files {
	const rest = [...files].filter(([path]) => path !== HEAD);
	return new Map(head === undefined ? rest : [...rest, [HEAD, Buffer.from(encodeHead(head))]]);
}

/** For a writer and a reader; gives how many refused. */
async function isRefused(files: Files, seq: number): Promise<number> {
	for (const readOnly of [false, true]) {
		const disk = diskOf(files);
		const before = new Map([...files].map(([path, bytes]) => [path, Buffer.from(bytes)]));
		const error = await openLog(engineOn(disk), readOnly).then(
			(wal) => new Error(`it was opened, and its tip is ${wal.tip}`),
			(error: unknown) => error as WalError,
		);
		assert.equal((error as WalError).code, "WAL_CORRUPT", error.message);
		assert.match(error.message, new RegExp(`the log ends at seq ${seq - 1}`));
		assert.equal((error as WalError).detail.seq, seq);
		for (const [path, bytes] of filesOf(disk))
			if (before.has(path)) assert.deepEqual(Buffer.from(bytes), before.get(path), path);
	}
	return 2;
}
