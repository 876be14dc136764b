/** The files of generations: `<20-digit seq>.db` is the database, `<20-digit seq>.json` its seal, without which it does not count. */
import { createHash } from "node:crypto";
import {
	closeSync,
	constants,
	copyFileSync,
	fsyncSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	readSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { codeOf, type Seq } from "@reyn/wal";
import { atomicWrite } from "@reyn/wal/internal";
import { z } from "zod";
import { SnapshotError } from "../errors.ts";

const FORMAT_VERSION = 1;

const sealSchema = z.strictObject({
	v: z.literal(FORMAT_VERSION),
	log: z.string(),
	seq: z.int().nonnegative(),
	/** Of the record at the seq. */
	crc: z.string(),
	/** Of the database file, as hex. */
	sha256: z.string(),
});
type Seal = z.infer<typeof sealSchema>;

/** The generations of one log in one directory. */
export class GenerationFiles {
	readonly #directory: string;
	readonly #log: string;

	/** @param isReader beside the process that writes here: nothing is made and nothing is removed. Default: false */
	constructor(directory: string, log: string, isReader = false) {
		this.#directory = directory;
		this.#log = log;
		if (isReader) return;
		mkdirSync(directory, { recursive: true, mode: 0o700 });
		// A capture that was killed has left them, and nobody else writes here.
		for (const name of readdirSync(directory)) if (/\.tmp(-journal)?$/.test(name)) rmSync(join(directory, name));
	}

	/** Newest first; of any log, sound or not. */
	seqs(): readonly Seq[] {
		return this.#seqsOf("json").sort((a, b) => b - a);
	}

	/** Newest first; of this log. */
	own(): readonly Seq[] {
		return this.seqs().filter((seq) => this.has(seq));
	}

	/** Is there one of this log at the seq, and of that record where its crc is given, as far as its seal tells? */
	has(seq: Seq, crc?: string): boolean {
		const seal = this.#sealOf(seq);
		return seal?.log === this.#log && (crc === undefined || seal.crc === crc);
	}

	/** An empty file to write the database to; `place` puts it in its place. */
	makeTemporary(seq: Seq): string {
		const path = `${this.#path(seq, "db")}.tmp`;
		writeFileSync(path, "", { mode: 0o600 });
		return path;
	}

	/** Gives the seal to be stored once the database is there for good. */
	place(seq: Seq, crc: string, temporary: string): Seal {
		const seal: Seal = { v: FORMAT_VERSION, log: this.#log, seq, crc, sha256: sha256OfFile(temporary) };
		syncFile(temporary);
		// Of another record: never a seal beside a database that it is not of.
		if (this.has(seq)) this.unseal([seq]);
		renameSync(temporary, this.#path(seq, "db"));
		syncDirectory(this.#directory);
		return seal;
	}

	/** From here on it counts. Two lines: the checksum, then the JSON that it is of. */
	async seal(seal: Seal): Promise<void> {
		const json = JSON.stringify(seal);
		await atomicWrite(this.#path(seal.seq, "json"), `${sha256(json)}\n${json}\n`);
	}

	/** @throws SnapshotError `SNAPSHOT_OTHER_LOG` when what is stored at the seq is another log's */
	refuseOtherLog(seq: Seq): void {
		const log = this.#sealOf(seq)?.log;
		if (log === undefined || log === this.#log) return;
		throw new SnapshotError(
			"SNAPSHOT_OTHER_LOG",
			`the generation at seq ${seq} in ${this.#directory} is of log ${log}, expected one of ${this.#log}. Give each log a directory of its own`,
			{ seq, log, directory: this.#directory },
		);
	}

	/**
	 * Copies the newest sound one that is of its record, durably, and gives its seq. Rotten ones on the way are set aside.
	 *
	 * @param crcs which are wanted, and what the log has there
	 */
	copyNewest(crcs: ReadonlyMap<Seq, string | undefined>, to: string): Seq | undefined {
		for (const seq of this.seqs()) {
			if (!crcs.has(seq)) continue;
			this.refuseOtherLog(seq);
			const seal = this.#sealOf(seq);
			// Sound, for all we know, and of another life of the log: that one may come back.
			if (seal && seal.crc !== crcs.get(seq)) continue;
			// What was copied is what is checked.
			unlessMissing(() => copyFileSync(this.#path(seq, "db"), to, constants.COPYFILE_FICLONE));
			if (seal && unlessMissing(() => sha256OfFile(to)) === seal.sha256) {
				syncFile(to);
				return seq;
			}
			this.#setAside(seq);
		}
		return undefined;
	}

	/** From here on they do not count. */
	unseal(seqs: readonly Seq[]): void {
		for (const seq of seqs) rmSync(this.#path(seq, "json"));
		// Before their databases go: else a seal could come back without one.
		syncDirectory(this.#directory);
	}

	removeUnsealed(isLeft: (seq: Seq) => boolean): void {
		const sealed = new Set(this.seqs());
		for (const seq of this.#seqsOf("db")) if (!sealed.has(seq) && isLeft(seq)) rmSync(this.#path(seq, "db"));
	}

	/** Undefined when there is none, or its checksum or its shape does not fit. */
	#sealOf(seq: Seq): Seal | undefined {
		const text = unlessMissing(() => readFileSync(this.#path(seq, "json"), "utf8"));
		const [sum, json] = text?.split("\n", 2) ?? [];
		if (json === undefined || sha256(json) !== sum) return undefined;
		const value: { v?: unknown } = JSON.parse(json);
		if (typeof value.v === "number" && value.v > FORMAT_VERSION)
			throw new SnapshotError(
				"SNAPSHOT_NEWER_FORMAT",
				`the generation at seq ${seq} is in format ${value.v}; this version of Reyn reads format ${FORMAT_VERSION}. Upgrade to restore it`,
				{ seq, version: value.v },
			);
		const parsed = sealSchema.safeParse(value);
		return parsed.success && parsed.data.seq === seq ? parsed.data : undefined;
	}

	#setAside(seq: Seq): void {
		// The seal last: a database without one is not kept.
		for (const kind of ["db", "json"] as const) {
			const path = this.#path(seq, kind);
			unlessMissing(() => renameSync(path, `${path}.broken`));
		}
	}

	#seqsOf(kind: "db" | "json"): Seq[] {
		const stored = new RegExp(`^\\d{20}\\.${kind}$`);
		return (unlessMissing(() => readdirSync(this.#directory)) ?? [])
			.filter((name) => stored.test(name))
			.map((name) => Number(name.slice(0, 20)));
	}

	#path(seq: Seq, kind: "db" | "json"): string {
		return join(this.#directory, `${String(seq).padStart(20, "0")}.${kind}`);
	}
}

/** Makes what was created, renamed or removed in a directory durable. Windows has no such call and needs none. */
export function syncDirectory(path: string): void {
	if (process.platform !== "win32") sync(path, "r");
}

function syncFile(path: string): void {
	sync(path, "r+");
}

function sync(path: string, flags: string): void {
	const file = openSync(path, flags);
	try {
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}

function sha256(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

/** In pieces: a database may be larger than a buffer can be. */
function sha256OfFile(path: string): string {
	const [hash, piece] = [createHash("sha256"), Buffer.allocUnsafe(1024 * 1024)];
	const file = openSync(path, "r");
	try {
		for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) hash.update(piece.subarray(0, read));
	} finally {
		closeSync(file);
	}
	return hash.digest("hex");
}

function unlessMissing<T>(run: () => T): T | undefined {
	try {
		return run();
	} catch (error) {
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	}
}
