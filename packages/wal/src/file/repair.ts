/**
 * Gives up what is damaged, and makes a log of the rest. All from the first damaged segment on becomes one new `wal.jsonl`:
 * sound records as they are, a `wal_lost` record for each seq that is lost, the records after the first loss under their
 * own seqs, and `wal_repaired`. The one moment that counts is the rename of that file; what it replaces is set aside before
 * or after, and a repair that was killed is run again.
 */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Disk, type DiskFile, writeAll } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { WalError } from "../errors.ts";
import { type Clock, type Ids, randomIds, systemClock } from "../ports.ts";
import { encodeHead, encodeHeader, encodeRecord, hex, MAX_LINE_BYTES, type SegmentHeader } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { type WalRepaired, walLost, walRepaired } from "../record/wal-records.ts";
import { renameOver } from "./atomic-write.ts";
import { type Inspection, inspect } from "./inspect.ts";
import { CHUNK_BYTES } from "./lines.ts";
import { LogFile } from "./log-file.ts";
import { refusal } from "./messages.ts";
import { activePath, headPath, repairedPath } from "./names.ts";
import { defaultLogFileOptions } from "./options.ts";
import { recordLines, withFile } from "./records.ts";
import { type Piece, type Salvage, salvage } from "./salvage.ts";
import { scan, sumOf } from "./scan.ts";
import type { Survey } from "./survey.ts";
import { type VerifyOptions, verifyLog } from "./verify.ts";

export interface RepairProposal {
	readonly directory: string;
	/** `finish`: a repair was killed after it took effect, and only files have still to be set aside. */
	readonly kind: "nothing" | "repair" | "finish";
	/** What is wrong, in a line. */
	readonly why: string;
	/** The seqs that are given up, as ranges: the first and the last of each. */
	readonly lost: WalRepaired["lost"];
	/** What has to be accepted, to the letter: `none`, `43..47`, `7..7,92..92`, or for very many `7..92#1a2b3c4d`. */
	readonly accept: string;
	/** How many records behind the first loss are kept, under the seqs that they have. */
	readonly keptAfter: number;
	/** The last seq before the repair's own record. */
	readonly last: Seq;
	readonly changes: readonly FileChange[];
}

export interface FileChange {
	readonly path: string;
	/** Where its bytes are kept; undefined for a file that is made anew. */
	readonly keptIn: string | undefined;
}

export interface ApplyRepairOptions extends VerifyOptions {
	/** `accept` of the proposal. */
	readonly acceptLoss: string;
	readonly clock?: Clock;
	readonly ids?: Ids;
}

/**
 * What a repair would do and cost. Changes nothing.
 *
 * @throws WalError `WAL_IO` when there is no log, `WAL_NEWER_FORMAT`; `WAL_CORRUPT` where nothing is damaged that could be given up
 */
export async function proposeRepair(directory: string, options: VerifyOptions = {}): Promise<RepairProposal> {
	return (await prepare(directory, options)).proposal;
}

/**
 * Repairs the log, if what would be lost is what was accepted. Gives what was done; a sound log is left as it is.
 *
 * @throws WalError `WAL_LOSS_NOT_ACCEPTED` (nothing was changed), `WAL_LOCKED`, `WAL_IO`, `WAL_NEWER_FORMAT`
 */
export async function applyRepair(directory: string, options: ApplyRepairOptions): Promise<RepairProposal> {
	const { acceptLoss, disk = nodeDisk, clock = systemClock, ids = randomIds } = options;
	// First without the lock, which makes a directory that is not there.
	await proposeRepair(directory, options);
	const now = clock.now();
	const lock = LogFile.lock(disk, directory, defaultLogFileOptions, {
		pid: process.pid,
		host: hostname(),
		started: new Date(now).toISOString(),
		command: "repair",
	});
	try {
		const { proposal, work } = await prepare(directory, options);
		if (proposal.kind === "nothing") return proposal;
		if (proposal.accept !== acceptLoss)
			throw new WalError(
				"WAL_LOSS_NOT_ACCEPTED",
				`a repair would lose ${proposal.accept}, and ${acceptLoss} was accepted; nothing was changed. Accept exactly ${proposal.accept}`,
				{ expected: proposal.accept, found: acceptLoss },
			);
		if (work) replace(disk, directory, proposal, work, { now, ids });
		setAside(disk, proposal.changes);
		writeHead(disk, directory);
		return proposal;
	} finally {
		lock.abandon();
	}
}

/** What a new `wal.jsonl` is made of. */
interface Work {
	readonly header: Omit<SegmentHeader, "created" | "prev" | "log"> & {
		readonly log: string | undefined;
		readonly prev: string | undefined;
	};
	readonly salvaged: Salvage;
}

async function prepare(
	directory: string,
	{ disk = nodeDisk, proven = 0 }: VerifyOptions,
): Promise<{ proposal: RepairProposal; work?: Work }> {
	const unfinished = await findUnfinished(disk, directory, proven);
	if (unfinished) return { proposal: unfinished };
	const verdict = await verifyLog(directory, { disk, proven });
	const [problem] = verdict.problems;
	if (!problem) {
		const why = verdict.state === "torn" ? "nothing acknowledged is damaged" : "the log is sound";
		return {
			proposal: {
				directory,
				kind: "nothing",
				why,
				lost: [],
				accept: "none",
				keptAfter: 0,
				last: verdict.segments.at(-1)?.last ?? 0,
				changes: [],
			},
		};
	}

	const inspected = await inspect(disk, directory, proven);
	const { found, log, acknowledged, decision } = inspected;
	if (decision.kind === "refuse" && decision.remedy !== undefined) throw refusal(decision, directory);
	const spoiled = new Set(verdict.problems.map(({ path }) => path));
	const sound = found.sealed.findIndex(({ path }) => spoiled.has(path));
	const keptSealed = sound === -1 ? found.sealed : found.sealed.slice(0, sound);
	const given = found.sealed.slice(keptSealed.length);
	const paths = [...given.map(({ path }) => path), ...(found.active ? [activePath(directory)] : [])];
	const pieces = paths.filter((path) => isOurs(path, inspected, directory)).flatMap((path) => piecesOf(disk, path));
	const base = baseOf(found, keptSealed, given, log, pieces);
	const salvaged = salvage({ first: base.first, prev: base.prev ?? "" }, pieces, acknowledged);
	const { lost, after, last } = salvaged;
	const from = lost[0]?.[0] ?? last + 1;
	return {
		proposal: {
			directory,
			kind: "repair",
			why: `${basename(problem.path)}, byte ${problem.offset}, seq ${problem.seq}: ${problem.why}`,
			lost,
			accept: acceptOf(lost),
			keptAfter: after.reduce((sum, piece) => sum + piece.last - piece.first + 1, 0),
			last,
			changes: [
				...(found.active ? [] : [{ path: activePath(directory), keptIn: undefined }]),
				...paths.map((path) => ({ path, keptIn: keptPath(disk, path, from) })),
			],
		},
		work: { header: { ...base, log }, salvaged },
	};
}

/** As many ranges as somebody may still read. */
const MAX_RANGES = 100;

/** A loss in words that are not said by chance. More than a command line holds becomes its ends and a hash. */
function acceptOf(lost: WalRepaired["lost"]): string {
	if (lost.length === 0) return "none";
	const whole = lost.map(([from, to]) => `${from}..${to}`).join();
	if (lost.length <= MAX_RANGES) return whole;
	const sha256 = createHash("sha256").update(whole).digest("hex");
	return `${lost[0]?.[0]}..${lost.at(-1)?.[1]}#${sha256.slice(0, 8)}`;
}

/** A file of another log has nothing of ours; one whose header is unreadable is taken for ours, since it stands in our place. */
function isOurs(path: string, { found, log }: Inspection, directory: string): boolean {
	const header =
		path === activePath(directory) ? found.active?.header : found.sealed.find((s) => s.path === path)?.header;
	return !header || header.log === "" || header.log === log;
}

/** Where the new segment begins: behind the sealed segments that stay. */
function baseOf(
	{ active, base }: Survey,
	kept: Survey["sealed"],
	given: Survey["sealed"],
	log: string | undefined,
	pieces: readonly Piece[],
): { first: Seq; prev: string | undefined; epoch: number; adopted?: string } {
	const before = kept.at(-1);
	const headers = [...given.map(({ header }) => header), ...(active?.header ? [active.header] : [])];
	const own = headers.filter((header) => header.log !== "" && header.log === log);
	const epoch = Math.max(before?.header.epoch ?? 0, active?.epoch ?? 0, ...own.map((header) => header.epoch));
	// What was kept for a log that was taken over lies under it. Where the newest header is damaged, a base is as new.
	const isBaseNewest = active?.header?.log !== log && typeof base === "object" && base.log === log;
	const adopted = (isBaseNewest ? base.adopted : undefined) ?? (own.at(-1) ?? before?.header)?.adopted;
	const more = adopted === undefined ? {} : { adopted };
	if (before) return { first: before.footer.last + 1, prev: before.footer.prev, epoch, ...more };
	const start = typeof base === "object" ? base.first : 1;
	const prev = own.find(({ first }) => first === start)?.prev ?? pieces.find(({ first }) => first === start)?.prev;
	return { first: start, prev, epoch, ...more };
}

/** The records of a file that follow one another, in runs. */
function piecesOf(disk: Disk, path: string): readonly Piece[] {
	return withFile(disk, path, (file) => {
		const pieces: Piece[] = [];
		// The highest seq before the current piece. Of lines that stand there twice those that are new begin a piece.
		let top = 0;
		for (const { record, offset, end } of recordLines(file)) {
			const current = pieces.at(-1);
			const { seq, prev, crc } = record;
			const follows = current?.end === offset && current.last + 1 === seq && current.crc === prev;
			if (current && follows && current.last !== top)
				pieces[pieces.length - 1] = {
					...current,
					end,
					last: seq,
					crc,
					second: current.second ?? { offset, prev },
				};
			else {
				top = Math.max(top, current?.last ?? 0);
				pieces.push({ path, offset, end, first: seq, last: seq, prev, crc });
			}
		}
		return pieces;
	});
}

const TEMPORARY = "wal.repair.tmp";

/** Writes the new segment beside the old one, reads it again, keeps the old one's bytes, and puts the new one in its place. */
function replace(
	disk: Disk,
	directory: string,
	proposal: RepairProposal,
	{ header, salvaged }: Work,
	{ now, ids }: { now: number; ids: Ids },
): void {
	const active = activePath(directory);
	const temporary = join(directory, TEMPORARY);
	const keptIn = proposal.changes.flatMap((change) => (change.keptIn === undefined ? [] : [basename(change.keptIn)]));
	const whole: SegmentHeader = {
		...header,
		log: header.log ?? ids.hex(16),
		prev: header.prev ?? ids.hex(4),
		created: now,
	};
	writeNew(disk, temporary, (write) => {
		write(encodeHeader(whole));
		let prev = whole.prev;
		for (const line of linesOf(disk, salvaged.before)) {
			write(line.bytes);
			write("\n");
			prev = line.record.crc;
		}
		const add = (
			seq: Seq,
			kind: string,
			data: unknown,
			more: Partial<Parameters<typeof encodeRecord>[0]> = {},
		): void => {
			const parts = { seq, ts: now, kind, scope: {}, data: JSON.stringify(data), dur: seq - 1, prev, ...more };
			const { line, crc } = encodeRecord(parts);
			if (Buffer.byteLength(line) > MAX_LINE_BYTES)
				throw new WalError("WAL_TOO_LARGE", `seq ${seq} would not fit a line any more; nothing was changed`, { seq });
			write(line);
			prev = crc;
		};
		const { lost } = proposal;
		let next = lost[0]?.[0] ?? proposal.last + 1;
		const addLost = (to: Seq): void => {
			for (; next <= to; next++) add(next, walLost.kind, {});
		};
		for (const { record } of linesOf(disk, salvaged.after)) {
			const { seq, ts, kind, scope, data, dur } = record;
			addLost(seq - 1);
			add(seq, kind, data, { ts, scope, dur });
			next = seq + 1;
		}
		addLost(proposal.last);
		add(proposal.last + 1, walRepaired.kind, { lost, why: proposal.why, keptIn } satisfies WalRepaired);
	});
	const made = withFile(disk, temporary, scan);
	if (made.bad || made.next !== proposal.last + 2)
		throw new WalError("WAL_CORRUPT", `the repaired log does not check out: ${made.bad?.why}; nothing was changed`);
	const kept = proposal.changes.find(({ path }) => path === active)?.keptIn;
	if (kept !== undefined) keepCopy(disk, active, kept);
	renameOver(disk, temporary, active);
	disk.syncDirectory(directory);
}

function* linesOf(disk: Disk, pieces: readonly Piece[]) {
	for (const { path, offset, end } of pieces) {
		const file = disk.open(path, "read");
		try {
			for (const line of recordLines(file, offset)) {
				if (line.offset >= end) break;
				yield line;
			}
		} finally {
			file.close();
		}
	}
}

/** Sealed segments that the new one replaces get the name under which they are kept; the name that they had is then free. */
function setAside(disk: Disk, changes: readonly FileChange[]): void {
	for (const { path, keptIn } of changes) {
		if (keptIn === undefined || basename(path) === "wal.jsonl" || disk.identity(path) === undefined) continue;
		renameOver(disk, path, keptIn);
		disk.syncDirectory(dirname(path));
	}
}

/** A repair that took effect has its record in the log; what that names and still stands where it stood was not set aside. */
async function findUnfinished(disk: Disk, directory: string, proven: Seq): Promise<RepairProposal | undefined> {
	const { found } = await inspect(disk, directory, proven);
	const { active, sealed } = found;
	if (!active?.header || active.bad || sealed.length === 0) return undefined;
	const path = activePath(directory);
	const repairs = withFile(disk, path, (file) =>
		[...recordLines(file)].flatMap(({ record }) => (walRepaired.is(record) ? [record] : [])),
	);
	const [repair] = repairs.slice(-1);
	if (!repair) return undefined;
	const { lost, why, keptIn } = repair.data;
	const changes = sealed.flatMap(({ path }) => {
		if (!keptIn.some((name) => name.startsWith(`${basename(path)}.`))) return [];
		const kept = keptPath(disk, path, lost[0]?.[0] ?? repair.seq);
		return keptIn.includes(basename(kept)) ? [{ path, keptIn: kept }] : [];
	});
	if (changes.length === 0) return undefined;
	return {
		directory,
		kind: "finish",
		why,
		lost,
		accept: acceptOf(lost),
		keptAfter: 0,
		last: repair.seq - 1,
		changes,
	};
}

/** How far the log is durable now, so that the loss of its end would be seen. */
function writeHead(disk: Disk, directory: string): void {
	const { header, next, end, epoch, sum } = withFile(disk, activePath(directory), (file) => {
		const scanned = scan(file);
		return { ...scanned, sum: hex(sumOf(file, 0, scanned.end)) };
	});
	if (!header) return;
	const path = headPath(directory);
	const isNew = disk.identity(path) === undefined;
	const file = disk.open(path, isNew ? "create" : "write");
	try {
		const head = { log: header.log, segment: header.first, seq: next - 1, offset: end, sum, epoch };
		writeAll(file, Buffer.from(encodeHead(head)), 0);
		file.sync();
	} finally {
		file.close();
	}
	if (isNew) disk.syncDirectory(directory);
}

function keptPath(disk: Disk, path: string, seq: Seq): string {
	const hash = createHash("sha256");
	withFile(disk, path, (file) => {
		for (const chunk of chunksOf(file)) hash.update(chunk);
	});
	return repairedPath(path, seq, hash.digest("hex"));
}

function keepCopy(disk: Disk, from: string, to: string): void {
	const temporary = join(dirname(to), "wal.keep.tmp");
	writeNew(disk, temporary, (write) => {
		withFile(disk, from, (file) => {
			for (const chunk of chunksOf(file)) write(chunk);
		});
	});
	renameOver(disk, temporary, to);
	disk.syncDirectory(dirname(to));
}

function* chunksOf(file: DiskFile): Generator<Buffer> {
	for (let position = 0; ; ) {
		const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
		const read = file.read(chunk, position);
		if (read === 0) return;
		position += read;
		yield chunk.subarray(0, read);
	}
}

/** Writes a file that is durable when this returns; only its name is not. What a killed repair left there is thrown away. */
function writeNew(disk: Disk, path: string, fill: (write: (bytes: Uint8Array | string) => void) => void): void {
	if (disk.identity(path) !== undefined) disk.remove(path);
	const file = disk.open(path, "create");
	try {
		let position = 0;
		let waiting: Uint8Array[] = [];
		let bytes = 0;
		const flush = (): void => {
			writeAll(file, Buffer.concat(waiting), position);
			position += bytes;
			waiting = [];
			bytes = 0;
		};
		fill((piece) => {
			const buffer = typeof piece === "string" ? Buffer.from(piece) : piece;
			waiting.push(buffer);
			bytes += buffer.length;
			if (bytes >= CHUNK_BYTES) flush();
		});
		flush();
		file.sync();
	} finally {
		file.close();
	}
}
