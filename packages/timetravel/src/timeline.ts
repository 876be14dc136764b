/** The log as a place to move in: any state, any branch, and back. */
import {
	type AnyProjection,
	capture,
	restore,
	type SnapshotError,
	type SnapshotStore,
	type Sources,
	type View,
} from "@reyn/snapshot";
import {
	type Appended,
	type Appender,
	type Draft,
	type Scope,
	type Seq,
	type Wal,
	type WalRecord,
	within,
} from "@reyn/wal";
import type { Branch } from "./branches.ts";
import { TimetravelError } from "./errors.ts";
import { Lineage, type Reset } from "./lineage.ts";
import { type Coverage, type Deeds, follow, type Move, type Moves, moveKinds, noMoves } from "./moves.ts";
import { checkpoint, type checkpointKinds, isMeta, label, labelName, reset, resetSettled } from "./records.ts";

export type CheckpointKind = (typeof checkpointKinds)[number];

/** A boundary that one can go back to. */
export interface Checkpoint {
	readonly seq: Seq;
	readonly ts: number;
	readonly scope: Scope;
	readonly kind: CheckpointKind;
	/** What happened there, in a few words. */
	readonly title: string;
	/** Is it on the line of history that leads to the tip? */
	readonly active: boolean;
}

export interface CheckoutOptions {
	/** Kinds to take back to the target; absent: all. */
	readonly drop?: readonly string[];
	/** Whose records move. Default: the whole process. */
	readonly scope?: Scope;
	/** Who asked. Default: `"user"`. */
	readonly actor?: string;
	/** A name for what is meant, for people. Default: `"both"`. */
	readonly mode?: string;
	readonly counts?: Readonly<Record<string, number>>;
}

/** What a checkout did. */
export interface Checkout {
	/** `none`: the target is the tip already, and nothing was written. */
	readonly kind: "undo" | "fork_switch" | "none";
	/** The seq of the reset that was written; the tip for `none`. */
	readonly seq: Seq;
	readonly target: Seq;
	/** The seq that was asked for, where it lay inside a tool cycle: the target is then the checkpoint before it. */
	readonly snappedFrom?: Seq;
}

/** What an undo or a redo did. */
export interface Stepped {
	/** The seq of the record that was written. */
	readonly seq: Seq;
	/** The move that was taken back, or made again. */
	readonly of: Seq;
	/** The seq whose state it is now for what was moved; absent for a label. */
	readonly target?: Seq;
}

/** A name that a person gave a seq. */
export interface Label {
	readonly name: string;
	readonly seq: Seq;
}

export interface TimelineOptions {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly projections: readonly AnyProjection[];
	/** Look without writing. Default: false. */
	readonly readOnly?: boolean;
	/** Is a tool cycle open in this state: calls made, results missing? A cut is never made there. Default: never. */
	inCycle?(view: View): boolean;
	/** Stops what is under way in the scope and waits until it is quiet. If it throws, nothing is written. Default: nothing runs. */
	quiesce?(scope: Scope): Promise<void>;
	/** Is it time for a snapshot, at a checkpoint with this state? Default: `view.isDue`. */
	snapshotDue?(view: View): boolean;
	/** The snapshot of a checkpoint could not be stored; the checkpoint stands. Default: `checkpoint` throws the error. */
	snapshotFailed?(error: SnapshotError): void;
	/** Brings what is in memory in line with the log after the reset at `seq`. Doing it twice changes nothing. */
	rebuild?(seq: Seq, scope: Scope): Promise<void>;
	/** Records of yours that `undo` takes back, or after which nothing can be redone. Resets and labels are known. */
	readonly deeds?: Deeds;
}

/** Reads the resets and checkpoints of a log. */
export async function openTimeline(options: TimelineOptions): Promise<Timeline> {
	const resets: Reset[] = [];
	const checkpoints: WalRecord<CheckpointData>[] = [];
	let settled: Seq = 0;
	const kinds = [reset.kind, resetSettled.kind, checkpoint.kind];
	for await (const record of options.wal.read({ kinds: { only: kinds } })) {
		if (reset.is(record)) resets.push(asReset(record));
		if (resetSettled.is(record)) settled = record.data.reset;
		if (checkpoint.is(record)) checkpoints.push(record);
	}
	return new Timeline(options, resets, checkpoints, settled);
}

interface CheckpointData {
	readonly kind: CheckpointKind;
	readonly title: string;
}

export class Timeline {
	readonly #wal: Wal;
	readonly #sources: Sources;
	readonly #options: TimelineOptions;
	readonly #checkpoints: WalRecord<CheckpointData>[];
	#lineage: Lineage;
	#settled: Seq;
	#moving = false;
	/** As of `#movesSeen`: records that come later are read when they are asked for. */
	#moves = noMoves;
	#labels: ReadonlyMap<string, Seq> = new Map();
	#movesSeen: Seq = 0;

	/** Use {@link openTimeline}. */
	constructor(
		options: TimelineOptions,
		resets: readonly Reset[],
		checkpoints: readonly WalRecord<CheckpointData>[],
		settled: Seq,
	) {
		this.#options = options;
		this.#wal = options.wal;
		this.#sources = options;
		this.#checkpoints = [...checkpoints];
		this.#lineage = new Lineage(resets, options.wal.tip, { isMeta });
		this.#settled = settled;
	}

	/** The resets up to now as a value: paths, ancestry, branches. */
	get lineage(): Lineage {
		if (this.#lineage.tip !== this.#wal.tip) this.#lineage = this.#lineage.advance(this.#wal.tip);
		return this.#lineage;
	}

	/**
	 * The state of a scope at a seq, on that seq's own path: an abandoned one is as good as any.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	async at(seq: Seq, scope: Scope): Promise<View> {
		this.#assertInRange(seq);
		return restore(this.#sources, this.lineage.path(seq, scope));
	}

	/** The records that count at the tip, in order. */
	async *history(after: Seq = 0, scope: Scope = {}): AsyncIterable<WalRecord> {
		const { lineage } = this;
		for await (const record of this.#wal.read({ after, scope })) if (lineage.isActive(record)) yield record;
	}

	/** Every boundary, oldest first, the abandoned ones too. */
	checkpoints(scope: Scope = {}): readonly Checkpoint[] {
		const { lineage } = this;
		return this.#checkpoints
			.filter((record) => within(record.scope, scope))
			.map((record) => ({
				seq: record.seq,
				ts: record.ts,
				scope: record.scope,
				...record.data,
				active: lineage.isActive(record),
			}));
	}

	branches(): readonly Branch[] {
		return this.lineage.branches();
	}

	/**
	 * Writes a checkpoint and, once it is durable and a snapshot is due, that too: any checkpoint's state is a snapshot before
	 * it and a short replay. `view` is asked for the state at that record.
	 */
	async checkpoint(kind: CheckpointKind, title: string, scope: Scope, view: () => View): Promise<Seq> {
		const { seq, record, durable } = this.#wal.append(checkpoint({ kind, title }), scope);
		const state = view().at(seq);
		this.#checkpoints.push(record as WalRecord<CheckpointData>);
		await durable;
		if (!(this.#options.snapshotDue?.(state) ?? state.isDue)) return seq;
		try {
			await capture(this.#sources, state);
		} catch (error) {
			if (!isOfSnapshots(error) || !this.#options.snapshotFailed) throw error;
			this.#options.snapshotFailed(error);
		}
		return seq;
	}

	/**
	 * A log for one line of history: it appends until a reset moves the scope away from that line, and from then on
	 * refuses with `STALE_LINEAGE`. So work that was started before a rewind cannot write after it.
	 */
	handle(scope: Scope): Appender {
		const bound = this.#lastMove(scope);
		return {
			append: (draft: Draft, at: Scope): Appended => {
				const moved = this.#lastMove(scope);
				if (moved !== bound) {
					throw new TimetravelError(
						"STALE_LINEAGE",
						`this work belongs to a line of history that was left by the rewind at seq ${moved}; its records may not land on the new one`,
						{ reset: moved, kind: draft.kind },
					);
				}
				return this.#wal.append(draft, at);
			},
		};
	}

	/**
	 * What a checkout of `seq` would do, without doing it.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	async preview(
		seq: Seq,
		{ drop, scope = {} }: CheckoutOptions = {},
	): Promise<Pick<Checkout, "kind" | "target" | "snappedFrom">> {
		this.#assertInRange(seq);
		const target = await this.#snapped(seq);
		const snapped = target === seq ? {} : { snappedFrom: seq };
		if (target === this.#wal.tip) return { kind: "none", target, ...snapped };
		return { kind: this.lineage.isAncestor(target, scope, drop) ? "undo" : "fork_switch", target, ...snapped };
	}

	/**
	 * Makes the state as of `seq` the current one: an undo when it is an ancestor of the tip, else a switch to the branch
	 * that holds it. One durable record; nothing is erased.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_BUSY`; and what `quiesce` throws. Nothing is written then
	 */
	async checkout(seq: Seq, options: CheckoutOptions = {}): Promise<Checkout> {
		const { drop, scope = {}, actor = "user", mode = "both", counts } = options;
		return this.#alone(async () => {
			const planned = await this.preview(seq, options);
			if (planned.kind === "none") return { ...planned, seq: this.#wal.tip };
			const how = { mode, actor, ...(counts ? { counts: { ...counts } } : {}) };
			return { ...planned, seq: await this.#reset(planned.target, { scope, ...(drop ? { drop } : {}) }, how) };
		});
	}

	/**
	 * Takes the newest move back that was not yet: what it covered is again as it was just before it. Moves are rewinds,
	 * labels, and what `deeds` says.
	 *
	 * @throws TimetravelError `NOTHING_TO_UNDO`, `TIMETRAVEL_BUSY`; and what `quiesce` throws. Nothing is written then
	 */
	undo({ actor = "user" }: { actor?: string } = {}): Promise<Stepped> {
		return this.#alone(async () => {
			const move = (await this.moves()).past.at(-1);
			if (!move) throw this.#nothing("undo");
			return this.#step(move, { actor, undoes: move.seq });
		});
	}

	/**
	 * Makes the newest move again that was taken back.
	 *
	 * @throws TimetravelError `NOTHING_TO_REDO`, `TIMETRAVEL_BUSY`; and what `quiesce` throws. Nothing is written then
	 */
	redo({ actor = "user" }: { actor?: string } = {}): Promise<Stepped> {
		return this.#alone(async () => {
			const move = (await this.moves()).future.at(-1);
			if (!move) throw this.#nothing("redo");
			return this.#step(move, { actor, redoes: move.seq });
		});
	}

	/** What can be undone and redone, the newest last. */
	async moves(): Promise<Moves> {
		await this.#readMoves();
		return this.#moves;
	}

	/**
	 * Names a seq.
	 *
	 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_LABEL`
	 */
	async label(seq: Seq, name: string, { actor = "user" }: { actor?: string } = {}): Promise<void> {
		this.#assertInRange(seq);
		const { error } = labelName.safeParse(name);
		if (error)
			throw new TimetravelError(
				"TIMETRAVEL_LABEL",
				`"${name}" cannot be a label: expected ${error.issues[0]?.message}`,
				{ name },
			);
		await this.#alone(async () => {
			await this.#readMoves();
			const known = this.#labels.get(name);
			if (known !== undefined)
				throw new TimetravelError(
					"TIMETRAVEL_LABEL",
					`"${name}" is the label of seq ${known} already; choose another`,
					{ name, seq: known },
				);
			await this.#wal.append(label({ name, target: seq, actor }), {}).durable;
		});
	}

	/** All labels, by seq. */
	async labels(): Promise<readonly Label[]> {
		await this.#readMoves();
		return [...this.#labels].map(([name, seq]) => ({ name, seq })).sort((a, b) => a.seq - b.seq);
	}

	/** Finishes the moves that were cut short between their reset and the rebuild. Nothing to finish: does nothing. */
	async settle(): Promise<void> {
		for (const { seq, scope } of this.#lineage.resets.filter((each) => each.seq > this.#settled)) {
			await this.#options.rebuild?.(seq, scope);
			await this.#wal.append(resetSettled({ reset: seq }), {}).durable;
			this.#settled = seq;
		}
	}

	/**
	 * An undo only: refuses a seq that is not on the line of history that leads to the tip.
	 *
	 * @throws TimetravelError `TIMETRAVEL_NOT_ACTIVE`, and as {@link checkout}
	 */
	async rewindTo(seq: Seq, options: CheckoutOptions = {}): Promise<Checkout> {
		const { kind } = await this.preview(seq, options);
		if (kind === "fork_switch") {
			const branch = this.branches().findLast(({ first }) => first <= seq)?.name;
			throw new TimetravelError(
				"TIMETRAVEL_NOT_ACTIVE",
				`seq ${seq} lies on the abandoned branch ${branch}; a rewind stays on the current one. Use checkout to go there`,
				{ seq, branch },
			);
		}
		return this.checkout(seq, options);
	}

	/** One durable reset, and all that is in memory brought in line with it. */
	async #reset(
		target: Seq,
		{ scope, drop }: Coverage,
		how: Omit<Parameters<typeof reset>[0], "target" | "drop">,
	): Promise<Seq> {
		await this.#options.quiesce?.(scope);
		const { seq, record, durable } = this.#wal.append(
			reset({ target, ...(drop ? { drop: [...drop] } : {}), ...how }),
			scope,
		);
		this.#lineage = this.lineage.with(asReset(record as WalRecord<ResetData>));
		await durable;
		await this.settle();
		return seq;
	}

	async #step({ seq, inverse }: Move, by: { actor: string; undoes?: Seq; redoes?: Seq }): Promise<Stepped> {
		if (inverse.kind === "label") {
			const { name, target } = inverse;
			const gone = by.undoes === undefined ? {} : { gone: true };
			const appended = this.#wal.append(label({ name, target, ...gone, ...by }), {});
			await appended.durable;
			return { seq: appended.seq, of: seq };
		}
		const mode = by.undoes === undefined ? "redo" : "undo";
		return { seq: await this.#reset(seq - 1, inverse, { mode, ...by }), of: seq, target: seq - 1 };
	}

	/** One move at a time. */
	async #alone<T>(move: () => Promise<T>): Promise<T> {
		if (this.#moving)
			throw new TimetravelError("TIMETRAVEL_BUSY", "another rewind is under way; wait until it is done");
		this.#moving = true;
		try {
			return await move();
		} finally {
			this.#moving = false;
		}
	}

	async #readMoves(): Promise<void> {
		const { deeds = {} } = this.#options;
		const { durableTip: tip } = this.#wal;
		if (tip === this.#movesSeen) return;
		const labels = new Map(this.#labels);
		const moves = { past: [...this.#moves.past], future: [...this.#moves.future] };
		for await (const record of this.#wal.read({
			after: this.#movesSeen,
			through: tip,
			kinds: { only: moveKinds(deeds) },
		})) {
			follow(moves, record, deeds);
			if (!label.is(record)) continue;
			if (record.data.gone) labels.delete(record.data.name);
			else labels.set(record.data.name, record.data.target);
		}
		[this.#moves, this.#labels, this.#movesSeen] = [moves, labels, tip];
	}

	#nothing(verb: "undo" | "redo"): TimetravelError {
		const branches = this.branches().map(({ name, last }) => `${name} (to seq ${last})`);
		return new TimetravelError(
			verb === "undo" ? "NOTHING_TO_UNDO" : "NOTHING_TO_REDO",
			`there is nothing to ${verb}; to go elsewhere, check out one of ${branches.slice(-8).join(", ")}`,
			{ branches: this.branches().map(({ name }) => name) },
		);
	}

	/** A cut inside a tool cycle would leave calls without results: go to the checkpoint before, on the same path. */
	async #snapped(seq: Seq): Promise<Seq> {
		const { inCycle } = this.#options;
		if (!inCycle || seq === 0) return seq;
		const owner = await this.#scopeAt(seq);
		if (!owner || !inCycle(await this.at(seq, owner))) return seq;
		const path = this.lineage.path(seq, owner);
		for (const record of this.#checkpoints.toReversed()) {
			if (record.seq >= seq || !within(record.scope, owner) || !path.has(record)) continue;
			// A plan in the background may have cut it inside the same cycle.
			if (!inCycle(await this.at(record.seq, owner))) return record.seq;
		}
		return 0;
	}

	/** The session that a record belongs to, if it belongs to one. */
	async #scopeAt(seq: Seq): Promise<Scope | undefined> {
		for await (const { scope } of this.#wal.read({ after: seq - 1, through: seq })) {
			const { agent, session } = scope;
			return agent !== undefined && session !== undefined ? { agent, session } : undefined;
		}
		return undefined;
	}

	#lastMove(scope: Scope): Seq {
		return this.#lineage.resets.findLast((each) => within(scope, each.scope) || within(each.scope, scope))?.seq ?? 0;
	}

	#assertInRange(seq: Seq): void {
		const { tip } = this.#wal;
		if (Number.isSafeInteger(seq) && seq >= 0 && seq <= tip) return;
		throw new TimetravelError(
			"TIMETRAVEL_OUT_OF_RANGE",
			`there is no seq ${seq}; this log has 0 (genesis) to ${tip} (the tip)`,
			{ seq, first: 0, last: tip },
		);
	}
}

type ResetData = { target: Seq; drop?: string[] | undefined };

function asReset({ seq, scope, data }: WalRecord<ResetData>): Reset {
	return { seq, scope, target: data.target, ...(data.drop ? { drop: data.drop } : {}) };
}

const isOfSnapshots = (error: unknown): error is SnapshotError =>
	String((error as { code?: unknown }).code).startsWith("SNAPSHOT_");
