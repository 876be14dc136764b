/** The timeline, the main class of this package: read any state of a log, go to any branch, and come back. */
import type { AnyProjection, View } from "@reyn/snapshot";
import { type Appender, type Scope, type Seq, systemTimers, type WalRecord } from "@reyn/wal";
import type { Branch } from "./branches.ts";
import { Checkpoints } from "./checkpoints.ts";
import { Collecting, type Collection } from "./collecting.ts";
import type { StateDiff } from "./diff.ts";
import type { HypotheticalHistory } from "./hypothetical.ts";
import type { Lineage } from "./lineage.ts";
import type { Live } from "./live.ts";
import {
	type Checkout,
	type CheckoutOptions,
	Mover,
	type StayOptions,
	type StepOptions,
	type Stepped,
} from "./moving.ts";
import type { TimelineOptions } from "./options.ts";
import { Present } from "./present.ts";
import { type Checkpoint, type Label, Reading, type Window } from "./reading.ts";
import type { RecordCount } from "./record-counts.ts";
import { Retained } from "./retained.ts";
import type { RetentionPolicy } from "./retention.ts";
import { Sessions } from "./session.ts";
import type { Moved, MovedBy, MoveParts, MovePreview, Moving } from "./steps.ts";
import { TimelineIndex, type TimelineIndexOptions } from "./timeline-index.ts";
import type { Coverage, Moves } from "./undo.ts";
import { WholeLog } from "./whole-log.ts";

/**
 * Opens the timeline of a log: what is stored of its index is read, and then the records after that.
 *
 * @throws TimetravelError `TIMETRAVEL_INDEX`; WalError `WAL_UNSAFE`
 */
export function openTimeline(options: TimelineOptions): Promise<Timeline> {
	return openedTimeline(options);
}

/** As {@link openTimeline}. @param partAfter after how many records more a part of the index is stored */
export async function openedTimeline(
	options: TimelineOptions,
	partAfter?: TimelineIndexOptions["partAfter"],
): Promise<Timeline> {
	const { wal, snapshots, kept: blobs, undoRules = {}, keptKinds = [], readOnly } = options;
	const retained = await Retained.open(blobs, wal);
	const of = { wal, snapshots, undoRules, keptKinds, readOnly, partAfter };
	return new Timeline(options, retained, await TimelineIndex.open({ ...of, branches: retained.index }));
}

/** Delegates to `reading.ts`, `moving.ts`, `checkpoints.ts` and `collecting.ts`. */
export class Timeline implements Moving {
	readonly #reading: Reading;
	readonly #present: Present;
	readonly #checkpoints: Checkpoints;
	readonly #mover: Mover;
	readonly #collecting: Collecting;
	readonly #readOnly: boolean;
	#refreshing: Promise<void> = Promise.resolve();
	/** The open sessions; use {@link openSession}. */
	readonly sessions: Sessions;
	/** States of projections that follow the log: abandoned records count too, and no move changes them. */
	readonly wholeLog: Pick<WholeLog, "at" | "live">;

	/** Use {@link openTimeline}. */
	constructor(options: TimelineOptions, retained: Retained, timelineIndex: TimelineIndex) {
		const reading = new Reading(options, retained, timelineIndex);
		const whole = new WholeLog(options, retained, timelineIndex);
		const present = new Present(reading, whole, options);
		const checkpoints = new Checkpoints(reading, present, whole, options);
		this.#reading = reading;
		this.#readOnly = options.readOnly ?? false;
		this.wholeLog = whole;
		this.#present = present;
		this.#checkpoints = checkpoints;
		const { timers = systemTimers, quietMs = 5000 } = options;
		this.sessions = new Sessions({
			live: (scope) => this.live(scope),
			checkpoint: (...of) => this.checkpoint(...of),
			adopt: (...of) => present.adopt(...of),
			known: (...of) => present.known(...of),
			timers,
			quietMs,
		});
		this.#mover = new Mover({ reading, present, checkpoints, sessions: this.sessions, options });
		this.#collecting = new Collecting(reading, whole, options, (seq) => checkpoints.snapped(seq));
	}

	/**
	 * Brings a reader up to what is durable by now: afterwards it is as if it were opened anew. A state that is asked for meanwhile may
	 * be of any moment between. For a writer nothing happens.
	 *
	 * @param taken gets the new records in order, some at a time, in the step in which they count
	 * @throws WalError as `refresh` of a log does; TimetravelError `TIMETRAVEL_INDEX`. Calling again goes on; after `WAL_TRUNCATED` open the timeline anew
	 */
	refresh(taken: (records: readonly WalRecord[]) => void = () => {}): Promise<void> {
		if (!this.#readOnly) return Promise.resolve();
		const refreshed = this.#refreshing.then(() => this.#refresh(taken));
		this.#refreshing = refreshed.catch(() => {});
		return refreshed;
	}

	async #refresh(taken: (records: readonly WalRecord[]) => void): Promise<void> {
		const { wal, retained, timelineIndex } = this.#reading;
		const isCut = await retained.refresh(() =>
			wal.refresh((records) => {
				this.#reading.took(records);
				timelineIndex.took(records);
				this.#present.took(records);
				taken(records);
			}),
		);
		if (isCut) timelineIndex.forget((seq) => retained.has(seq));
		await this.#present.catchUp();
	}

	/** The resets up to now as a value: paths, ancestry, branches. */
	get lineage(): Lineage {
		return this.#reading.lineage;
	}

	/** The first record that counts; 1 until `gc` has taken some away. */
	get retainedFrom(): Seq {
		return this.#reading.retained.retainedFrom;
	}

	/** Can one go to this seq: is there one, and has `gc` not taken it away? */
	has(seq: Seq): boolean {
		return seq <= this.lineage.tip && this.#reading.retained.has(seq);
	}

	/** Refuses a seq that {@link has} says no to. @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED` */
	assertHas(seq: Seq): void {
		this.#reading.retained.assertHas(seq);
	}

	/**
	 * The state of a scope at a seq, on that seq's own path: the seq may be abandoned.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	at(seq: Seq, scope: Scope): Promise<View> {
		return this.#reading.at(seq, scope);
	}

	/**
	 * The present state of a scope, which follows all later appends. Outcomes that other lines of history have of its open starts are
	 * adopted. There is one for each scope: asking again gives the same.
	 *
	 * @throws as {@link at} does
	 */
	live(scope: Scope): Promise<Live> {
		return this.#present.live(scope);
	}

	/**
	 * What differs between the states of a scope at two seqs, each on its own path.
	 *
	 * @param projections which to compare; default: all
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`; SnapshotError `SNAPSHOT_UNREGISTERED`
	 */
	diff(a: Seq, b: Seq, scope: Scope, projections?: readonly AnyProjection[]): Promise<StateDiff> {
		return this.#reading.diff(a, b, scope, projections);
	}

	/**
	 * The history as a checkout of exactly `target` would leave it, without doing it.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	hypothetical(target: Seq, coverage: Partial<Coverage> = {}): HypotheticalHistory {
		return this.#reading.hypothetical(target, coverage);
	}

	/** The records that count at `through`, the tip by default, in order. */
	history(after: Seq = 0, scope: Scope = {}, through?: Seq): AsyncIterable<WalRecord> {
		return this.#reading.history(after, scope, through);
	}

	/**
	 * The records that {@link history} gives, counted by kind and scope, each in the order of its first record. The log is read for it
	 * once; after that it is asked for as often as one likes.
	 */
	count(after: Seq = 0, scope: Scope = {}, through?: Seq): Promise<readonly RecordCount[]> {
		return this.#reading.count(after, scope, through);
	}

	/** Did `gc` take away records that {@link history} would give? How many they were is not known. */
	lacks(after: Seq, scope: Scope = {}, through?: Seq): boolean {
		return this.#reading.lacks(after, scope, through);
	}

	/** The records that outlive `gc`, abandoned ones included, in order: resets, labels, facts, and those of `keptKinds`. */
	records(): Promise<readonly WalRecord[]> {
		return this.#reading.records();
	}

	/** The record at a seq that can be gone back to; genesis has none. */
	record(seq: Seq): Promise<WalRecord | undefined> {
		return this.#reading.record(seq);
	}

	/**
	 * Refuses a scope that nobody has a record in: a move of it would move nothing. Ask before a scope that came from outside is moved.
	 *
	 * @throws TimetravelError `TIMETRAVEL_COVERAGE`
	 */
	assertKnown(scope: Scope): Promise<void> {
		return this.#reading.assertKnown(scope);
	}

	/** The checkpoints that one can go back to, oldest first, abandoned ones included: all, or the newest so many before a seq. */
	checkpoints(scope: Scope = {}, window: Window = {}): readonly Checkpoint[] {
		return this.#reading.checkpoints(scope, window);
	}

	branches(): readonly Branch[] {
		return this.lineage.branches();
	}

	/**
	 * Writes a checkpoint, and once it is durable a snapshot, if one is due. The state of any checkpoint is made from a snapshot before
	 * it and a short replay.
	 *
	 * @param kind the kind of work that ended, such as `turn`; see {@link Checkpoint}
	 * @param view the present state, which has folded every record of its scope
	 * @throws TimetravelError `STALE_LINEAGE` when the view is of a line that was left since; WalError `WAL_INVALID_RECORD` for an invalid
	 * kind or title
	 */
	checkpoint(kind: string, title: string, scope: Scope, view: View): Promise<Seq> {
		return this.#checkpoints.checkpoint(kind, title, scope, view);
	}

	/**
	 * A log for the current line of history. After a reset it refuses, with `STALE_LINEAGE`, the records that the reset covers: so work
	 * from before a rewind cannot write after it, and other work goes on. Live states see each record at once. A refused outcome is
	 * kept, if the timeline has `outcomes`.
	 */
	handle(): Appender {
		return this.#present.handle();
	}

	/**
	 * Calls `act` at a moment at which a preview still holds: since then there was no other move, and nothing began in the scope.
	 * Progress of work does not matter.
	 *
	 * @param expect the tip of the preview; undefined: no check
	 * @param act appends, or does nothing; it must not be asynchronous
	 * @throws TimetravelError `TIMETRAVEL_STALE`; `act` was not called then
	 */
	ifStill<T>(expect: Seq | undefined, scope: Scope, act: () => T): Promise<T> {
		return this.#mover.ifStill(expect, scope, act);
	}

	/**
	 * The first step of a move: says what going to a seq would do, for instance by {@link checkout}. {@link moveWith} does the others.
	 *
	 * @param coverage the classes that move; default: all
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	preview(seq: Seq, coverage: Partial<Coverage> = {}): Promise<MovePreview & Pick<Checkout, "kind">> {
		return this.#mover.preview(seq, coverage);
	}

	/**
	 * What {@link undo} would do.
	 *
	 * @param options `of`: the seq of the move that is meant; default: the newest
	 * @throws TimetravelError `NOTHING_TO_UNDO`, `TIMETRAVEL_STALE`, `TIMETRAVEL_PRUNED`
	 */
	previewUndo({ of }: Pick<StepOptions, "of"> = {}): Promise<MovePreview> {
		return this.#mover.previewStep("undo", of);
	}

	/**
	 * What {@link redo} would do.
	 *
	 * @param options as of {@link previewUndo}
	 * @throws TimetravelError `NOTHING_TO_REDO`, `TIMETRAVEL_STALE`, `TIMETRAVEL_PRUNED`
	 */
	previewRedo({ of }: Pick<StepOptions, "of"> = {}): Promise<MovePreview> {
		return this.#mover.previewStep("redo", of);
	}

	/**
	 * The second step: writes a preview as one durable record, unless it is stale. All work that it covers has to be quiet.
	 *
	 * @param preview as it was given, in this process or another; with `along`, if something outside the log has to change too
	 * @throws TimetravelError `TIMETRAVEL_STALE`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_PRUNED`, `TIMETRAVEL_ACTOR`; nothing is written then
	 */
	write(preview: MovePreview, by: MovedBy): Promise<Moved> {
		return this.#mover.write(preview, by);
	}

	/** Moves that are written and not settled, oldest first: those since {@link write}, and at an open those that a crash has cut. */
	unsettled(): readonly Moved[] {
		return this.#mover.unsettled();
	}

	/** The third step, for the timeline itself: makes live states anew, and adopts outcomes from beyond the cut. It may run twice. */
	rebuild(move: Moved): Promise<void> {
		return this.#mover.rebuild(move);
	}

	/** Records that memory is in line with a move, which has to be the oldest unsettled one. For a settled move it does nothing. */
	settled(move: Moved): void {
		this.#mover.settled(move);
	}

	/** Stops the work of open sessions that a preview covers, and holds new work, before the preview is written. `moveWith` does this. */
	quiet(preview: MovePreview): Promise<() => void> {
		return this.#mover.quiet(preview);
	}

	/**
	 * Registers what `checkout`, `rewindTo`, `undo`, `redo` and `settle` have to stop before a move is written, and to rebuild after it,
	 * outside of open sessions. Default: nothing.
	 */
	attend(parts: MoveParts): void {
		this.#mover.attend(parts);
	}

	/**
	 * Runs `work` with the timeline to itself: meanwhile only this preview can be written, and nothing is collected.
	 *
	 * @throws TimetravelError `TIMETRAVEL_BUSY`; `work` was not called then
	 */
	exclusively<T>(preview: MovePreview, work: () => Promise<T>): Promise<T> {
		return this.#mover.exclusively(preview, work);
	}

	/**
	 * Makes the state as of `seq` the current one: an undo when it is an ancestor of the tip, else a switch to the branch
	 * that holds it. One durable record; nothing is erased. A scope that nobody has a record in is taken, and moves nothing:
	 * ask {@link assertKnown} before, where it came from outside.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what {@link attend} was given throws. Nothing is
	 * written then
	 */
	checkout(seq: Seq, options: CheckoutOptions = {}): Promise<Checkout> {
		return this.#mover.go(seq, options, { onlyUndo: false });
	}

	/**
	 * An undo only: refuses a seq that is not on the line of history that leads to the tip.
	 *
	 * @throws TimetravelError `TIMETRAVEL_NOT_ACTIVE`, and as {@link checkout}
	 */
	rewindTo(seq: Seq, options: CheckoutOptions = {}): Promise<Checkout> {
		return this.#mover.go(seq, options, { onlyUndo: true });
	}

	/**
	 * A move that takes nothing back: it stops all work, and what goes along with it changes. `undo` leads back to here, in all of the log.
	 *
	 * @returns the seq of its reset
	 * @throws TimetravelError as `checkout` does; nothing is written then
	 */
	stay(options: StayOptions): Promise<Seq> {
		return this.#mover.stay(options);
	}

	/**
	 * Takes back the newest move that is not taken back yet: what it covered is again as it was just before it. Moves are rewinds,
	 * labels, and what `undoRules` names.
	 *
	 * @throws TimetravelError `NOTHING_TO_UNDO`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what {@link attend} was given throws. Nothing is written then
	 */
	undo(options: StepOptions = {}): Promise<Stepped> {
		return this.#mover.step("undo", options);
	}

	/**
	 * Makes again the newest move that was taken back.
	 *
	 * @throws TimetravelError `NOTHING_TO_REDO`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what {@link attend} was given throws. Nothing is written then
	 */
	redo(options: StepOptions = {}): Promise<Stepped> {
		return this.#mover.step("redo", options);
	}

	/**
	 * What can be undone and redone one after the other, the newest last.
	 *
	 * @param window `limit`: of each the newest so many
	 */
	moves(window: Pick<Window, "limit"> = {}): Promise<Moves> {
		return this.#mover.moves(window);
	}

	/**
	 * Names a seq.
	 *
	 * @param options `move`: another seq has the name, and it is this one's from then on
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_LABEL`, `TIMETRAVEL_STALE`
	 */
	label(
		seq: Seq,
		name: string,
		options: Pick<CheckoutOptions, "actor" | "expect"> & { readonly move?: boolean } = {},
	): Promise<void> {
		return this.#mover.label(seq, name, options);
	}

	/** Takes a name away. @throws TimetravelError `TIMETRAVEL_LABEL`, `TIMETRAVEL_STALE` */
	unlabel(name: string, options: Pick<CheckoutOptions, "actor" | "expect"> = {}): Promise<void> {
		return this.#mover.unlabel(name, options);
	}

	/** All labels, by seq. */
	labels(): Promise<readonly Label[]> {
		return this.#reading.labels();
	}

	/**
	 * Removes what is older than the policy keeps: records before a checkpoint, and stored states that nothing needs. Labels and their
	 * states stay, and so do records that live work needs. No other call ever removes anything.
	 *
	 * @throws TimetravelError `TIMETRAVEL_BUSY`, `TIMETRAVEL_NOT_KEPT`, `TIMETRAVEL_UNKEPT`
	 */
	gc(policy: RetentionPolicy & { readonly dryRun?: boolean }): Promise<Collection> {
		return this.#mover.exclusively(undefined, () => this.#collecting.gc(policy));
	}

	/** Finishes what a crash has cut: a truncation after its index was written, a move between its reset and the rebuild. */
	async settle(): Promise<void> {
		await this.#reading.retained.finish();
		await this.#mover.settle();
	}
}
