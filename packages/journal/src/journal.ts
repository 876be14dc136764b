/** What the log knows of each step: a projection, and the questions that are asked of it. */
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
	isOpen,
	type JournalEntry,
	letThrough,
	type Recall,
	type RecordedStep,
	recallEntry,
	recordedOf,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { type CallKey, laneClosed, laneFailed, stepCompleted, stepFailed, stepStarted } from "./records.ts";

/** The lanes under a name, which is one part of a path; what is closed is gone. */
export interface JournalState {
	/** The steps of the lane that ends here, by fingerprint and occurrence. */
	readonly entries: Dict<JournalEntry>;
	/** The seq of the newest effect that was started in it or below; world answers from before it are settled. */
	readonly lastEffect: Seq;
	/** The newest `after` of a call in it: failures from before have something that rests on them, here and in lanes below. */
	readonly asked: Seq;
	/** The smallest `after` in it and below: what failed before, elsewhere, may have all of it resting on it. */
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

/** The open lanes of a scope and what happened in each. */
export const journal = defineProjection<JournalState>({
	name: "journal",
	version: 3,
	schema: laneState,
	init: () => empty,
	migrate: (state) => fromSecond(state as SecondState),
	handle: (on) => [
		on(stepStarted, (state, _, record) => afterRecord(state, record)),
		on(stepCompleted, (state, _, record) => afterRecord(state, record)),
		on(stepFailed, (state, _, record) => afterRecord(state, record)),
		on(laneFailed, (state, { lane, by = [] }) => {
			const next = by.reduce((all, call) => withoutLast(all, lane, call), state);
			return changed(next, lane, (found) => withoutFailures(found, 0));
		}),
		on(laneClosed, (state, { lane }) => without(state, lane.split("/"))),
	],
	floor: (state) => {
		let floor = Number.POSITIVE_INFINITY;
		for (const entry of allEntries(state)) floor = Math.min(floor, sinceWhen(entry));
		return Number.isFinite(floor) ? floor : undefined;
	},
});

/**
 * What is known of a step that is about to be called.
 *
 * @param program the lane that all lanes of the step's program are below, as `Using.recall` is given it. Default: the step's own
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
	// Only where something has failed it matters what began since.
	if (entry?.outcome?.type === "failed") asked = Math.max(asked, newestBeside(root, path));
	return recallEntry(entry, { lastEffect, asked });
}

/** The steps that are recorded in one lane, as {@link Using} wants them. */
export function* recordedIn(state: JournalState, lane: string): Generator<RecordedStep> {
	const { entries, lanes } = laneAt(state, lane) ?? empty;
	for (const [key, entry] of entriesIn(entries)) yield recordedOf(key, entry);
	const keys = [...entriesIn(entries)].map(([key]) => key);
	yield* cutCalls(
		keys,
		[...entriesIn(lanes)].map(([name, below]) => [name, allEntries(below)] as const),
	);
}

/** What had been told when the first step in a lane or below it was asked for, as {@link Using} wants it. */
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

/** The starts of the steps that have no outcome here: each is in doubt, unless another line of history knows how it ended. */
export function openStarts(state: JournalState): readonly Seq[] {
	return allEntries(state)
		.filter(isOpen)
		.map(({ started }) => started)
		.toArray();
}

/** Is this the outcome of a step that has none here? */
export function isAwaited(state: JournalState, { data }: Draft): boolean {
	const { started, ...step } = data as Identity & { started?: Seq };
	const entry = entryAt(state, step);
	return started !== undefined && entry?.started === started && isOpen(entry);
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
	const step = record.data as Identity & { readonly within?: Seq; readonly moves?: string };
	const path = step.lane.split("/");
	const before = entryAt(state, step);
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

/** What counts in lanes around the one that changes. */
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

/** When the newest began of the lanes that a lane does not lead through or to: of those beside it, around it and in it. */
function newestBeside(state: JournalState, path: readonly string[]): Seq {
	let newest = 0;
	let lane: JournalState | undefined = state;
	for (const part of [...path, undefined]) {
		for (const [each, { begun }] of entriesIn(lane.lanes)) if (each !== part) newest = Math.max(newest, begun);
		lane = part === undefined ? undefined : getIn(lane.lanes, part);
		if (!lane) break;
	}
	return newest;
}

/**
 * A lane whose program has ended by throwing: what failed there, and nothing rests on, is to be called again.
 *
 * @param around the newest `after` of a call around it, and when the newest of the lanes beside those began
 */
function withoutFailures(lane: JournalState, around: Seq): JournalState {
	const below = [...entriesIn(lane.lanes)];
	const asked = Math.max(around, lane.asked);
	const begun = below.map(([, { begun }]) => begun);
	const others = (i: number): Seq => Math.max(asked, ...begun.filter((_, each) => each !== i));
	let lanes: Dict<JournalState> = emptyDict;
	for (const [i, [part, each]] of below.entries()) lanes = setIn(lanes, part, withoutFailures(each, others(i)));
	return { ...lane, entries: mapped(lane.entries, (entry) => forgotten(entry, Math.max(asked, ...begun))), lanes };
}

/** Without a failure that a program has let through, and those inside that call. */
function withoutLast(state: JournalState, program: string, call: CallKey): JournalState {
	const entry = entryAt(state, call);
	const next = entry && letThrough(entry);
	if (!next || next === entry) return state;
	const gone = changed(state, program, (found) => allGoneFrom(found, entry.order ?? 0));
	const key = entryKey(call);
	const without = changed(gone, call.lane, (lane) => ({ ...lane, entries: setIn(lane.entries, key, next) }));
	return changed(without, innerLane(call), (inside) => withoutFailures(inside, 0));
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
	// Whatever comes is newer than all that has been here.
	return hasAny(state.entries) || hasAny(lanes) ? { ...state, lanes } : empty;
}

const isEmpty = ({ entries, lanes }: JournalState): boolean => !hasAny(entries) && !hasAny(lanes);

const hasAny = (dict: Dict<unknown>): boolean => entriesIn(dict).next().done === false;

/** As version 2 kept it: an effect counted in its own lane alone, and a failure was told where no other try could help. */
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
