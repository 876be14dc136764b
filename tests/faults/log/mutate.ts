/**
 * Rows 25 to 28: every single damage to the files of a small log, in memory. Each must be refused at the open, found when a
 * sealed segment is read, or fall under the rule of the torn tail without the loss of an acknowledged record.
 */
import type { StoredRecord, WalRecord } from "@reyn/wal";
import { type Fault, FaultError } from "../fault.ts";
import { openLog } from "../lab/check.ts";
import { ACTIVE, diskOf, engineOn, type Files, filesOf, HEAD, linesOf, type Sample, sample } from "../lab/memory.ts";

interface Damage {
	readonly name: string;
	readonly files: Files;
}

type Outcome = "refused" | "found at read" | "torn" | "unharmed" | "undetected";

export const fault: Fault = {
	name: "mutate",
	title: "every bit, byte, length, line and block of a small log damaged",
	promise: "nothing goes undetected",
	rows: [
		{
			row: 25,
			title: "every bit of a small log flipped",
			how: "in memory: logs that were closed, killed, sealed in segments, without a head; `wal.head` too; and while the log is open",
			promise: "refused, found at read, or a torn tail without loss",
			seen: "undetected 0 (rows 25 to 28: 139,452 cases: 79,195 refused, 50,977 found at read, 34 torn tails, 9,246 harmless)",
		},
		{
			row: 26,
			title: "every byte as 00, 0a, ff; sectors and pages zeroed, blank or stale",
			how: "the same",
			promise: "the same",
			seen: "undetected 0",
		},
		{
			row: 27,
			title: "lines swapped, dropped, doubled, from another log",
			how: "the same",
			promise: "the same",
			seen: "undetected 0",
		},
		{
			row: 28,
			title: "the last K lines removed, every length, a file emptied or gone",
			how: "the same",
			promise: "the same",
			seen: "undetected 0",
		},
		{
			row: 30,
			title: "the head missing, rotten, hostile",
			how: "as rows 25 to 28",
			promise: "a lower bound only",
			seen: "undetected 0",
			command: "`mutate`, `hostile`",
		},
	],
	needs: () => undefined,
	async run({ short, brief }) {
		const counts: Record<Outcome, number> = { refused: 0, "found at read": 0, torn: 0, unharmed: 0, undetected: 0 };
		const undetected: string[] = [];
		let cases = 0;
		const stride = brief ? 190 : short ? 19 : 1;
		const other = await sample(12);
		for (const [title, each, damages] of await samples(other)) {
			let n = 0;
			for (const damage of damages(each)) {
				// Of the many alike a sample; of the few all.
				if (/^(bit|byte|cut)/.test(damage.name) && n++ % stride !== 0) continue;
				cases++;
				const { outcome, why } = await judge(damage, each);
				counts[outcome]++;
				if (outcome === "undetected") undetected.push(`${title}: ${damage.name}: ${why}`);
			}
		}
		for await (const { damage, outcome, why } of whileOpen(other, stride)) {
			cases++;
			counts[outcome]++;
			if (outcome === "undetected") undetected.push(`while open: ${damage}: ${why}`);
		}
		const figures: Record<string, number> = { cases, ...counts };
		if (undetected.length > 0)
			throw new FaultError(`${undetected.length} undetected\n${undetected.slice(0, 40).join("\n")}`, figures);
		return figures;
	},
};

type Damages = (of: Sample) => Iterable<Damage>;

async function samples(other: Sample): Promise<(readonly [string, Sample, Damages])[]> {
	const small = await sample(12);
	const killed = await sample(12, { close: false });
	const segments = await sample(14, { segmentBytes: 1500 });
	const large = await sample(12, { bytes: 3000, allocateBytes: 64 * 1024 });
	const paths = (of: Sample): string[] => [...of.files.keys()];
	return [
		["closed", small, (of) => all(of, [ACTIVE, HEAD], other)],
		["killed", killed, (of) => all(of, [ACTIVE, HEAD], other)],
		["segments", segments, (of) => all(of, paths(of), other)],
		["large", large, (of) => blocks(of, [ACTIVE], other)],
		["without a head", withoutHead(small), (of) => firstLines(of, 6)],
	];
}

function* all(of: Sample, paths: readonly string[], other: Sample): Generator<Damage> {
	for (const path of paths) {
		const bytes = of.files.get(path) as Uint8Array;
		const end = path === ACTIVE ? lastLineEnd(bytes) : bytes.length;
		const damaged = (name: string, into: Uint8Array | undefined): Damage => ({
			name: `${name} of ${path}`,
			files: replaced(of.files, path, into),
		});
		for (let at = 0; at < end; at++) {
			for (let bit = 0; bit < 8; bit++)
				yield damaged(`bit ${at}.${bit}`, withByte(bytes, at, (bytes[at] as number) ^ (1 << bit)));
			for (const byte of [0x00, 0x0a, 0xff])
				if (bytes[at] !== byte) yield damaged(`byte ${at} as ${byte}`, withByte(bytes, at, byte));
		}
		for (let length = 1; length < end; length++) yield damaged(`cut to ${length}`, bytes.subarray(0, length));
		yield damaged("emptied", new Uint8Array());
		yield damaged("gone", undefined);
		yield damaged("zeroed", new Uint8Array(bytes.length));
		if (path === HEAD) continue;
		yield* lineDamages(of, path, other);
	}
	yield* blocks(of, paths, other);
}

/** The lines themselves still prove how far the log was durable, but for the last batch. */
function withoutHead({ files, records, options }: Sample): Sample {
	const proven = (records.at(-1) as StoredRecord | undefined)?.dur ?? 0;
	return { files: replaced(files, HEAD, undefined), records: records.filter(({ seq }) => seq <= proven), options };
}

function* firstLines(of: Sample, count: number): Generator<Damage> {
	const bytes = of.files.get(ACTIVE) as Uint8Array;
	const end = byteLength(linesOf(bytes).slice(0, count));
	const damaged = (name: string, into: Uint8Array): Damage => ({ name, files: replaced(of.files, ACTIVE, into) });
	for (let at = 0; at < end; at++) {
		for (let bit = 0; bit < 8; bit++)
			yield damaged(`bit ${at}.${bit}`, withByte(bytes, at, (bytes[at] as number) ^ (1 << bit)));
		for (const byte of [0x00, 0x0a, 0xff])
			if (bytes[at] !== byte) yield damaged(`byte ${at} as ${byte}`, withByte(bytes, at, byte));
	}
}

function* lineDamages(of: Sample, path: string, other: Sample): Generator<Damage> {
	const bytes = of.files.get(path) as Uint8Array;
	const lines = linesOf(bytes.subarray(0, path === ACTIVE ? lastLineEnd(bytes) : bytes.length));
	const rest = bytes.subarray(Buffer.concat(lines).length);
	const foreign = linesOf(other.files.get(ACTIVE) as Uint8Array);
	const damaged = (name: string, into: readonly Uint8Array[]): Damage => ({
		name: `${name} of ${path}`,
		files: replaced(of.files, path, Buffer.concat([...into, rest])),
	});
	for (let i = 0; i < lines.length; i++) {
		const line = lines[i] as Buffer;
		for (let j = i + 1; j < lines.length; j++)
			yield damaged(`lines ${i} and ${j} swapped`, lines.with(i, lines[j] as Buffer).with(j, line));
		yield damaged(`line ${i} dropped`, lines.toSpliced(i, 1));
		yield damaged(`line ${i} doubled`, lines.toSpliced(i, 0, line));
		yield damaged(`line ${i} doubled at the end`, [...lines, line]);
		yield damaged(`line ${i} from another log`, lines.with(i, foreign[i] ?? (foreign.at(-1) as Buffer)));
		yield damaged(`line ${i} of another log put in`, lines.toSpliced(i, 0, foreign[i] ?? (foreign.at(-1) as Buffer)));
		yield damaged(`line ${i} blank`, lines.with(i, Buffer.alloc(line.length, 0x0a)));
		yield damaged(`line ${i} zeros`, lines.with(i, Buffer.alloc(line.length)));
		if (i > 0) yield damaged(`the last ${i} lines removed`, lines.slice(0, -i));
		if (i > 0)
			yield damaged(`the last ${i} lines blank`, [
				...lines.slice(0, -i),
				Buffer.alloc(byteLength(lines.slice(-i)), 0x0a),
			]);
	}
	yield damaged("all lines from another log", foreign);
}

/** Blocks of a sector and a page: zeros, what was allocated ahead, and what another log had there. */
function* blocks(of: Sample, paths: readonly string[], other: Sample): Generator<Damage> {
	const foreign = Buffer.from(other.files.get(ACTIVE) as Uint8Array);
	for (const path of paths) {
		const bytes = of.files.get(path) as Uint8Array;
		const end = path === ACTIVE ? lastLineEnd(bytes) : bytes.length;
		for (const size of [512, 4096]) {
			for (let at = 0; at < end; at += size) {
				const length = Math.min(size, bytes.length - at);
				const stale = Buffer.alloc(length);
				for (let i = 0; i < length; i++) stale[i] = foreign[(at + i) % foreign.length] as number;
				for (const [what, block] of [
					["zeros", Buffer.alloc(length)],
					["padding", Buffer.alloc(length, 0x0a)],
					["another log's", stale],
				] as const) {
					const into = new Uint8Array(bytes);
					into.set(block, at);
					yield { name: `block of ${size} at ${at} ${what} of ${path}`, files: replaced(of.files, path, into) };
				}
			}
		}
	}
}

/** The same while the log is open: what is read then is right, or an error. */
async function* whileOpen(
	other: Sample,
	stride: number,
): AsyncGenerator<{ damage: string; outcome: Outcome; why?: string }> {
	const { files, records, options } = await sample(12, { close: false });
	const disk = diskOf(files);
	const wal = await openLog(engineOn(disk, options));
	const inode = disk.files.get(ACTIVE);
	if (!inode) throw new Error("there is no log");
	const sound = inode.bytes;
	let n = 0;
	for (const damage of all({ files: filesOf(disk), records, options }, [ACTIVE], other)) {
		const bytes = damage.files.get(ACTIVE);
		if (bytes?.length !== sound.length) continue;
		if (/^(bit|byte)/.test(damage.name) && n++ % stride !== 0) continue;
		inode.bytes = new Uint8Array(bytes);
		const shown: WalRecord[] = [];
		let outcome: Outcome = "unharmed";
		let why = "";
		try {
			for await (const record of wal.read()) shown.push(record);
			if (records.some(({ crc }, i) => shown[i]?.crc !== crc)) {
				outcome = "undetected";
				why = `${shown.length} of ${wal.tip} records were read, and no error was given`;
			}
		} catch (error) {
			outcome = (error as { code?: string }).code === "WAL_CORRUPT" ? "found at read" : "undetected";
			why = String(error);
		}
		yield { damage: damage.name, outcome, why };
	}
	inode.bytes = sound;
	await wal.close();
}

async function judge(damage: Damage, { records, options }: Sample): Promise<{ outcome: Outcome; why?: string }> {
	const disk = diskOf(damage.files);
	const shown: WalRecord[] = [];
	let torn = false;
	let opened = false;
	try {
		const wal = await openLog(engineOn(disk, options));
		opened = true;
		torn = wal.torn !== undefined;
		for await (const record of wal.read()) shown.push(record);
		await wal.close();
	} catch (error) {
		const { code, message } = error as { code?: string; message: string };
		if (code !== "WAL_CORRUPT" && code !== "WAL_NEWER_FORMAT")
			return { outcome: "undetected", why: `${code} ${message}` };
		const wrong = shown.find(({ seq, crc }) => records[seq - 1]?.crc !== crc && seq <= records.length);
		if (wrong) return { outcome: "undetected", why: `seq ${wrong.seq} was read wrongly before ${code}` };
		if (opened) return { outcome: "found at read" };
		return sameFiles(filesOf(disk), damage.files)
			? { outcome: "refused" }
			: { outcome: "undetected", why: "refused, but the files were changed" };
	}
	for (const [i, { seq }] of shown.entries())
		if (seq !== i + 1) return { outcome: "undetected", why: `seq ${seq} stands where ${i + 1} belongs` };
	const lost = records.filter(({ seq, crc }) => shown[seq - 1]?.crc !== crc);
	if (lost.length > 0)
		return { outcome: "undetected", why: `${lost.length} acknowledged records lost, the first is seq ${lost[0]?.seq}` };
	return { outcome: torn ? "torn" : "unharmed" };
}

function replaced(files: Files, path: string, bytes: Uint8Array | undefined): Files {
	const next = new Map(files);
	if (bytes) next.set(path, bytes);
	else next.delete(path);
	return next;
}

function withByte(bytes: Uint8Array, at: number, byte: number): Uint8Array {
	const next = new Uint8Array(bytes);
	next[at] = byte;
	return next;
}

/** Where the last line ends, the padding after it left out. */
function lastLineEnd(bytes: Uint8Array): number {
	let end = bytes.length;
	while (end > 1 && bytes[end - 1] === 0x0a && bytes[end - 2] === 0x0a) end--;
	return end;
}

const byteLength = (lines: readonly Buffer[]): number => lines.reduce((sum, { length }) => sum + length, 0);

const sameFiles = (a: Files, b: Files): boolean =>
	a.size === b.size && [...a].every(([path, bytes]) => Buffer.from(bytes).equals(b.get(path) ?? Buffer.alloc(0)));
