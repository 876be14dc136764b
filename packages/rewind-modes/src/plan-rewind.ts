/** The preview: what lies beyond the target, and what each mode would do with it. Reads only. */
import type { Checkout, Timeline } from "@reyn/timetravel";
import { isMeta, TimetravelError } from "@reyn/timetravel";
import type { Scope, Seq } from "@reyn/wal";
import { scopeKey } from "@reyn/wal";
import { type Facets, facetOf } from "./kinds.ts";
import { dropOf, meanings, type RewindMode } from "./modes.ts";

export interface RewindPlan {
	readonly mode: RewindMode;
	/** The target is inclusive: the state just after this record. */
	readonly target: Seq;
	/** What a checkout there is: on the current line, on an abandoned one, or nothing. */
	readonly kind: Checkout["kind"];
	readonly snappedFrom?: Seq;
	/** The tip when this was previewed: a plan is only good for it. */
	readonly tip: Seq;
	readonly scope: Scope;
	/** The active records beyond the target, whatever the mode. */
	readonly affected: Counts;
	/** Those of them that this mode takes away. */
	readonly dropped: Counts;
	/** The sessions and runs that have a record in the interval. */
	readonly touches: { readonly sessions: readonly string[]; readonly runs: readonly string[] };
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
 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_NOT_ACTIVE`
 */
export async function planRewind(
	timeline: Timeline,
	facets: Facets,
	seq: Seq,
	mode: RewindMode = "cancel",
	scope: Scope = {},
): Promise<RewindPlan> {
	const drop = dropOf(mode, facets);
	const { kind, target, snappedFrom } = await timeline.preview(seq, { scope, ...(drop ? { drop } : {}) });
	if (kind === "fork_switch") {
		throw new TimetravelError(
			"TIMETRAVEL_NOT_ACTIVE",
			`seq ${seq} lies on an abandoned branch; a rewind stays on the current one. Use checkout to go there`,
			{ seq },
		);
	}
	const { affected, sessions, runs } = await interval(timeline, facets, target, scope);
	const dropped = only(affected, meanings[mode].drops);
	const plan = {
		mode,
		target,
		kind,
		...(snappedFrom === undefined ? {} : { snappedFrom }),
		tip: timeline.lineage.tip,
		scope,
		affected,
		dropped,
		touches: { sessions, runs },
	};
	return { ...plan, summary: summaryOf(plan) };
}

async function interval(
	timeline: Timeline,
	facets: Facets,
	target: Seq,
	scope: Scope,
): Promise<{ affected: Counts; sessions: string[]; runs: string[] }> {
	const counts = { conversation: 0, code: 0, other: 0 };
	const sessions = new Set<string>();
	const runs = new Set<string>();
	for await (const { kind, scope: own } of timeline.history(target, scope)) {
		if (isMeta(kind)) continue;
		counts[facetOf(kind, facets)]++;
		if (own.session !== undefined)
			sessions.add(scopeKey({ ...(own.agent === undefined ? {} : { agent: own.agent }), session: own.session }));
		if (own.run !== undefined) runs.add(own.run);
	}
	return { affected: total(counts), sessions: [...sessions], runs: [...runs] };
}

const total = (counts: Omit<Counts, "all">): Counts => ({
	...counts,
	all: counts.conversation + counts.code + counts.other,
});

function only(counts: Counts, facets: readonly string[]): Counts {
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
}: Omit<RewindPlan, "summary">): readonly string[] {
	const snapped =
		snappedFrom === undefined
			? []
			: [`seq ${snappedFrom} lies inside a tool cycle; the checkpoint before it is ${target}`];
	return [
		...snapped,
		`${mode}: ${meanings[mode].says}`,
		`beyond seq ${target}: ${affected.all} records (${affected.conversation} of conversation, ${affected.code} of agent state, ${affected.other} other); this drops ${dropped.all}`,
		`touches ${touches.sessions.length} session(s)${touches.sessions.length > 0 ? ` (${touches.sessions.join(", ")})` : ""} and ${touches.runs.length} run(s)${touches.runs.length > 0 ? ` (${touches.runs.join(", ")})` : ""}`,
		"files in your workspace are not touched",
	];
}
