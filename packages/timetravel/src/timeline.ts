/** The log as a place to move in: any state, any branch, and back. */
import type { AnyProjection, View } from "@reyn/snapshot";
import { type Appender, type Scope, type Seq, systemTimers, type WalRecord } from "@reyn/wal";
import type { Branch } from "./branches.ts";
import { Checkpoints } from "./checkpoints.ts";
import { Collecting, type Collection } from "./collecting.ts";
import type { StateDiff } from "./diff.ts";
import type { HypotheticalHistory } from "./hypothetical.ts";
import type { Lineage } from "./lineage.ts";
import type { Live } from "./live.ts";
import { type Checkout, type CheckoutOptions, Mover, type StepOptions, type Stepped } from "./moving.ts";
import type { TimelineOptions } from "./options.ts";
import { Present } from "./present.ts";
import { type Checkpoint, type Label, Reading } from "./reading.ts";
import { Retained } from "./retained.ts";
import type { RetentionPolicy } from "./retention.ts";
import { Sessions } from "./session.ts";
import type { Moved, MovedBy, MoveParts, MovePreview, Moving } from "./steps.ts";
import { TimelineIndex } from "./timeline-index.ts";
import type { Coverage, Moves } from "./undo.ts";
import { WholeLog } from "./whole-log.ts";

/**
 * Reads a log once.
 *
 * @throws TimetravelError `TIMETRAVEL_INDEX`
 */
export async function openTimeline(options: TimelineOptions): Promise<Timeline> {
	const { wal, kept: blobs, undoRules = {}, keptKinds = [] } = options;
	const retained = await Retained.open(blobs, wal);
	const timelineIndex = new TimelineIndex(wal, retained.index, undoRules, keptKinds);
	await timelineIndex.catchUp();
	return new Timeline(options, retained, timelineIndex);
}

/** Reads, moves, snaps and collects: each is a file of its own. */
export class Timeline implements Moving {
	readonly #reading: Reading;
	readonly #present: Present;
	readonly #checkpoints: Checkpoints;
	readonly #mover: Mover;
	readonly #collecting: Collecting;
	/** Those that are open; use {@link openSession}. */
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
		this.wholeLog = whole;
		this.#present = present;
		this.#checkpoints = checkpoints;
		const { timers = systemTimers, quietMs = 5000 } = options;
		this.sessions = new Sessions({
			live: (scope) => this.live(scope),
			checkpoint: (...of) => this.checkpoint(...of),
			timers,
			quietMs,
		});
		this.#mover = new Mover({ reading, present, checkpoints, sessions: this.sessions, options });
		this.#collecting = new Collecting(reading, whole, options, (seq) => checkpoints.snapped(seq));
	}

	/** The resets up to now as a value: paths, ancestry, branches. */
	get lineage(): Lineage {
		return this.#reading.lineage;
	}

	/** The first record that counts; 1 until `gc` has taken some away. */
	get retainedFrom(): Seq {
		return this.#reading.retained.retainedFrom;
	}

	/**
	 * The state of a scope at a seq, on that seq's own path: an abandoned one is as good as any.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	at(seq: Seq, scope: Scope): Promise<View> {
		return this.#reading.at(seq, scope);
	}

	/**
	 * The state of a scope as it is now, and from now on. It knows how everything ended that is open on its line of history, if any
	 * line knows that. One for each scope: whoever asks gets the same.
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

	/** The records that outlive the others, abandoned ones too, in order: resets, labels, facts, and those of `keptKinds`. */
	records(): Promise<readonly WalRecord[]> {
		return this.#reading.records();
	}

	/** The record at a seq that can be gone back to; genesis has none. */
	record(seq: Seq): Promise<WalRecord | undefined> {
		return this.#reading.record(seq);
	}

	/** Every boundary that can be gone back to, oldest first, the abandoned ones too. */
	checkpoints(scope: Scope = {}): readonly Checkpoint[] {
		return this.#reading.checkpoints(scope);
	}

	branches(): readonly Branch[] {
		return this.lineage.branches();
	}

	/**
	 * Writes a checkpoint and, once it is durable and a snapshot is due, that too: any checkpoint's state is a snapshot before
	 * it and a short replay.
	 *
	 * @param kind what ended, as {@link Checkpoint} has it: `turn`, say
	 * @param view the state of now, which has seen every record of its scope
	 * @throws TimetravelError `STALE_LINEAGE` when that is the state of a line that was left since; WalError `WAL_INVALID_RECORD` of another
	 * kind or title
	 */
	checkpoint(kind: string, title: string, scope: Scope, view: View): Promise<Seq> {
		return this.#checkpoints.checkpoint(kind, title, scope, view);
	}

	/**
	 * A log for the line of history of now: from a reset on it refuses, with `STALE_LINEAGE`, the records that the reset
	 * covers. So work that was started before a rewind cannot write after it, and work that it does not touch goes on. What it
	 * appends is in live states at once. Of what it refuses, an outcome is kept where there are `outcomes`.
	 */
	handle(): Appender {
		return this.#present.handle();
	}

	/**
	 * Does something in the moment in which nothing speaks against what was previewed: no other move, and nothing that began in
	 * the scope since then. Progress of work does not.
	 *
	 * @param expect the tip of the preview; undefined: there was none, and nothing is looked at
	 * @param act appends, or does nothing; may not be asynchronous
	 * @throws TimetravelError `TIMETRAVEL_STALE`; `act` was not called then
	 */
	ifStill<T>(expect: Seq | undefined, scope: Scope, act: () => T): Promise<T> {
		return this.#mover.ifStill(expect, scope, act);
	}

	/**
	 * The first step of a move: what going to a seq, by {@link checkout} say, would do. {@link moveWith} does the others.
	 *
	 * @param coverage what moves; default: all
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	preview(seq: Seq, coverage: Partial<Coverage> = {}): Promise<MovePreview & Pick<Checkout, "kind">> {
		return this.#mover.preview(seq, coverage);
	}

	/**
	 * What {@link undo} would do.
	 *
	 * @param options `of`: the move that is meant, by its seq; default: the newest
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
	 * The second step: writes a preview as one durable record, unless something speaks against it. All that it covers has to be quiet.
	 *
	 * @param preview as it was given, in this process or another; with `along`, if something goes along
	 * @throws TimetravelError `TIMETRAVEL_STALE`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_PRUNED`, `TIMETRAVEL_ACTOR`; nothing is written then
	 */
	write(preview: MovePreview, by: MovedBy): Promise<Moved> {
		return this.#mover.write(preview, by);
	}

	/** Moves whose reset is durable and whose rebuild nobody has finished, oldest first: after {@link write}, and at an open after a crash. */
	unsettled(): readonly Moved[] {
		return this.#mover.unsettled();
	}

	/** The third step, of what is the timeline's own: live states are made anew, and know what is known beyond the cut. Twice is once. */
	rebuild(move: Moved): Promise<void> {
		return this.#mover.rebuild(move);
	}

	/** Says that all is in line with a move, the oldest that is unsettled. One that is settled already changes nothing. */
	settled(move: Moved): void {
		this.#mover.settled(move);
	}

	/** Before a preview is written: stops the work of open sessions that it covers, and holds what would begin. `moveWith` does it. */
	quiet(preview: MovePreview): Promise<() => void> {
		return this.#mover.quiet(preview);
	}

	/**
	 * From now on `checkout`, `rewindTo`, `undo`, `redo` and `settle` do this as their second and last step, for what lies beside the
	 * sessions that are open. Default: nothing does.
	 */
	attend(parts: MoveParts): void {
		this.#mover.attend(parts);
	}

	/**
	 * One move at a time: while `work` runs, this preview alone can be written, and nothing is collected.
	 *
	 * @throws TimetravelError `TIMETRAVEL_BUSY`; `work` was not called then
	 */
	exclusively<T>(preview: MovePreview, work: () => Promise<T>): Promise<T> {
		return this.#mover.exclusively(preview, work);
	}

	/**
	 * Makes the state as of `seq` the current one: an undo when it is an ancestor of the tip, else a switch to the branch
	 * that holds it. One durable record; nothing is erased.
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
	 * Takes the newest move back that was not yet: what it covered is again as it was just before it. Moves are rewinds,
	 * labels, and what `undoRules` says.
	 *
	 * @throws TimetravelError `NOTHING_TO_UNDO`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what {@link attend} was given throws. Nothing is written then
	 */
	undo(options: StepOptions = {}): Promise<Stepped> {
		return this.#mover.step("undo", options);
	}

	/**
	 * Makes the newest move again that was taken back.
	 *
	 * @throws TimetravelError `NOTHING_TO_REDO`, `TIMETRAVEL_BUSY`, `TIMETRAVEL_STALE`; and what {@link attend} was given throws. Nothing is written then
	 */
	redo(options: StepOptions = {}): Promise<Stepped> {
		return this.#mover.step("redo", options);
	}

	/** What can be undone and redone, the newest last. */
	moves(): Promise<Moves> {
		return this.#mover.moves();
	}

	/**
	 * Names a seq.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_LABEL`, `TIMETRAVEL_STALE`
	 */
	label(seq: Seq, name: string, options: Pick<CheckoutOptions, "actor" | "expect"> = {}): Promise<void> {
		return this.#mover.label(seq, name, options);
	}

	/** All labels, by seq. */
	labels(): Promise<readonly Label[]> {
		return this.#reading.labels();
	}

	/**
	 * Takes away what is older than the policy keeps: records before a checkpoint, and stored states that nothing needs. What
	 * has a label stays, and the state of that checkpoint; what live work needs holds it back. Nothing but this ever removes
	 * anything.
	 *
	 * @throws TimetravelError `TIMETRAVEL_BUSY`, `TIMETRAVEL_NOT_KEPT`, `TIMETRAVEL_UNKEPT`
	 */
	gc(policy: RetentionPolicy & { readonly dryRun?: boolean }): Promise<Collection> {
		return this.#mover.exclusively(undefined, () => this.#collecting.gc(policy));
	}

	/** Finishes what was cut short: a truncation after its index, a move between its reset and the rebuild. Nothing to finish: does nothing. */
	async settle(): Promise<void> {
		await this.#reading.retained.finish();
		await this.#mover.settle();
	}
}
