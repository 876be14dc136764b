/** The log in a directory: `wal.jsonl`, sealed segments, `wal.head` and `wal.lock` (docs/formats/wal-v1.md). */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { StoredRecord } from "../codec.ts";
import type { Disk } from "../disk.ts";
import type { Batch, LogEngine, OpenEngine, OpenLog, TornTail } from "../engine.ts";
import { WalError } from "../errors.ts";
import { nodeDisk } from "../node-disk.ts";
import type { Seq } from "../record.ts";
import { decide } from "./decide.ts";
import { inThread, inWorker, type LogFileHost } from "./host.ts";
import { defaultLogFileOptions, type LogFileOptions, type OpenedFile } from "./log-file.ts";
import { asWalError, type Holder, refusal } from "./messages.ts";
import { activePath } from "./names.ts";
import { Segments } from "./segments.ts";
import { survey } from "./survey.ts";

export interface FileEngineOptions extends Partial<LogFileOptions> {
	/** A simulated disk; the writer then runs on this thread. Default: the real one, in a worker. */
	readonly disk?: Disk;
}

/** A log in `directory`, which a writer makes when it is missing. */
export function fileEngine(directory: string, { disk, ...options }: FileEngineOptions = {}): LogEngine {
	return {
		async open({ readOnly, fresh, proven }: OpenEngine): Promise<OpenLog> {
			if (readOnly) return openReader(disk ?? nodeDisk, directory);
			const spec = {
				directory,
				options: { ...defaultLogFileOptions, ...options },
				fresh: { ...fresh, holder: JSON.stringify(holder()) },
			};
			const host = disk ? inThread(disk, spec) : inWorker(spec);
			try {
				const logId = await host.lock();
				const opened = await host.recover(logId === undefined ? 0 : await proven(logId));
				return new WritableLog(host, opened, new Segments(disk ?? nodeDisk, directory, opened));
			} catch (error) {
				await host.end();
				throw error;
			}
		},
	};
}

function holder(): Holder {
	const started = new Date(performance.timeOrigin).toISOString();
	return { pid: process.pid, host: hostname(), started, command: process.argv.slice(1, 4).join(" ") };
}

class WritableLog implements OpenLog {
	readonly id: string;
	readonly first: Seq;
	readonly tail: OpenLog["tail"];
	readonly epoch: number;
	readonly torn: readonly TornTail[];
	readonly #host: LogFileHost;
	readonly #segments: Segments;

	constructor(host: LogFileHost, { header, first, tail, epoch, torn }: OpenedFile, segments: Segments) {
		this.id = header.log;
		this.first = first;
		this.tail = tail;
		this.epoch = epoch;
		this.torn = torn;
		this.#host = host;
		this.#segments = segments;
	}

	async append({ last, crc, lines }: Batch): Promise<void> {
		this.#segments.wrote(await this.#host.append(lines.join(""), last, crc));
	}

	read(after: Seq): AsyncIterable<readonly StoredRecord[]> {
		return this.#segments.read(after);
	}

	close(): Promise<void> {
		return this.#host.close();
	}
}

/** How often a reader looks again, 10 ms apart, before it believes that something is wrong: a writer may be sealing. */
const READER_TRIES = 5;

/** A reader judges as a writer would, and stops where the log is known to be durable: beside a live writer there may be more. */
async function openReader(disk: Disk, directory: string): Promise<OpenLog> {
	for (let tries = 1; ; tries++) {
		try {
			return readerOf(disk, directory);
		} catch (error) {
			if (tries === READER_TRIES) throw asWalError(error, "open", activePath(directory));
			await sleep(10);
		}
	}
}

function readerOf(disk: Disk, directory: string): OpenLog {
	const found = survey(disk, directory, "quick");
	const decision = decide(found, 0);
	if (decision.kind === "refuse") throw refusal(decision, directory);
	if (decision.kind === "fresh")
		throw new WalError(
			"WAL_IO",
			`cannot open ${activePath(directory)} (ENOENT): there is no log here yet; a writer makes one`,
			{ path: activePath(directory), code: "ENOENT" },
		);
	const { sealed, active, head } = found;
	const header = active?.header ?? sealed.at(-1)?.header;
	if (!header) throw new WalError("WAL_CORRUPT", `${directory} has no segment with a header`);
	const last = sealed.at(-1)?.footer;
	const sound = active ? active.next - 1 : (last?.last ?? 0);
	const durable = Math.min(
		sound,
		Math.max(head?.log === header.log ? head.seq : 0, active?.durable ?? 0, last?.last ?? 0, header.first - 1),
	);
	const segments = new Segments(disk, directory, {
		header,
		sealed: sealed.map((each) => each.header.first),
	});
	return {
		id: header.log,
		first: sealed[0]?.header.first ?? header.first,
		tail: { seq: durable, crc: durable === sound ? (active?.prev ?? last?.prev ?? "") : "" },
		epoch: active?.epoch ?? header.epoch,
		torn: active?.bad ? [{ seq: active.next, bytes: active.bad.end - active.bad.offset, sha256: "" }] : [],
		append: () => Promise.reject(new WalError("WAL_READ_ONLY", "this log was opened to be read")),
		read: (after) => segments.read(after),
		close: async () => {},
	};
}
