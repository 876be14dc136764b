/** What the log knows of each step: a projection, and the questions that are asked of it. */
import { defineProjection } from "@reyn/snapshot";
import type { Draft, Seq, WalRecord } from "@reyn/wal";
import { z } from "zod";
import { type Dict, deleteIn, dictOf, emptyDict, entriesIn, getIn, setIn } from "./dict.ts";
import {
	entryAfter,
	entryKey,
	entrySchema,
	type Identity,
	isOpen,
	type JournalEntry,
	type Recall,
	recallEntry,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { laneClosed, stepCompleted, stepFailed, stepStarted } from "./records.ts";

/** The lanes under a name, which is one part of a path; what is closed is gone. */
export interface JournalState {
	/** The steps of the lane that ends here, by fingerprint and occurrence. */
	readonly entries: Dict<JournalEntry>;
	/** The seq of the newest effect that was started in it; world answers from before it are settled. */
	readonly lastEffect: Seq;
	readonly lanes: Dict<JournalState>;
}

const laneState: z.ZodType<JournalState> = z.lazy(() =>
	z.object({ entries: dictOf(entrySchema), lastEffect: z.int(), lanes: dictOf(laneState) }),
);

const empty: JournalState = { entries: emptyDict, lastEffect: 0, lanes: emptyDict };

/** The open lanes of a scope and what happened in each. */
export const journal = defineProjection<JournalState>({
	name: "journal",
	version: 3,
	schema: laneState,
	init: () => empty,
	handle: (on) => [
		on(stepStarted, (state, _, record) => afterRecord(state, record)),
		on(stepCompleted, (state, _, record) => afterRecord(state, record)),
		on(stepFailed, (state, _, record) => afterRecord(state, record)),
		on(laneClosed, (state, { lane }) => without(state, lane.split("/"))),
	],
	// Version 2 knew no `pauseMs`, and no state of it needs one.
	migrate: (state) => state as JournalState,
	floor: (state) => {
		let floor = Number.POSITIVE_INFINITY;
		for (const entry of allEntries(state)) floor = Math.min(floor, sinceWhen(entry));
		return Number.isFinite(floor) ? floor : undefined;
	},
});

/** What is known of a step that is about to be called. */
export function recall(state: JournalState, step: Identity): Recall {
	const lane = laneAt(state, step.lane);
	return recallEntry(lane && getIn(lane.entries, entryKey(step)), lane?.lastEffect ?? 0);
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
	const lane = laneAt(state, step.lane);
	const entry = lane && getIn(lane.entries, entryKey(step));
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

function afterRecord(state: JournalState, record: WalRecord): JournalState {
	const step = record.data as Identity;
	return within(state, step.lane.split("/"), (lane) => ({
		...lane,
		entries: setIn(lane.entries, entryKey(step), entryAfter(getIn(lane.entries, entryKey(step)), record)),
		lastEffect: record.kind === stepStarted.kind && startsDurably(step.purity) ? record.seq : lane.lastEffect,
	}));
}

/** The state with one lane changed, which is made if it is not there. */
function within(
	state: JournalState,
	[part, ...rest]: readonly string[],
	change: (lane: JournalState) => JournalState,
): JournalState {
	if (part === undefined) return change(state);
	const lane = getIn(state.lanes, part) ?? empty;
	return { ...state, lanes: setIn(state.lanes, part, within(lane, rest, change)) };
}

/** The state without a lane and all below it; and without the names above it that are empty then. */
function without(state: JournalState, [part, ...rest]: readonly string[]): JournalState {
	const lane = part === undefined ? undefined : getIn(state.lanes, part);
	if (part === undefined || !lane) return state;
	const left = rest.length === 0 ? empty : without(lane, rest);
	if (left === lane) return state;
	return { ...state, lanes: isEmpty(left) ? deleteIn(state.lanes, part) : setIn(state.lanes, part, left) };
}

const isEmpty = ({ entries, lanes }: JournalState): boolean => !hasAny(entries) && !hasAny(lanes);

const hasAny = (dict: Dict<unknown>): boolean => entriesIn(dict).next().done === false;
