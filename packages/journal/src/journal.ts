/** The journal projection: the steps of all open lanes, folded from the log, and the questions that are asked of that state. */
import { defineProjection } from "@reyn/snapshot";
import type { Draft, Seq, WalRecord } from "@reyn/wal";
import { z } from "zod";
import { type Dict, deleteIn, dictOf, emptyDict, entriesIn, getIn, setIn } from "./dict.ts";
import {
	cutCalls,
	entryAfter,
	entryKey,
	entrySchema,
	forgotten,
	goneFrom,
	type Identity,
	innerLane,
	isBetweenTries,
	isOpen,
	type JournalEntry,
	letThrough,
	letThroughLast,
	newestBegun,
	type Recall,
	type RecordedStep,
	recallEntry,
	recordedOf,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { type CallKey, laneClosed, laneFailed, stepCompleted, stepFailed, stepStarted } from "./records.ts";
import { scriptFailed, scriptLane } from "./script/records.ts";

/**
 * A node in the tree of lanes: the lane `plan/p1/s1` is three levels below the root. A closed lane is removed, so the state holds
 * only the steps of open work.
 */
export interface JournalState {
	/** The steps of this lane, by {@link entryKey}. */
	readonly entries: Dict<JournalEntry>;
	/**
	 * The seq of the newest effect started in this lane or below; a world answer from before it is settled: it is not asked again. The root
	 * forgets those of programs that are over, so that a program leaves no trace.
	 */
	readonly lastEffect: Seq;
	/** The largest `after` of a call in this lane. A failure told before that is rested on: a call was made with knowledge of it. */
	readonly asked: Seq;
	/** The smallest `after` in this lane and below: when its work began. A failure told elsewhere before that may be rested on here. */
	readonly begun: Seq;
	readonly lanes: Dict<JournalState>;
}

const laneState: z.ZodType<JournalState> = z.lazy(() =>
	z.object({
		entries: dictOf(entrySchema),
		lastEffect: z.int(),
		asked: z.int(),
		begun: z.int(),
		lanes: dictOf(laneState),
	}),
);

const empty: JournalState = {
	entries: emptyDict,
	lastEffect: 0,
	asked: 0,
	begun: Number.MAX_SAFE_INTEGER,
	lanes: emptyDict,
};

/** The open lanes of a scope, and the steps of each. */
export const journal = defineProjection<JournalState>({
	name: "journal",
	version: 6,
	schema: laneState,
	init: () => empty,
	// Version 3 did not know the end of a script: a failure that one had ended by stays told in its states. Up to version 5 the root forgot
	// no effect.
	migrate: (state, from) => ofOpen(from < 3 ? fromSecond(state as SecondState) : (state as JournalState)),
	handle: (on) => [
		on(stepStarted, (state, _, record) => afterRecord(state, record)),
		on(stepCompleted, (state, _, record) => afterRecord(state, record)),
		on(stepFailed, (state, _, record) => afterRecord(state, record)),
		on(laneFailed, (state, { lane, by }) => failedBy(state, lane, by, () => 0)),
		// Branches of a script may share variables, so a call in any of them may rest on a failure.
		on(scriptFailed, (state, { run, by }) => failedBy(state, scriptLane(run), by, newestAsked)),
		on(laneClosed, (state, { lane }) => ofOpen(without(state, lane.split("/")))),
	],
	floor: (state) => {
		let floor = Number.POSITIVE_INFINITY;
		for (const entry of allEntries(state)) floor = Math.min(floor, sinceWhen(entry));
		return Number.isFinite(floor) ? floor : undefined;
	},
});

/**
 * What the log knows of a step that is about to be called.
 *
 * @param program the root lane of the step's program, as `Using.recall` is given it; "" is the whole journal. Default: the step's lane
 */
export function recall(state: JournalState, step: Identity, program = step.lane): Recall {
	const root = program === "" ? state : laneAt(state, program);
	if (!root) return recallEntry(undefined, { lastEffect: 0, asked: 0 });
	const path = step.lane.split("/").slice(program === "" ? 0 : program.split("/").length);
	let [lane, asked]: [JournalState | undefined, Seq] = [root, root.asked];
	for (const part of path) {
		lane = lane && getIn(lane.lanes, part);
		asked = Math.max(asked, lane?.asked ?? 0);
	}
	const entry = lane && getIn(lane.entries, entryKey(step));
	const { lastEffect } = root;
	// Other lanes matter only for a failure: whether any of them began with knowledge of it.
	if (entry?.outcome?.type === "failed") asked = Math.max(asked, newestBeside(root, path));
	return recallEntry(entry, { lastEffect, asked });
}

/** The steps that are recorded in one lane, in the form of {@link Using}. */
export function* recordedIn(state: JournalState, lane: string): Generator<RecordedStep> {
	const { entries, lanes } = laneAt(state, lane) ?? empty;
	for (const [key, entry] of entriesIn(entries)) yield recordedOf(key, entry);
	const keys = [...entriesIn(entries)].map(([key]) => key);
	yield* cutCalls(
		keys,
		[...entriesIn(lanes)].map(([name, below]) => [name, allEntries(below)] as const),
	);
}

/** The largest place that had been told when the first step in a lane or below was asked for; undefined: it has no steps. */
export function firstBelow(state: JournalState, lane: string): Seq | undefined {
	return laneAt(state, lane)?.begun;
}

/** The steps of one lane, in the order of their first records as far as they are known. */
export function entriesOf(state: JournalState, lane: string): readonly JournalEntry[] {
	const { entries } = laneAt(state, lane) ?? empty;
	return [...entriesIn(entries)].map(([, entry]) => entry).sort((a, b) => sinceWhen(a) - sinceWhen(b));
}

/** The open lanes that have steps. */
export function lanesOf(state: JournalState): readonly string[] {
	return [...pathsIn(state, "")];
}

/** The seqs of the starts of calls that are not over in this state: the next one is made, unless another line of history has an outcome. */
export function openStarts(state: JournalState): readonly Seq[] {
	return allEntries(state)
		.filter(isOpen)
		.map(({ started }) => started)
		.toArray();
}

/**
 * Does a record say more of a step that is open in this state? Between two tries that is an outcome, or that the next one was begun;
 * another failed one says nothing new.
 */
export function isAwaited(state: JournalState, { kind, data }: Draft): boolean {
	const { started, told, ...step } = data as Identity & { started?: Seq; told?: boolean };
	const entry = entryAt(state, step);
	if (started === undefined || entry?.started !== started || !isOpen(entry)) return false;
	const isBegun = kind === stepStarted.kind;
	const isFailed = kind === stepFailed.kind && told !== true;
	return isBetweenTries(entry) ? !isFailed : !isBegun;
}

/** The steps of all open lanes. */
export function* allEntries({ entries, lanes }: JournalState): Generator<JournalEntry> {
	for (const [, entry] of entriesIn(entries)) yield entry;
	for (const [, lane] of entriesIn(lanes)) yield* allEntries(lane);
}

const sinceWhen = ({ started, outcome }: JournalEntry): Seq => started ?? outcome?.seq ?? Number.POSITIVE_INFINITY;

function* pathsIn({ lanes }: JournalState, above: string): Generator<string> {
	for (const [part, lane] of entriesIn(lanes)) {
		const path = above + part;
		if (hasAny(lane.entries)) yield path;
		yield* pathsIn(lane, `${path}/`);
	}
}

function laneAt(state: JournalState, path: string): JournalState | undefined {
	let lane: JournalState | undefined = state;
	for (const part of path.split("/")) lane = lane && getIn(lane.lanes, part);
	return lane;
}

const entryAt = (state: JournalState, step: CallKey): JournalEntry | undefined =>
	getIn(laneAt(state, step.lane)?.entries ?? emptyDict, entryKey(step));

function afterRecord(state: JournalState, record: WalRecord): JournalState {
	const step = record.data as Identity & { readonly within?: Seq; readonly moves?: string; readonly closed?: true };
	const path = step.lane.split("/");
	const before = entryAt(state, step);
	if (step.closed && !before) return state;
	const entry = entryAfter(before, record);
	const isEffect = record.kind === stepStarted.kind && startsDurably(step.purity);
	const more = { effect: isEffect ? record.seq : 0, begun: step.within ?? entry.after };
	const { moves } = step;
	const gone = (lane: JournalState): JournalState => allGoneFrom(lane, before?.order ?? record.seq);
	const moved = moves === undefined ? state : moves === "" ? gone(state) : changed(state, moves, gone);
	return within(moved, path, more, (lane) => ({
		...lane,
		entries: setIn(lane.entries, entryKey(step), entry),
		asked: Math.max(lane.asked, entry.after),
	}));
}

/** What a changed lane means for the lanes above it. */
interface More {
	readonly effect: Seq;
	readonly begun: Seq;
}

/** The state with one lane changed, which is made if it is not there. */
function within(
	state: JournalState,
	[part, ...rest]: readonly string[],
	more: More,
	change: (lane: JournalState) => JournalState,
): JournalState {
	const around = {
		...state,
		lastEffect: Math.max(state.lastEffect, more.effect),
		begun: Math.min(state.begun, more.begun),
	};
	if (part === undefined) return change(around);
	const lane = getIn(state.lanes, part) ?? empty;
	return {
		...around,
		lanes: setIn(state.lanes, part, within(lane, rest, more, change)),
	};
}

/** The state with one lane changed, if it is there. */
const changed = (state: JournalState, path: string, change: (lane: JournalState) => JournalState): JournalState =>
	laneAt(state, path) ? within(state, path.split("/"), nothingMore, change) : state;

const nothingMore: More = { effect: 0, begun: Number.MAX_SAFE_INTEGER };

/** The largest `begun` of all lanes off the path to a lane: those beside each of its parts, and those below it. */
function newestBeside(state: JournalState, path: readonly string[]): Seq {
	let newest = 0;
	let lane: JournalState | undefined = state;
	for (const part of [...path, undefined]) {
		for (const [each, beside] of entriesIn(lane.lanes)) if (each !== part) newest = Math.max(newest, newestIn(beside));
		lane = part === undefined ? undefined : getIn(lane.lanes, part);
		if (!lane) break;
	}
	return newest;
}

const newestIn = (lane: JournalState): Seq => newestBegun(begunOf(lane));

const begunOf = ({ begun, entries, lanes }: JournalState): Parameters<typeof newestBegun>[0] => ({
	begun,
	hasSteps: hasAny(entries),
	*below() {
		for (const [name, lane] of entriesIn(lanes)) yield [name, begunOf(lane)] as const;
	},
});

/**
 * The state after a program ended by throwing.
 *
 * @param by as in `lane_failed`
 * @param around the largest `after` of calls that may rest on any failure of it
 */
function failedBy(
	state: JournalState,
	program: string,
	by: readonly CallKey[] | undefined,
	around: (lane: JournalState) => Seq,
): JournalState {
	const next = (by ?? []).reduce((all, call) => withoutLast(all, program, call), state);
	return changed(next, program, (found) => withoutFailures(found, forgotten, around(found)));
}

/** The largest `after` in a lane and below. */
function newestAsked({ asked, lanes }: JournalState): Seq {
	let newest = asked;
	for (const [, lane] of entriesIn(lanes)) newest = Math.max(newest, newestAsked(lane));
	return newest;
}

/**
 * A lane after its program ended by throwing: failures that nothing rests on are forgotten, so a new run calls those steps again.
 *
 * @param after what becomes of an entry
 * @param around the largest `after` of the calls in lanes above, and the largest `begun` of the lanes beside those
 */
function withoutFailures(lane: JournalState, after: typeof forgotten, around: Seq): JournalState {
	const below = [...entriesIn(lane.lanes)];
	const asked = Math.max(around, lane.asked);
	const begun = below.map(([, each]) => newestIn(each));
	const others = (i: number): Seq => Math.max(asked, ...begun.filter((_, each) => each !== i));
	let lanes: Dict<JournalState> = emptyDict;
	for (const [i, [part, each]] of below.entries()) lanes = setIn(lanes, part, withoutFailures(each, after, others(i)));
	return { ...lane, entries: mapped(lane.entries, (entry) => after(entry, Math.max(asked, ...begun))), lanes };
}

/** The state without a failure that a program has let through, and without the failures inside that call. */
function withoutLast(state: JournalState, program: string, call: CallKey): JournalState {
	const entry = entryAt(state, call);
	const next = entry && letThrough(entry);
	if (!next || next === entry) return state;
	const gone = changed(state, program, (found) => allGoneFrom(found, entry.order ?? 0));
	const key = entryKey(call);
	const without = changed(gone, call.lane, (lane) => ({ ...lane, entries: setIn(lane.entries, key, next) }));
	return changed(without, innerLane(call), (inside) => withoutFailures(inside, letThroughLast, 0));
}

const allGoneFrom = (lane: JournalState, seq: Seq): JournalState => ({
	...lane,
	entries: mapped(lane.entries, (entry) => goneFrom(entry, seq)),
	lanes: mapped(lane.lanes, (below) => allGoneFrom(below, seq)),
});

function mapped<A, B>(dict: Dict<A>, change: (value: A) => B): Dict<B> {
	let changed: Dict<B> = emptyDict;
	for (const [key, value] of entriesIn(dict)) changed = setIn(changed, key, change(value));
	return changed;
}

/** The state without a lane and all below it; and without the names above it that are empty then. */
function without(state: JournalState, [part, ...rest]: readonly string[]): JournalState {
	const lane = part === undefined ? undefined : getIn(state.lanes, part);
	if (part === undefined || !lane) return state;
	const left = rest.length === 0 ? empty : without(lane, rest);
	if (left === lane) return state;
	const lanes = isEmpty(left) ? deleteIn(state.lanes, part) : setIn(state.lanes, part, left);
	// An empty lane becomes `empty`, which resets its seqs: any new step is newer than the ones that were there.
	return hasAny(state.entries) || hasAny(lanes) ? { ...state, lanes } : empty;
}

/** The root without the effects of programs that are over. */
function ofOpen(root: JournalState): JournalState {
	let lastEffect = 0;
	for (const [, lane] of entriesIn(root.lanes)) lastEffect = Math.max(lastEffect, lane.lastEffect);
	return lastEffect === root.lastEffect ? root : { ...root, lastEffect };
}

const isEmpty = ({ entries, lanes }: JournalState): boolean => !hasAny(entries) && !hasAny(lanes);

const hasAny = (dict: Dict<unknown>): boolean => entriesIn(dict).next().done === false;

/** The state of version 2: an effect counted in its own lane only, and a failure was told exactly when it was not retryable. */
interface SecondState {
	readonly entries: Dict<SecondEntry>;
	readonly lastEffect: Seq;
	readonly lanes: Dict<SecondState>;
}

type SecondEntry = JournalEntry & { readonly outcome?: { readonly seq: Seq; readonly retryable?: boolean } };

function fromSecond({ entries, lastEffect, lanes }: SecondState): JournalState {
	const below = mapped(lanes, fromSecond);
	const effects = [...entriesIn(below)].map(([, lane]) => lane.lastEffect);
	const all = mapped(entries, (entry): JournalEntry => {
		const { outcome } = entry;
		const after = (entry.started ?? outcome?.seq ?? 1) - 1;
		if (outcome?.type === "completed") return { ...entry, after, order: outcome.seq };
		if (outcome?.type !== "failed") return { ...entry, after };
		const told = !outcome.retryable;
		return { ...entry, after, ...(told ? { order: outcome.seq } : {}), outcome: { ...outcome, told } };
	});
	const asked = Math.max(0, ...[...entriesIn(all)].map(([, { after }]) => after));
	const begun = Math.min(
		...[...entriesIn(all)].map(([, { after }]) => after),
		...[...entriesIn(below)].map(([, lane]) => lane.begun),
		Number.MAX_SAFE_INTEGER,
	);
	return { entries: all, lanes: below, asked, begun, lastEffect: Math.max(lastEffect, ...effects) };
}
