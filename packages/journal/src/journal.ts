/** What the log knows of each step: a projection, and the questions that are asked of it. */
import { defineProjection } from "@reyn/snapshot";
import type { Draft, Seq, WalRecord } from "@reyn/wal";
import { z } from "zod";
import { type Dict, deleteIn, dictOf, emptyDict, entriesIn, getIn, setIn } from "./dict.ts";
import {
	type Around,
	entryAfter,
	entryKey,
	entrySchema,
	forgotten,
	type Identity,
	isOpen,
	type JournalEntry,
	type Recall,
	type Recorded,
	recallEntry,
	recordedOf,
} from "./entry.ts";
import { startsDurably } from "./purity.ts";
import { laneClosed, laneFailed, stepCompleted, stepFailed, stepStarted } from "./records.ts";

/** The lanes under a name, which is one part of a path; what is closed is gone. */
export interface JournalState {
	/** The steps of the lane that ends here, by fingerprint and occurrence. */
	readonly entries: Dict<JournalEntry>;
	/** The seq of the newest effect that was started in it or below; world answers from before it are settled. */
	readonly lastEffect: Seq;
	/** The newest `after` of a call in it: failures from before it have something that rests on them. */
	readonly asked: Seq;
	readonly lanes: Dict<JournalState>;
}

const laneState: z.ZodType<JournalState> = z.lazy(() =>
	z.object({ entries: dictOf(entrySchema), lastEffect: z.int(), asked: z.int(), lanes: dictOf(laneState) }),
);

const empty: JournalState = { entries: emptyDict, lastEffect: 0, asked: 0, lanes: emptyDict };

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
		on(laneFailed, (state, { lane }) => {
			const parts = lane.split("/");
			return laneAt(state, lane) ? within(state, parts, (found) => withoutFailures(found, 0)) : state;
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
	let [lane, around]: [JournalState | undefined, Around] = [state, { lastEffect: 0, asked: 0 }];
	let path = "";
	if (program === "") around = { ...around, lastEffect: state.lastEffect };
	for (const part of step.lane.split("/")) {
		path = path === "" ? part : `${path}/${part}`;
		lane = lane && getIn(lane.lanes, part);
		if (!lane) return recallEntry(undefined, around);
		around = {
			lastEffect: path === program ? lane.lastEffect : around.lastEffect,
			asked: Math.max(around.asked, lane.asked),
		};
	}
	return recallEntry(lane && getIn(lane.entries, entryKey(step)), around);
}

/** The steps that are recorded in one lane, as {@link Using} wants them. */
export function* recordedIn(state: JournalState, lane: string): Generator<Recorded> {
	for (const [key, entry] of entriesIn(laneAt(state, lane)?.entries ?? emptyDict)) yield recordedOf(key, entry);
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
	const isEffect = record.kind === stepStarted.kind && startsDurably(step.purity);
	return within(
		state,
		step.lane.split("/"),
		(lane) => {
			const entry = entryAfter(getIn(lane.entries, entryKey(step)), record);
			return {
				...lane,
				entries: setIn(lane.entries, entryKey(step), entry),
				asked: Math.max(lane.asked, entry.after),
			};
		},
		isEffect ? record.seq : 0,
	);
}

/** The state with one lane changed, which is made if it is not there; an effect counts in all lanes around it. */
function within(
	state: JournalState,
	[part, ...rest]: readonly string[],
	change: (lane: JournalState) => JournalState,
	effect: Seq = 0,
): JournalState {
	const lastEffect = Math.max(state.lastEffect, effect);
	if (part === undefined) return change({ ...state, lastEffect });
	const lane = getIn(state.lanes, part) ?? empty;
	return { ...state, lastEffect, lanes: setIn(state.lanes, part, within(lane, rest, change, effect)) };
}

/** A lane whose program has ended by throwing: what failed there, and nothing rests on, is to be called again. */
function withoutFailures(lane: JournalState, around: Seq): JournalState {
	const asked = Math.max(around, lane.asked);
	return {
		...lane,
		entries: mapped(lane.entries, (entry) => forgotten(entry, asked)),
		lanes: mapped(lane.lanes, (below) => withoutFailures(below, asked)),
	};
}

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
	return { ...state, lanes: isEmpty(left) ? deleteIn(state.lanes, part) : setIn(state.lanes, part, left) };
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
	return { entries: all, lanes: below, asked, lastEffect: Math.max(lastEffect, ...effects) };
}
