/** Reports what a rewind or a checkout would touch, before anything is written. Reads only. */

import { type Payment, type Prices, stepCompleted, stepFailed, stepStarted } from "@reyn/journal";
import { callKey, openRuns, paymentOf } from "@reyn/journal/internal";
import { scriptRuns } from "@reyn/journal/script";
import { inFlight, planRuns } from "@reyn/plan";
import type { RewindMode } from "@reyn/rewind-modes";
import { dropOf, meaningOf } from "@reyn/rewind-modes/internal";
import { inFlightRuns, skillRuns } from "@reyn/skill-resume";
import type { View } from "@reyn/snapshot";
import type { FileStep } from "@reyn/snapshot/files";
import { bindings, sessionTasks } from "@reyn/tasks";
import { type HypotheticalHistory, isOutside } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { type Scope, type Seq, scopeKey, type WalRecord } from "@reyn/wal";
import type { SpentOnWork } from "./features/budget/budget-host.ts";
import { billOf } from "./features/budget/limits.ts";
import { isCounted, type Tally as Paid, spentByDay, together, tokensIn, withPaid } from "./features/budget/spent.ts";
import { type ConversationItem, conversation } from "./features/conversation/conversation.ts";
import { TURN } from "./features/conversation/pieces.ts";
import { compactionAsked, userPrompt } from "./features/conversation/records.ts";
import { grants } from "./features/permission/grants.ts";
import { PLAN } from "./features/plan/pieces.ts";
import { SCRIPT } from "./features/script/pieces.ts";
import { SKILL } from "./features/skill/pieces.ts";
import {
	type HeldSession,
	type Holding,
	heldSession,
	holdingOf,
	isOther,
	messagesOf,
	piecesIn,
	questionsOf,
	said,
	type Waiting,
} from "./holding.ts";
import type { Feature, Piece, Settled } from "./kernel/feature.ts";
import { sessionOpened } from "./kernel/records.ts";
import type { SessionScope } from "./kernel/session.ts";
import { mainSession, scopesOf } from "./kernel/sessions.ts";
import { isSame, type Settlement, settlement } from "./kernel/settle.ts";
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
	/** Work that is unfinished both now and at the target: it goes on from the target. */
	readonly relaunches: WorkAgain;
	/**
	 * Work that is over now and unfinished at the target, or was paused there and has been paid for since: it waits until a person resumes
	 * it, and pays this again then.
	 */
	readonly pauses: WorkAgain;
	/** What the sessions hold now, and once the move is settled. */
	readonly before: Holding;
	readonly after: Holding;
	/** What waits for a person now and is not there any more: questions that nobody has answered, and texts that were not shown yet. */
	readonly withdraws: { readonly questions: readonly Waiting[]; readonly messages: readonly Waiting[] };
	/** The configuration files that go along, edits by hand included. */
	readonly config: readonly FileStep[];
	/** What people have granted since the target: it stays granted. */
	readonly grants: number;
	/** The tasks that are bound before or after it: they stay as they are, whoever has them then, unless they go along. Absent: none. */
	readonly tasks?: readonly string[];
}

/** Work that runs again from the target, and what its calls beyond the target have cost, which is paid again. Absent: unknown. */
export interface WorkAgain extends Pick<Unfinished, "plans" | "runs" | "others"> {
	/** The turn that the move has go on. Absent: none. */
	readonly turns?: readonly Seq[];
	readonly paid?: PaidFor;
	/** What its finished steps up to the target have cost: they are recalled, and not paid again. Absent: unknown. */
	readonly free?: { readonly calls: number; readonly tokens: number };
}

/** What calls have cost, in and out. */
export interface PaidFor extends SpentOnWork {
	readonly calls: number;
	/** Further calls, of which nobody knows how many tokens they took. Absent: none. */
	readonly uncounted?: number;
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
	/** What its calls have cost, which no move changes. Absent: unknown, as `records` is. */
	readonly paid?: PaidFor;
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

/** A move, as far as it says what it touches. */
export interface MoveTo {
	readonly target: Seq;
	readonly scope: Scope;
	readonly mode?: RewindMode;
	/** The kinds of record that it covers, where that is not what its mode says. */
	readonly drop?: readonly string[];
	/** The seq of the move that it makes again. Absent: it makes none again. */
	readonly redoes?: Seq;
}

/**
 * @param plan a rewind that was previewed, or a checkout of exactly `target`
 * @param turn one that is to go on from the target, as for `applyRewind`
 */
export async function blastRadius(
	runtime: Runtime,
	{ target, scope, mode = "both", ...step }: MoveTo,
	turn?: Seq,
): Promise<BlastRadius> {
	const { wal, timeline, features, prices } = runtime;
	const { lineage, retainedFrom } = timeline;
	const { tip } = lineage;
	// `summarize` and `cancel` drop nothing.
	const drop = step.drop ?? (meaningOf(mode).drops.length > 0 ? dropOf(mode, runtime.facets) : []);
	const coverage = { scope, ...(drop ? { drop } : {}) };
	const hypothetical = timeline.hypothetical(target, coverage);
	const whole = (await timeline.wholeLog.live()).view;
	const spent = whole.get(spentByDay);

	const [leaves, returns, stays] = [new Tally(), new Tally(), new Tally()];
	const paidAgain = new PaidAgain();
	// Only records after the fork can change: going to an ancestor changes nothing before it, and all lines agree up to the lowest target.
	const fork = lineage.isAncestor(target, scope, drop) ? target : Math.min(target, lowestTarget(lineage.resets));
	for await (const record of wal.read({ after: Math.max(fork, retainedFrom - 1), through: tip })) {
		if (isMeta(record.kind) || isOutside(record.kind)) continue;
		const [is, willBe] = [lineage.isActive(record), hypothetical.isActive(record)];
		const tally = is && !willBe ? leaves : !is && willBe ? returns : is && record.seq > target ? stays : undefined;
		if (!tally) continue;
		const payment = paymentOf(record, (call) => isCounted(spent, call));
		tally.add(record, payment);
		if (tally === leaves && payment) paidAgain.add(record, payment, hypothetical);
	}

	const [present, future] = [byKey(runtime.sessions()), byKey(await sessionsThen(runtime, hypothetical))];
	const sessions = new Map([...present, ...future, ...[leaves, returns, stays].flatMap((each) => [...each.sessions])]);
	const states: State[] = [];
	for (const [key, each] of sessions) {
		const [before, now] = [await timeline.at(tip, each), await hypothetical.at(each)];
		const along = turn === undefined ? {} : { [TURN]: turn };
		const settled = settlement(features, before, now, coverage, along, step.redoes !== undefined);
		states.push({ before, now, settled, isBefore: present.has(key), isNow: future.has(key) });
	}
	for (const { before, now } of states) {
		const { unknown } = hypothetical;
		if (unknown.leaves) leaves.lost(before, now, features);
		if (unknown.returns) returns.lost(now, before, features);
		if (unknown.stays) stays.kept(before, now, target);
	}
	const pieces = states.flatMap(({ before, now }) => [before, now].flatMap((view) => piecesIn(features, view)));
	const price = (works: readonly string[]): PaidFor | undefined =>
		hypothetical.unknown.leaves ? undefined : paidAgain.of(works, prices);
	const boundIn = (views: readonly View[]): readonly string[] =>
		bindings(views.map((view) => ({ scope: view.scope as SessionScope, tasks: view.get(sessionTasks) }))).map(
			({ task }) => task,
		);
	const ofBoth = [...boundIn(states.map(({ before }) => before)), ...boundIn(states.map(({ now }) => now))];
	const tasks = drop?.length === 0 ? [] : [...new Set(ofBoth)];
	const main = states.find(({ before }) => scopeKey(before.scope) === scopeKey(mainSession));
	return {
		leaves: leaves.extent(pieces, prices),
		returns: returns.extent(pieces, prices),
		stays: stays.extent(pieces, prices),
		...unfinishedOf(features, states, price, (work) => paidAgain.has(work)),
		...sidesOf(features, states, mode === "summarize"),
		// A move to where one is writes nothing, edits by hand neither.
		config: main && target < tip ? await runtime.config.preview(coverage, main.before, main.now) : [],
		grants: whole.get(grants).filter(({ seq }) => seq > target).length,
		...(tasks.length > 0 && { tasks }),
	};
}

/**
 * What a skill run that goes on from where it stands pays again: what its calls have cost where it worked last, and this line of history
 * lacks. Undefined: unknown, since `gc` took records away.
 */
export async function paidAgainBy(runtime: Runtime, run: string, scope: SessionScope): Promise<PaidFor | undefined> {
	const { wal, timeline, prices } = runtime;
	const { lineage, retainedFrom } = timeline;
	const { started } = runtime.findSkillRun(run);
	const paidAgain = new PaidAgain();
	const name = `${SKILL}/${run}`;
	if (lineage.newest <= started) return paidAgain.of([name], prices);
	if (started < retainedFrom) return undefined;
	const spent = (await timeline.wholeLog.live()).view.get(spentByDay);
	const left: (readonly [WalRecord, Payment])[] = [];
	const here = new Set<string>();
	let last = 0;
	const kinds = { only: [stepCompleted.kind, stepFailed.kind] };
	for await (const record of wal.read({ after: started, scope: { ...scope, run }, kinds })) {
		const payment = paymentOf(record, (call) => isCounted(spent, call));
		if (!payment) continue;
		last = record.seq;
		if (!lineage.isActive(record)) left.push([record, payment]);
		else if (stepCompleted.is(record)) here.add(callKey(record.data));
	}
	const then = lineage.path(last, { ...scope, run });
	for (const [record, payment] of left) {
		const isHere = stepCompleted.is(record) && here.has(callKey(record.data));
		if (!isHere && then.has(record)) paidAgain.add(record, payment, lineage);
	}
	return paidAgain.of([name], prices);
}

/** What is paid again, by the work whose calls they were. */
class PaidAgain {
	readonly #paid = new Map<string, Paid>();

	/** @param after where the record does not count */
	add(record: WalRecord, payment: Payment, after: Pick<HypotheticalHistory, "isActive">): void {
		if (isAdopted(record, after)) return;
		const { work } = payment;
		this.#paid.set(work, withPaid(this.#paid.get(work) ?? {}, payment));
	}

	has(work: string): boolean {
		return this.#paid.has(work);
	}

	of(works: readonly string[], prices: Prices): PaidFor {
		return priceOf(works.map((work) => this.#paid.get(work) ?? {}).reduce(together, {}), prices);
	}
}

/** A session, as it is and as the move would leave it. */
interface State {
	readonly before: View;
	readonly now: View;
	readonly settled: readonly Settlement[];
	/** Is it there before the move, and after? */
	readonly isBefore: boolean;
	readonly isNow: boolean;
}

const byKey = (sessions: readonly SessionScope[]): ReadonlyMap<string, SessionScope> =>
	new Map(sessions.map((each) => [scopeKey(each), each]));

/** The sessions that there would be; the main one is always among them. */
const sessionsThen = async ({ timeline }: Runtime, after: HypotheticalHistory): Promise<readonly SessionScope[]> =>
	scopesOf(
		(await timeline.records()).filter(sessionOpened.is).filter(({ seq, scope }) => after.isActiveInAny(seq, scope)),
	);

/** The outcome of a call that is open at the target is taken over, and not paid for again. */
const isAdopted = (record: WalRecord, after: Pick<HypotheticalHistory, "isActive">): boolean =>
	stepCompleted.is(record) &&
	record.data.started !== undefined &&
	after.isActive({ seq: record.data.started, scope: record.scope, kind: stepStarted.kind });

function priceOf(paid: Paid, prices: Prices): PaidFor {
	const sums = Object.values(paid);
	const uncounted = sums.reduce((sum, { failed }) => sum + failed, 0);
	return {
		calls: sums.reduce((sum, { calls }) => sum + calls, 0),
		tokens: tokensIn(paid),
		cost: billOf(paid, prices).cost,
		...(uncounted > 0 && { uncounted }),
	};
}

/** Both states, counted; a note joins the conversation. */
function sidesOf(
	features: readonly Feature[],
	states: readonly State[],
	isNoted: boolean,
): Pick<BlastRadius, "before" | "after" | "withdraws"> {
	const before = states.filter(({ isBefore }) => isBefore).map((each) => heldSession(features, each.before));
	const after = states.filter(({ isNow }) => isNow).map(({ now, settled }) => heldSession(features, now, settled));
	const held = holdingOf(after);
	const withdrawn = (waiting: (session: HeldSession) => readonly Waiting[]): readonly Waiting[] => {
		const left = new Set(after.flatMap(waiting).map(({ seq }) => seq));
		return before.flatMap(waiting).filter(({ seq }) => !left.has(seq));
	};
	return {
		before: holdingOf(before),
		after: isNoted ? { ...held, messages: held.messages + 1 } : held,
		withdraws: { questions: withdrawn(questionsOf), messages: withdrawn(messagesOf) },
	};
}

/** What becomes of unfinished work, by the same rule as the settlement after a reset. @param price what calls of these runs have cost */
function unfinishedOf(
	features: readonly Feature[],
	states: readonly State[],
	price: (works: readonly string[]) => PaidFor | undefined,
	isPaidAgain: (work: string) => boolean,
): Pick<BlastRadius, "cancels" | "interrupts" | "relaunches" | "pauses"> {
	const all = states.flatMap(({ settled }) => settled);
	const piecesThat = (becomes: Settled["becomes"]): readonly Piece[] =>
		all.filter((each) => each.becomes === becomes).map(({ piece }) => piece);
	// It is paused there already, as by a person whose resume is taken back, and is not settled.
	const pausedThere = states
		.flatMap(({ now }) => piecesIn(features, now))
		.filter(({ status, kind, id }) => status === "paused" && isPaidAgain(`${kind}/${id}`));
	const again = (becomes: Settled["becomes"]): WorkAgain => {
		const pieces = [...piecesThat(becomes), ...(becomes === "waiting" ? pausedThere : [])];
		const idsOf = (wanted: string) => pieces.filter(({ kind }) => kind === wanted).map(({ id }) => id);
		const paid = price(pieces.map(({ kind, id }) => `${kind}/${id}`));
		const turns = idsOf(TURN).map(Number);
		return {
			...{ plans: idsOf(PLAN), runs: idsOf(SKILL), ...(paid && { paid }), ...freeOf(pieces) },
			...(turns.length > 0 && { turns }),
			...others(pieces.filter(isOther).map(({ work }) => work.name)),
		};
	};
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
		interrupts: piecesThat("over")
			.filter(({ kind }) => kind === TURN)
			.map(({ id }) => Number(id)),
		relaunches: again("running"),
		pauses: again("waiting"),
	};
}

function freeOf(pieces: readonly Piece[]): Pick<WorkAgain, "free"> {
	const spent = pieces.map((piece) => piece.spent);
	if (spent.length === 0 || spent.includes(undefined)) return {};
	const sum = (what: "calls" | "tokens"): number => spent.reduce((all, each) => all + (each?.[what] ?? 0), 0);
	return { free: { calls: sum("calls"), tokens: sum("tokens") } };
}

/** The field `others`, left out when it is empty. */
const others = (names: readonly string[]): { readonly others?: readonly string[] } =>
	names.length > 0 ? { others: [...new Set(names)] } : {};

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
	#paid: Paid = {};
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

	add(record: WalRecord, payment: Payment | undefined): void {
		const { agent, session, run } = record.scope;
		this.#records++;
		if (payment) this.#paid = withPaid(this.#paid, payment);
		if (userPrompt.is(record) || compactionAsked.is(record)) this.#turns++;
		if (record.scope === this.#last) return;
		this.#last = record.scope;
		if (agent !== undefined && session !== undefined)
			this.sessions.set(scopeKey({ agent, session }), { agent, session });
		if (run !== undefined) this.#runs.add(run);
	}

	/** @param pieces tell the runs of plans, skills and scripts apart, whose scopes look the same */
	extent(pieces: readonly Piece[], prices: Prices): Extent {
		const kindOf = new Map(pieces.map(({ kind, work }) => [work.scope.run, kind]));
		const runsOf = (...kinds: readonly string[]): readonly string[] =>
			[...this.#runs].filter((run) => kinds.includes(kindOf.get(run) ?? SKILL));
		return {
			...(this.#messages === undefined
				? { records: this.#records, turns: this.#turns, paid: priceOf(this.#paid, prices) }
				: { messages: this.#messages }),
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

const keyOf = ({ type, seq }: ConversationItem): string => `${type} ${seq}`;

const lowestTarget = (resets: readonly { readonly target: Seq }[]): Seq =>
	resets.reduce((lowest, { target }) => Math.min(lowest, target), Number.POSITIVE_INFINITY);
