/** A log that somebody else may be writing: read without its lock, as far as it is known to be durable, or as a writer would find it. */

import type { Disk } from "../disk/disk.ts";
import type { Tail, Wants } from "../engine/engine.ts";
import { truncated } from "../engine/engine-errors.ts";
import { codeOf, type WalError } from "../errors.ts";
import type { StoredRecord } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { inspect } from "./inspect.ts";
import { refusal } from "./messages.ts";
import { activePath, sealedFirsts } from "./names.ts";
import { placeOn } from "./place.ts";
import { withFile } from "./records.ts";
import { Segments } from "./segments.ts";
import { readFirst, readHead } from "./survey.ts";

interface View {
	readonly tail: Tail;
	readonly segments: Segments;
}

export class Reader {
	readonly #disk: Disk;
	readonly #directory: string;
	#view: View | undefined;

	constructor(disk: Disk, directory: string) {
		this.#disk = disk;
		this.#directory = directory;
	}

	/** Looks at all files and judges them as a writer would. @throws WalError `WAL_CORRUPT`, `WAL_NEWER_FORMAT`, `WAL_IO` */
	async tail(): Promise<Tail | undefined> {
		const inspected = await inspect(this.#disk, this.#directory, 0, "quick").catch((error) => {
			if ((error as WalError).detail?.code === "ENOENT") return undefined;
			throw error;
		});
		if (!inspected) return undefined;
		const { found, decision, acknowledged, behind } = inspected;
		if (decision.kind === "refuse") throw refusal(decision, this.#directory);
		const { sealed, active } = found;
		const last = sealed.at(-1)?.footer;
		const header = active?.header ?? sealed.at(-1)?.header;
		if (!header) return undefined;
		const sound = active ? active.next - 1 : (last?.last ?? 0);
		const torn = active?.bad ? [{ seq: active.next, bytes: active.bad.end - active.bad.offset, sha256: "" }] : [];
		const tail: Tail = {
			log: header.log,
			first: sealed[0]?.header.first ?? header.first,
			seq: Math.min(sound, acknowledged),
			...(sound > acknowledged ? { found: sound } : {}),
			epoch: active?.epoch ?? last?.epoch ?? header.epoch,
			torn,
			...(behind && { behind }),
			place: placeOn(this.#disk.fileSystem(this.#directory)),
		};
		const firsts = sealed.map((each) => each.header.first);
		this.#view = { tail, segments: new Segments(this.#disk, this.#directory, { header, sealed: firsts }) };
		return tail;
	}

	/** As `tail`, when only what is new is asked for: the head says how far it is, if it is there. */
	async newTail(): Promise<Tail | undefined> {
		const view = this.#view;
		const head = readHead(this.#disk, this.#directory);
		if (!view || head?.log !== view.tail.log || head.seq < view.tail.seq) return this.tail();
		if (head.seq === view.tail.seq) return view.tail;
		const header = this.#activeHeader();
		if (!header) return view.tail;
		const sealed = sealedFirsts(this.#disk.list(this.#directory));
		const { found, behind, ...before } = view.tail;
		const tail: Tail = { ...before, first: sealed[0] ?? header.first, seq: head.seq, epoch: head.epoch };
		this.#view = { tail, segments: new Segments(this.#disk, this.#directory, { header, sealed }) };
		return tail;
	}

	async *read(after: Seq, through: Seq, wants?: Wants): AsyncGenerator<readonly StoredRecord[]> {
		if (!this.#view || through > lastOf(this.#view.tail)) await this.tail();
		if (!this.#view) return;
		let reached = after;
		try {
			for await (const records of this.#view.segments.read(after, through, wants)) {
				reached = records.at(-1)?.seq ?? reached;
				yield records;
			}
		} catch (error) {
			// The writer may have taken the segment away since we inspected; then that is what is wrong, and not the log.
			const first = (await this.tail())?.first ?? 0;
			throw reached + 1 < first ? truncated(reached + 1, first) : error;
		}
	}

	/** Undefined while the writer is between two segments. */
	#activeHeader() {
		const path = activePath(this.#directory);
		try {
			const first = withFile(this.#disk, path, readFirst);
			return first.type === "header" ? first.header : undefined;
		} catch (error) {
			if (codeOf(error) === "ENOENT") return undefined;
			throw error;
		}
	}
}

const lastOf = ({ seq, found = seq }: Tail): Seq => found;
