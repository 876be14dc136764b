/** Whether a record counts, asked of a history with ever more resets. */
import { Lineage, type Reset } from "@reyn/timetravel";
import { ENTRY_KIND, SCOPE } from "../entry.ts";
import { randomFrom } from "../random.ts";

/** Records from one reset to the next. */
const BETWEEN = 10;
/** How many records are asked about, one after the other, so often. */
const RECORDS = 2 ** 16;
const TIMES = 4;
/** A scan of more would take minutes. */
const MOST_SCANNED = 1000;

/**
 * Where resets lead: anywhere, so that few lines of history are long ones and the rest is left at once; or a few records
 * back, so that each leaves a gap of its own in the line that is current.
 */
export type Targets = "anywhere" | "near";

export interface ActiveOrder {
	readonly resets: number;
	readonly targets: Targets;
}

export interface Asked {
	/** The ranges that the current line consists of. */
	readonly ranges: number;
	/** For each call of `isActive`, on average. */
	readonly ns: number;
	/** The same from a scan through the resets; not where there are too many. */
	readonly scanNs?: number;
	/** One more reset, and the first question after it. */
	readonly withMs: number;
	readonly firstMs: number;
}

export function askActive({ resets: count, targets }: ActiveOrder): Asked {
	const random = randomFrom(count);
	const resets = Array.from({ length: count }, (_, i): Reset => {
		const seq = (i + 1) * BETWEEN;
		const target = targets === "near" ? seq - BETWEEN / 2 : Math.floor(random() * seq);
		return { seq, target, scope: {} };
	});
	const tip = (count + 1) * BETWEEN;
	const records = Array.from({ length: RECORDS }, () => ({
		seq: 1 + Math.floor(random() * tip),
		kind: ENTRY_KIND,
		scope: SCOPE,
	}));
	const lineage = new Lineage(resets, tip, { isMeta: (kind) => kind === "reset" });

	const isActive = (i: number): boolean => lineage.isActive(records[i] as (typeof records)[number]);
	const { ns, active } = timed(isActive, RECORDS * TIMES);
	const scan = (i: number): boolean => isOnLine(resets, tip, (records[i] as (typeof records)[number]).seq);
	const scanned = count <= MOST_SCANNED ? timed(scan, RECORDS) : undefined;
	if (scanned && scanned.active * TIMES !== active) throw new Error("a scan finds other records active");

	globalThis.gc?.();
	const from = performance.now();
	const next = lineage.with({ seq: tip + 1, target: tip - 1, scope: {} });
	const withMs = performance.now() - from;
	next.isActive({ seq: 1, kind: ENTRY_KIND, scope: SCOPE });
	const firstMs = performance.now() - from - withMs;
	const ranges = lineage.path(tip, SCOPE).rangesAfter(0);
	return { ranges: ranges.length, ns, ...(scanned && { scanNs: scanned.ns }), withMs, firstMs };
}

function timed(ask: (record: number) => boolean, calls: number): { readonly ns: number; readonly active: number } {
	for (let i = 0; i < RECORDS; i++) ask(i);
	let active = 0;
	const from = performance.now();
	for (let i = 0; i < calls; i++) if (ask(i % RECORDS)) active++;
	return { ns: ((performance.now() - from) * 1e6) / calls, active };
}

/** With nothing worked out beforehand: from the tip down to the newest reset in the way, over to its target, and on. */
function isOnLine(resets: readonly Reset[], tip: number, seq: number): boolean {
	let from = tip;
	for (let i = resets.length - 1; i >= 0; i--) {
		const { seq: at, target } = resets[i] as Reset;
		if (at > from) continue;
		if (seq >= at) return seq <= from;
		from = target;
	}
	return seq <= from;
}
