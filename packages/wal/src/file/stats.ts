/** What a log consists of, in figures. Changes nothing and needs no lock. */
import type { Disk } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import type { Seq } from "../record/record.ts";
import { inspect } from "./inspect.ts";
import { activePath, sealedPath } from "./names.ts";
import { checkedLines, type RecordLine, recordLines, withFile } from "./records.ts";
import type { Scan } from "./scan.ts";

export interface LogStats {
	readonly log: string | undefined;
	readonly segments: number;
	readonly records: number;
	/** Of all segments, padding included. */
	readonly bytes: number;
	/** Space that was allocated ahead and holds nothing yet. */
	readonly padding: number;
	readonly first: Seq;
	readonly last: Seq;
	/** Milliseconds since 1970 of the first and the last record; undefined when there is none. */
	readonly from: number | undefined;
	readonly to: number | undefined;
	/** Over the newest records, at most 1,000; undefined when they are too few or of one moment. */
	readonly recordsPerSecond: number | undefined;
	/** Most bytes first. */
	readonly kinds: readonly KindStats[];
}

export interface KindStats {
	readonly kind: string;
	readonly records: number;
	readonly bytes: number;
}

const NEWEST = 1000;

/** @throws WalError `WAL_IO` when there is no log, `WAL_NEWER_FORMAT` */
export async function statLog(
	directory: string,
	{ disk = nodeDisk }: { readonly disk?: Disk } = {},
): Promise<LogStats> {
	const { found, decision, log } = await inspect(disk, directory, 0);
	const kinds = new Map<string, { records: number; bytes: number }>();
	const newest: number[] = [];
	let [records, bytes, padding, first, last] = [0, 0, 0, 0, 0];
	let from: number | undefined;
	let to: number | undefined;
	const add = ({ record, offset, end }: RecordLine): void => {
		const kind = kinds.get(record.kind) ?? { records: 0, bytes: 0 };
		kinds.set(record.kind, { records: kind.records + 1, bytes: kind.bytes + end - offset });
		records++;
		first ||= record.seq;
		last = record.seq;
		from ??= record.ts;
		to = record.ts;
		newest.push(record.ts);
		if (newest.length > 2 * NEWEST) newest.splice(0, newest.length - NEWEST);
	};
	for (const { path } of found.sealed) {
		withFile(disk, path, (file) => {
			bytes += file.size();
			for (const line of recordLines(file)) add(line);
		});
	}
	const { active } = found;
	if (active) {
		bytes += active.size;
		padding = active.size - (active.bad?.end ?? active.end);
		withFile(disk, whereIs(disk, directory, active), (file) => {
			for (const line of recordLines(file)) {
				// What a live writer has added since we inspected is left out, so that the figures fit each other.
				if (line.record.seq >= active.next && decision.kind !== "refuse") break;
				add(line);
			}
		});
	}
	return {
		log,
		segments: found.sealed.length + (active ? 1 : 0),
		records,
		bytes,
		padding,
		first,
		last,
		from,
		to,
		recordsPerSecond: rateOf(newest.slice(-NEWEST)),
		kinds: [...kinds].map(([kind, each]) => ({ kind, ...each })).sort((a, b) => b.bytes - a.bytes),
	};
}

/** A live writer may have sealed the segment that was the active one when we inspected. */
function whereIs(disk: Disk, directory: string, { header }: Scan): string {
	const path = activePath(directory);
	if (header && disk.identity(path) === undefined) return sealedPath(directory, header.first);
	const line = withFile(disk, path, (file) => checkedLines(file).next().value);
	const sameFile = !header || (line?.decoded.type === "header" && line.decoded.header.first === header.first);
	return sameFile ? path : sealedPath(directory, header.first);
}

function rateOf(times: readonly number[]): number | undefined {
	const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
	return times.length > 1 && span > 0 ? ((times.length - 1) * 1000) / span : undefined;
}
