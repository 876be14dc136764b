/** Reports what a rewind or a checkout would touch, before anything is written. Reads only. */

import { openRuns } from "@reyn/journal/internal";
import { scriptRuns } from "@reyn/journal/script";
import { inFlight, planRuns } from "@reyn/plan";
import type { RewindMode } from "@reyn/rewind-modes";
import { dropOf, meaningOf } from "@reyn/rewind-modes/internal";
import { inFlightRuns, skillRuns } from "@reyn/skill-resume";
import type { View } from "@reyn/snapshot";
import { type Coverage, isOutside } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { type Scope, type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import { type ConversationItem, conversation } from "./features/conversation/conversation.ts";
import { MESSAGE, TURN } from "./features/conversation/pieces.ts";
import { compactionAsked, userPrompt } from "./features/conversation/records.ts";
import { PLAN, plansIn } from "./features/plan/pieces.ts";
import { SCRIPT } from "./features/script/pieces.ts";
import { SKILL } from "./features/skill/pieces.ts";
import type { Feature, Piece, Settled } from "./kernel/feature.ts";
import type { SessionScope } from "./kernel/session.ts";
import { isSame, settlement } from "./kernel/settle.ts";
import type { Runtime } from "./runtime.ts";

export interface BlastRadius {
	/** Records that count now and would be abandoned. */
	readonly leaves: Extent;
	/** Records that are abandoned now and would count again. */
	readonly returns: Extent;
	/** Records beyond the target that stay: they are outside the scope, or of a kind that the mode keeps. */
	readonly stays: Extent;
	/** Unfinished work that began beyond the target: it ends. */
	readonly cancels: Unfinished;
	/** Turns without an answer at the target: they are closed without one. */
	readonly interrupts: readonly Seq[];
	/**
	 * Work that is unfinished both now and at the target: it goes on from the target. `calls` are the model calls beyond the target that
	 * its plans pay for again.
	 */
	readonly relaunches: Pick<Unfinished, "plans" | "runs" | "others"> & {
		readonly calls: number;
		readonly tokens: number;
	};
	/** Work that is over now and unfinished at the target: it waits until a person resumes it. */
	readonly pauses: Pick<Unfinished, "plans" | "runs" | "others">;
}

/** A part of the history: how many records, and of which sessions and work. */
export interface Extent {
	/** The number of records, without those that no rewind moves: checkpoints, resets, labels, facts. Absent: unknown, since `gc` took some away. */
	readonly records?: number;
	/** Absent: unknown, as `records` is. */
	readonly turns?: number;
	/** Where `records` is unknown: the messages of conversations, as the kept states have them. */
	readonly messages?: number;
	/** The sessions, as `agent/session`. */
	readonly sessions: readonly string[];
	readonly plans: readonly string[];
	/** The ids of skill runs. */
	readonly runs: readonly string[];
	readonly scripts: readonly string[];
	/** Work of the embedder's own features, by name: `poll p7`. Absent: none. */
	readonly others?: readonly string[];
}

export interface Unfinished {
	/** The turns, by the seqs of what began them. */
	readonly turns: readonly Seq[];
	readonly plans: readonly string[];
	readonly runs: readonly string[];
	/** The ids of script runs: one that is under way stops, and is resumed by name like any other. */
	readonly scripts: readonly string[];
	/** Work of the embedder's own features, by name. Absent: none. */
	readonly others?: readonly string[];
}

/** @param plan a rewind that was previewed, or a checkout of exactly `target` */
export async function blastRadius(
	runtime: Runtime,
	{ target, scope, mode = "both" }: { readonly target: Seq; readonly scope: Scope; readonly mode?: RewindMode },
): Promise<BlastRadius> {
	const { wal, timeline } = runtime;
	const { lineage, retainedFrom } = timeline;
	const { tip } = lineage;
	// `summarize` and `cancel` drop nothing.
	const drop = meaningOf(mode).drops.length > 0 ? dropOf(mode, runtime.facets) : [];
	const coverage = { scope, ...(drop ? { drop } : {}) };
	const hypothetical = timeline.hypothetical(target, coverage);

	const [leaves, returns, stays] = [new Tally(), new Tally(), new Tally()];
	// Only records after the fork can change: going to an ancestor changes nothing before it, and all lines agree up to the lowest target.
	const fork = lineage.isAncestor(target, scope, drop) ? target : Math.min(target, lowestTarget(lineage.resets));
	for await (const record of wal.read({ after: Math.max(fork, retainedFrom - 1), through: tip })) {
		if (isMeta(record.kind) || isOutside(record.kind)) continue;
		const [is, willBe] = [lineage.isActive(record), hypothetical.isActive(record)];
		if (is && !willBe) leaves.add(record);
		if (!is && willBe) returns.add(record);
		if (is && willBe && record.seq > target) stays.add(record);
	}

	const sessions = new Map(runtime.sessions().map((each) => [scopeKey(each), each]));
	for (const tally of [leaves, returns, stays]) for (const [key, each] of tally.sessions) sessions.set(key, each);
	const states: { before: View; now: View }[] = [];
	for (const each of sessions.values()) {
		const before = await timeline.at(tip, each);
		states.push({ before, now: await hypothetical.at(each) });
	}
	for (const { before, now } of states) {
		const { unknown } = hypothetical;
		if (unknown.leaves) leaves.lost(before, now, runtime.features);
		if (unknown.returns) returns.lost(now, before, runtime.features);
		if (unknown.stays) stays.kept(before, now, target);
	}
	const pieces = states.flatMap(({ before, now }) => [before, now].flatMap((view) => piecesIn(runtime.features, view)));
	return {
		leaves: leaves.extent(pieces),
		returns: returns.extent(pieces),
		stays: stays.extent(pieces),
		...unfinishedOf(runtime.features, states, coverage),
	};
}

const piecesIn = (features: readonly Feature[], view: View): readonly Piece[] =>
	features.flatMap((feature) => feature.pieces?.(view) ?? []);

/** Is a piece of one of the embedder's own features? */
const isOther = ({ kind }: Piece): boolean => ![TURN, MESSAGE, PLAN, SKILL, SCRIPT].includes(kind);

/** The field `others`, left out when it is empty. */
const others = (names: readonly string[]): { readonly others?: readonly string[] } =>
	names.length > 0 ? { others: [...new Set(names)] } : {};

/** What becomes of unfinished work, by the same rule as the settlement after a reset. */
function unfinishedOf(
	features: readonly Feature[],
	states: readonly { readonly before: View; readonly now: View }[],
	coverage: Coverage,
): Pick<BlastRadius, "cancels" | "interrupts" | "relaunches" | "pauses"> {
	const settled = states.flatMap(({ before, now }) => settlement(features, before, now, coverage));
	const idsOf = (becomes: Settled["becomes"], kind: string): readonly string[] =>
		settled.filter((each) => each.becomes === becomes && each.piece.kind === kind).map(({ piece }) => piece.id);
	const othersOf = (becomes: Settled["becomes"]) =>
		others(
			settled.filter((each) => each.becomes === becomes && isOther(each.piece)).map(({ piece }) => piece.work.name),
		);
	const plans = idsOf("running", PLAN);
	const paid = (when: "before" | "now", what: "calls" | "tokens"): number =>
		states
			.flatMap((views) => plansIn(views[when]))
			.filter(({ id }) => plans.includes(id))
			.reduce((sum, { spent }) => sum + (spent?.[what] ?? 0), 0);
	return {
		cancels: {
			turns: gone(states, (view) => view.get(conversation).open),
			plans: gone(states, (view) => inFlight(view.get(planRuns)).map(([plan]) => plan)),
			runs: gone(states, (view) => inFlightRuns(view.get(skillRuns)).map(([run]) => run)),
			scripts: gone(states, (view) => openRuns(view.get(scriptRuns)).map(([run]) => run)),
			...others(
				gone(states, (view) =>
					piecesIn(features, view)
						.filter((piece) => isOther(piece) && piece.status !== "over")
						.map(({ work }) => work.name),
				),
			),
		},
		interrupts: idsOf("over", TURN).map(Number),
		relaunches: {
			plans,
			runs: idsOf("running", SKILL),
			calls: paid("before", "calls") - paid("now", "calls"),
			tokens: paid("before", "tokens") - paid("now", "tokens"),
			...othersOf("running"),
		},
		pauses: { plans: idsOf("waiting", PLAN), runs: idsOf("waiting", SKILL), ...othersOf("waiting") },
	};
}

function gone<T>(
	states: readonly { readonly before: View; readonly now: View }[],
	unfinished: (view: View) => readonly T[],
): readonly T[] {
	return states.flatMap(({ before, now }) => {
		const left = unfinished(now);
		return unfinished(before).filter((each) => !left.includes(each));
	});
}

/** An extent while it is counted. */
class Tally {
	readonly sessions = new Map<string, SessionScope>();
	readonly #runs = new Set<string>();
	#records = 0;
	#turns = 0;
	/** Of the states, where records were taken away. */
	#messages: number | undefined;
	/** A log gives equal scopes as one object: most records need no name. */
	#last: Scope | undefined;

	/** Counts by the states of a session what the one has and the other has not, since records were taken away. */
	lost(from: View, to: View, features: readonly Feature[]): void {
		const left = new Set([...said(to)].map(keyOf));
		const pieces = piecesIn(features, to);
		this.#count(from.scope, [...said(from)].filter((each) => !left.has(keyOf(each))).length);
		for (const piece of piecesIn(features, from))
			if (piece.work.scope.run !== undefined && !pieces.some((each) => isSame(each, piece)))
				this.#runs.add(piece.work.scope.run);
	}

	/** The same of what both have, beyond a seq. */
	kept(before: View, now: View, target: Seq): void {
		const left = new Set([...said(now)].map(keyOf));
		this.#count(before.scope, [...said(before)].filter((each) => each.seq > target && left.has(keyOf(each))).length);
	}

	#count({ agent, session }: Scope, messages: number): void {
		this.#messages = (this.#messages ?? 0) + messages;
		if (messages > 0 && agent !== undefined && session !== undefined)
			this.sessions.set(scopeKey({ agent, session }), { agent, session });
	}

	add(record: WalRecord): void {
		const { agent, session, run } = record.scope;
		this.#records++;
		if (userPrompt.is(record) || compactionAsked.is(record)) this.#turns++;
		if (record.scope === this.#last) return;
		this.#last = record.scope;
		if (agent !== undefined && session !== undefined)
			this.sessions.set(scopeKey({ agent, session }), { agent, session });
		if (run !== undefined) this.#runs.add(run);
	}

	/** @param pieces tell the runs of plans, skills and scripts apart, whose scopes look the same */
	extent(pieces: readonly Piece[]): Extent {
		const kindOf = new Map(pieces.map(({ kind, work }) => [work.scope.run, kind]));
		const runsOf = (...kinds: readonly string[]): readonly string[] =>
			[...this.#runs].filter((run) => kinds.includes(kindOf.get(run) ?? SKILL));
		return {
			...(this.#messages === undefined ? { records: this.#records, turns: this.#turns } : { messages: this.#messages }),
			sessions: [...this.sessions.keys()],
			plans: runsOf(PLAN),
			runs: runsOf(SKILL),
			scripts: runsOf(SCRIPT),
			...others(
				pieces
					.filter((each) => isOther(each) && this.#runs.has(each.work.scope.run ?? ""))
					.map(({ work }) => work.name),
			),
		};
	}
}

/** What was said in a conversation, and what was asked of tools: what `show` lists. */
function* said(view: View): Generator<ConversationItem> {
	for (const item of view.get(conversation).items) if (item.type !== "result") yield item;
}

const keyOf = ({ type, seq }: ConversationItem): string => `${type} ${seq}`;

const lowestTarget = (resets: readonly { readonly target: Seq }[]): Seq =>
	resets.reduce((lowest, { target }) => Math.min(lowest, target), Number.POSITIVE_INFINITY);
