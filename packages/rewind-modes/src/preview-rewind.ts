/** Previews a rewind: which records lie beyond the target, and what a mode would do with them. Reads only. */
import { isDeepStrictEqual } from "node:util";
import type { Checkout, Timeline } from "@reyn/timetravel";
import { isOutside, TimetravelError } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import type { Scope, Seq } from "@reyn/wal";
import { scopeKey } from "@reyn/wal";
import { z } from "zod";
import { RewindError } from "./errors.ts";
import { type Facets, facetOf } from "./facets.ts";
import { dropOf, meaningOf, type RewindMode } from "./modes.ts";

export interface RewindPreview {
	readonly mode: RewindMode;
	/** The target is inclusive: the state just after this record. */
	readonly target: Seq;
	/** The kind of move: an undo on the current line, a switch to an abandoned one, or none. */
	readonly kind: Checkout["kind"];
	readonly snappedFrom?: Seq;
	/** The tip when this was previewed: what begins after it makes it stale. */
	readonly tip: Seq;
	readonly scope: Scope;
	/** Files that tools have changed are to go along. Absent: they stay. */
	readonly files?: true;
	/** The active records beyond the target, whatever the mode; without facts, which no mode takes back. Absent: unknown, since `gc` took some away. */
	readonly affected?: Counts;
	/** The records among them that this mode takes back. Absent: unknown. */
	readonly dropped?: Counts;
	/** The sessions and runs that have a record in the interval. Absent: unknown. */
	readonly touches?: { readonly sessions: readonly string[]; readonly runs: readonly string[] };
	/** For people: one line each. */
	readonly summary: readonly string[];
}

export interface Counts {
	readonly conversation: number;
	readonly code: number;
	readonly other: number;
	readonly all: number;
}

/**
 * Says what a rewind would do. The target is a seq and inclusive; a rewind stays on the current line of history.
 *
 * @param files are files that tools have changed to go along, where the mode takes anything back? `along` of `applyRewind` says how
 * @throws RewindError `REWIND_MODE`; TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_NOT_ACTIVE`, `TIMETRAVEL_COVERAGE`
 */
export async function previewRewind(
	timeline: Timeline,
	facets: Facets,
	seq: Seq,
	mode: RewindMode = "cancel",
	scope: Scope = {},
	files = false,
): Promise<RewindPreview> {
	await timeline.assertKnown(scope);
	return previewAsOf(timeline.lineage.tip, timeline, facets, { seq, mode, scope, files });
}

const seqShape = z.int().nonnegative();
const [agent, session, run] = [z.string(), z.string(), z.string()];

/** The fields of a preview that it is made again from, to be compared with what was given. */
const previewShape = z.object({
	target: seqShape,
	snappedFrom: seqShape.optional(),
	tip: seqShape,
	scope: z.union([
		z.strictObject({}),
		z.strictObject({ agent }),
		z.strictObject({ agent, session }),
		z.strictObject({ agent, session, run }),
	]),
});

/**
 * Checks the form of a preview, which may have come as JSON from another process.
 *
 * @throws RewindError `REWIND_NOT_PREVIEWED`
 */
export function assertRewindPreview(preview: RewindPreview): void {
	const read = previewShape.safeParse(preview);
	if (read.success) return;
	const where = read.error.issues.map(({ path }) => path.join(".") || "all of it").join(", ");
	throw new RewindError(
		"REWIND_NOT_PREVIEWED",
		`this is no preview of a rewind: ${where} is not as previewRewind gives it; nothing was written. Give what previewRewind gave, unchanged`,
		{ where },
	);
}

/**
 * Checks that a preview says exactly what this log gives at the preview's tip: nobody may confirm something else.
 *
 * @throws RewindError `REWIND_NOT_PREVIEWED`, `REWIND_MODE`
 */
export async function assertPreviewed(timeline: Timeline, facets: Facets, preview: RewindPreview): Promise<void> {
	const { mode, target, snappedFrom: seq = target, scope, tip, files = false } = preview;
	const isKnown = seq <= tip && target <= tip;
	const said = isKnown && (await previewAsOf(tip, timeline, facets, { seq, mode, scope, files }));
	if (said && isDeepStrictEqual(asJson(preview), asJson(said))) return;
	throw new RewindError(
		"REWIND_NOT_PREVIEWED",
		`this preview of a rewind to seq ${target} is not what a preview at seq ${tip} says; nothing was written. Give what previewRewind gave, unchanged`,
		{ target, previewed: tip },
	);
}

/** Counts the records between the target and a seq, and those among them that the preview's mode takes back. */
export async function countsAt(
	through: Seq,
	timeline: Timeline,
	facets: Facets,
	{ mode, target, scope }: Pick<RewindPreview, "mode" | "target" | "scope">,
): Promise<Pick<RewindPreview, "affected" | "dropped" | "touches">> {
	const { drops } = meaningOf(mode);
	if (timeline.lacks(target, scope, through)) return drops.length === 0 ? { dropped: none } : {};
	const { affected, sessions, runs } = await interval(timeline, facets, target, scope, through);
	return { affected, dropped: only(affected, drops), touches: { sessions, runs } };
}

/** @param tip no reset may have come since */
async function previewAsOf(
	tip: Seq,
	timeline: Timeline,
	facets: Facets,
	{ seq, mode, scope, files }: Pick<RewindPreview, "mode" | "scope"> & { readonly seq: Seq; readonly files: boolean },
): Promise<RewindPreview> {
	const drop = dropOf(mode, facets);
	const { kind, target, snappedFrom } = await timeline.preview(seq, { scope, ...(drop ? { drop } : {}) });
	if (kind === "fork_switch") {
		throw new TimetravelError(
			"TIMETRAVEL_NOT_ACTIVE",
			`seq ${seq} lies on an abandoned branch; a rewind stays on the current one. Use checkout to go there`,
			{ seq },
		);
	}
	const preview: Omit<RewindPreview, "summary"> = {
		mode,
		target,
		kind: target === tip ? "none" : kind,
		...(snappedFrom === undefined ? {} : { snappedFrom }),
		tip,
		scope,
		...(files && meaningOf(mode).drops.length > 0 && { files: true as const }),
		...(await countsAt(tip, timeline, facets, { mode, target, scope })),
	};
	return { ...preview, summary: summaryOf(preview) };
}

export const none: Counts = { conversation: 0, code: 0, other: 0, all: 0 };

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

async function interval(
	timeline: Timeline,
	facets: Facets,
	target: Seq,
	scope: Scope,
	through: Seq,
): Promise<{ affected: Counts; sessions: string[]; runs: string[] }> {
	const counts = { conversation: 0, code: 0, other: 0 };
	const sessions = new Set<string>();
	const runs = new Set<string>();
	for (const { kind, scope: own, count } of await timeline.count(target, scope, through)) {
		if (isMeta(kind) || isOutside(kind)) continue;
		counts[facetOf(kind, facets)] += count;
		if (own.session !== undefined)
			sessions.add(scopeKey({ ...(own.agent === undefined ? {} : { agent: own.agent }), session: own.session }));
		if (own.run !== undefined) runs.add(own.run);
	}
	return { affected: total(counts), sessions: [...sessions], runs: [...runs] };
}

export const total = (counts: Omit<Counts, "all">): Counts => ({
	...counts,
	all: counts.conversation + counts.code + counts.other,
});

export function only(counts: Counts, facets: readonly string[]): Counts {
	const keep = (facet: "conversation" | "code" | "other"): number => (facets.includes(facet) ? counts[facet] : 0);
	return total({ conversation: keep("conversation"), code: keep("code"), other: keep("other") });
}

function summaryOf({
	mode,
	target,
	snappedFrom,
	affected,
	dropped,
	touches,
	files,
}: Omit<RewindPreview, "summary">): readonly string[] {
	const snapped =
		snappedFrom === undefined
			? []
			: [`seq ${snappedFrom} lies inside a tool cycle; just before its calls is ${target}`];
	return [
		...snapped,
		`${mode}: ${meaningOf(mode).says}`,
		`after #${target}: ${affectedText(affected)}; ${leftBehind(dropped)}`,
		...(touches ? [`touches ${namedOf(touches.sessions, "session")} and ${namedOf(touches.runs, "run")}`] : []),
		files
			? "files in your workspace go back too, where tools have changed them"
			: "files in your workspace are not touched",
	];
}

const affectedText = (affected: Counts | undefined): string =>
	affected
		? `${counted(affected.all, "record")} (${affected.conversation} of conversation, ${affected.code} of agent state, ${affected.other} other)`
		: "an unknown number of records, since gc took some of them away";

function leftBehind(dropped: Counts | undefined): string {
	if (!dropped) return "what of them goes back is left behind, and undo brings it back";
	const { all: count } = dropped;
	if (count === 0) return "all stay";
	return `${count} ${count === 1 ? "is" : "are"} left behind, and undo brings ${count === 1 ? "it" : "them"} back`;
}

/** So many of something: `1 record`, `2 records`. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

const namedOf = (names: readonly string[], what: string): string =>
	counted(names.length, what) + (names.length > 0 ? ` (${names.join(", ")})` : "");
