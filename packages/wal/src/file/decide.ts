/** Pure: what the files of a log mean, and what a writer has to do before it may write. The rules of docs/formats/wal-v1.md, "Recovery". */
import { dirname } from "node:path";
import type { SegmentHeader } from "../record/codec.ts";
import type { Seq } from "../record/record.ts";
import { basePath } from "./names.ts";
import type { BadLine, Scan } from "./scan.ts";
import type { Survey } from "./survey.ts";

export type Decision =
	/** There is nothing: a new log begins. */
	| { readonly kind: "fresh" }
	/** Sealed segments reach as far as anything was acknowledged, and the next active one was never made. */
	| { readonly kind: "begin"; readonly header: Omit<SegmentHeader, "epoch" | "created">; readonly epoch: number }
	/** The active segment has its footer, and was never renamed. */
	| { readonly kind: "seal"; readonly scan: Scan }
	| { readonly kind: "open"; readonly scan: Scan; readonly torn: BadLine | undefined }
	| Refusal;

/** Acknowledged records are damaged or missing. Nothing may be changed but by somebody who accepts the loss. */
export interface Refusal {
	readonly kind: "refuse";
	readonly code: "WAL_CORRUPT" | "WAL_NEWER_FORMAT";
	/** Which file; undefined for `wal.jsonl`. */
	readonly path: string | undefined;
	readonly offset: number;
	/** The first seq that is not as it was acknowledged. */
	readonly seq: Seq;
	readonly why: string;
	readonly version?: number;
	/** What to do, where it is no damage that a repair gives up. */
	readonly remedy?: string;
	/** How far the log is known to have been acknowledged. */
	readonly acknowledged: Seq;
}

/** @param proven a seq that something outside the log proves to have been durable, such as its newest snapshot; 0 for none */
export function decide({ sealed, active, head, base, passedOver, newer }: Survey, proven: Seq): Decision {
	const logId = sealed[0]?.header.log ?? active?.header?.log;
	const acknowledged = Math.max(proven, active?.durable ?? 0, head?.seq ?? 0);
	const refuse = (seq: Seq, why: string, more: Partial<Refusal> = {}): Refusal => ({
		kind: "refuse",
		code: "WAL_CORRUPT",
		path: undefined,
		offset: 0,
		seq,
		why,
		acknowledged,
		...more,
	});

	if (newer) return refuse(FIRST, `it is in format ${newer.version}`, { code: "WAL_NEWER_FORMAT", ...newer });
	if (base === "unsound") return refuse(FIRST, "wal.base, which says where the log begins, does not check out");
	if (base && logId !== undefined && base.log !== logId)
		return refuse(FIRST, `wal.base is of another log, ${base.log}`);
	// Whoever this log came from can write one that takes it away, and knows all of it but what it says since.
	const newest = active ? active.header : sealed.at(-1)?.header;
	const [gone] = passedOver;
	if (base && gone !== undefined && (newest ? newest.adopted !== base.adopted : !active))
		return refuse(
			FIRST,
			`it takes all before seq ${base.first} away, and does not say whose the log is as the newest segment does`,
			{
				path: basePath(dirname(gone)),
				remedy: "If it came from elsewhere, move it away, and bring back the one that was there before, if one was",
			},
		);
	const oldest = base?.first ?? FIRST;

	let expected: Expected | undefined;
	for (const { path, broken, version, header, footer } of sealed) {
		if (version !== undefined)
			return refuse(expected?.first ?? FIRST, `it is in format ${version}`, {
				code: "WAL_NEWER_FORMAT",
				version,
				path,
			});
		if (broken !== undefined) return refuse(expected?.first ?? FIRST, broken, { path });
		const why = misfit(expected ?? oldest, header);
		if (why !== undefined) return refuse(expected?.first ?? oldest, why, { path });
		expected = { log: header.log, first: footer.last + 1, prev: footer.prev };
	}

	// An empty log may have been removed by hand, and its head been left behind.
	if (head !== undefined && head.seq > 0 && logId !== undefined && head.log !== logId) {
		return refuse(
			FIRST,
			`wal.head is of another log, ${head.log}, which was durable up to seq ${head.seq}; this one is ${logId}`,
		);
	}

	if (!active) {
		if (expected) {
			if (acknowledged >= expected.first) return refuse(expected.first, "wal.jsonl is gone");
			return { kind: "begin", header: expected, epoch: sealed.at(-1)?.footer.epoch ?? 0 };
		}
		return acknowledged > 0 ? refuse(FIRST, "wal.jsonl is gone") : { kind: "fresh" };
	}

	const { header, bad, next, footer } = active;
	if (bad?.version !== undefined)
		return refuse(next, bad.why, { code: "WAL_NEWER_FORMAT", version: bad.version, offset: bad.offset });
	// A header is written whole or not at all, so one that does not check out was damaged.
	if (!header) return refuse(expected?.first ?? FIRST, bad?.why ?? "it has no header", { offset: 0 });
	const why = misfit(expected ?? oldest, header);
	if (why !== undefined) return refuse(expected?.first ?? FIRST, why);
	if (bad && next <= acknowledged) return refuse(next, bad.why, { offset: bad.offset });
	if (next - 1 < acknowledged) return refuse(next, `the log ends at seq ${next - 1}`, { offset: active.end });
	// Nothing is ever written after a footer, so this is no crash.
	if (footer && bad) return refuse(next, BEHIND_FOOTER, { offset: bad.offset, remedy: GIVE_UP });
	if (footer) return { kind: "seal", scan: active };
	return { kind: "open", scan: active, torn: bad };
}

const BEHIND_FOOTER =
	"something stands behind its footer, where nothing is ever written; every record before it is sound";

const GIVE_UP = "verifyLog says what is whole, proposeRepair what giving up what stands there would cost";

/** The first seq of a log. */
const FIRST = 1;

/** What the segment behind another one has to say in its header. */
export interface Expected {
	readonly log: string;
	readonly first: Seq;
	readonly prev: string;
}

/** Why a segment does not follow the one before it, or does not begin where the log does; undefined when it does. */
export function misfit(expected: Expected | Seq, header: SegmentHeader): string | undefined {
	if (typeof expected === "number")
		return header.first === expected ? undefined : `it begins at seq ${header.first}; expected ${expected}`;
	if (header.log !== expected.log) return `it belongs to another log, ${header.log}`;
	if (header.first !== expected.first) return `it begins at seq ${header.first}; expected ${expected.first}`;
	return header.prev === expected.prev ? undefined : "it does not follow the segment before it";
}
