/** Makes moves (checkouts, undo, redo, labels): one at a time, only as previewed, and settled once memory agrees with the log. */
import type { Draft, Scope, Seq, WalRecord } from "@reyn/wal";
import { assertActor, type Beginnings, speaksAgainst } from "./bound.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { assertCoverage } from "./coverage.ts";
import { TimetravelError } from "./errors.ts";
import type { TimelineOptions } from "./options.ts";
import type { Present } from "./present.ts";
import type { Reading, Window } from "./reading.ts";
import { recordAt } from "./record-at.ts";
import { label, labelName, reset, resetSettled } from "./records.ts";
import type { Sessions } from "./session.ts";
import {
	allQuiet,
	type Moved,
	type MovedBy,
	type MoveParts,
	type MovePreview,
	type Moving,
	moveWith,
	settleWith,
} from "./steps.ts";
import { type Coverage, coversNothing, type Move, type Moves, moveKinds } from "./undo.ts";

export interface CheckoutOptions {
	/** The kinds of record to take back to the target; absent: all. */
	readonly drop?: readonly string[];
	/** The scope whose records move. Default: the whole process. */
	readonly scope?: Scope;
	/** Who asked, in 1 to 256 bytes. Default: `"user"`. */
	readonly actor?: string;
	/** The tip of the confirmed preview: if a later record makes it stale, the move fails with `TIMETRAVEL_STALE`. Absent: no check. */
	readonly expect?: Seq;
	/** A name of the kind of rewind, for people. Default: `"both"`. */
	readonly mode?: string;
	/** Numbers for people, which the reset keeps. A function is asked once what is covered is quiet: what that has still written is in them. */
	readonly counts?: MovedBy["counts"] | (() => Promise<MovedBy["counts"]>);
	/** Says what goes along outside the log, once all work is quiet: `along` of a {@link MovePreview}. If it throws, nothing is written. */
	along?(): Promise<MovePreview["along"]>;
	/** Does all work stop for it, and not only what it covers: for what goes along and belongs to all? Default: no. */
	readonly stopsAll?: boolean;
}

export interface StepOptions {
	/** Who asked, in 1 to 256 bytes. Default: `"user"`. */
	readonly actor?: string;
	/** The seq of the confirmed move: if another one is the newest, it is `TIMETRAVEL_STALE`. Absent: the newest, whichever it is. */
	readonly of?: Seq;
	/** The tip of the confirmed preview, as for a checkout. Default, with `of`: the present tip. */
	readonly expect?: Seq;
	/**
	 * The seq of a move further back: all down to that one are taken back, or made again, with all work quiet, or none is. Each is a
	 * record of its own: where a crash or a full disk comes between, the others can still be. Absent: one.
	 */
	readonly to?: Seq;
	/** As for a checkout; it gets the seq of the move that is taken back, or made again. Of a label nothing goes along. */
	along?(of: Seq): Promise<MovePreview["along"]>;
	/** As for a checkout; it gets the same seq. Of several all work stops in any case. */
	stopsAll?(of: Seq): Promise<boolean>;
}

/** A move that stays where it is: see {@link Mover.stay}. */
export type StayOptions = Required<Pick<CheckoutOptions, "actor" | "mode" | "along">> & Pick<CheckoutOptions, "expect">;

/** What a checkout did. */
export interface Checkout {
	/** `none`: the target is the tip already, and nothing was written. */
	readonly kind: "undo" | "fork_switch" | "none";
	/** The seq of the reset that was written; the tip for `none`. */
	readonly seq: Seq;
	readonly target: Seq;
	/** The seq that was asked for, if it lies inside a tool cycle: the target is then just before its calls. */
	readonly snappedFrom?: Seq;
}

/** What an undo or a redo did. */
export interface Stepped {
	/** The seq of the record that was written. */
	readonly seq: Seq;
	/** The move that was taken back, or made again; of several, the last. */
	readonly of: Seq;
	/** Of several, all of them, in that order. */
	readonly all?: readonly Seq[];
	/** The seq whose state is now the current one for the classes that moved; absent for a label. */
	readonly target?: Seq;
}

export interface MoverPorts {
	readonly reading: Reading;
	readonly present: Present;
	readonly checkpoints: Checkpoints;
	readonly sessions: Sessions;
	readonly options: Pick<TimelineOptions, "undoRules" | "begins">;
}

export class Mover implements Moving {
	readonly #reading: Reading;
	readonly #present: Present;
	readonly #checkpoints: Checkpoints;
	readonly #sessions: Sessions;
	#parts: MoveParts = alone;
	readonly #beginnings: Beginnings;
	/** Resolves when the move under way has ended. */
	#moving: Promise<void> | undefined;
	/** The only preview that may be written during that move. */
	#held: MovePreview | undefined;
	/** Moves whose rebuild is not finished, oldest first. */
	#unsettled: readonly Moved[];

	constructor({ reading, present, checkpoints, sessions, options }: MoverPorts) {
		this.#reading = reading;
		this.#present = present;
		this.#checkpoints = checkpoints;
		this.#sessions = sessions;
		this.#beginnings = { undoRules: options.undoRules ?? {}, begins: options.begins };
		const { retained, settled } = reading.timelineIndex;
		this.#unsettled = retained.flatMap((record) => (reset.is(record) && record.seq > settled ? [movedOf(record)] : []));
	}

	async preview(seq: Seq, { drop, scope = {} }: Partial<Coverage> = {}): Promise<MovePreview & Pick<Checkout, "kind">> {
		// Taken now: records that come while the preview is worked out are not in it.
		const { lineage } = this.#reading;
		const { tip } = lineage;
		this.#reading.retained.assertHas(seq);
		const coverage = { scope, ...(drop ? { drop } : {}) };
		assertCoverage(coverage);
		// A move that covers nothing cuts no tool cycle: what goes along with it does so as of that very seq.
		const target = coversNothing(coverage) ? seq : await this.#checkpoints.snapped(seq);
		const where = { target, ...(target === seq ? {} : { snappedFrom: seq }), coverage, tip };
		if (target === tip) return { kind: "none", ...where };
		this.#reading.retained.assertCanGo({ target, ...coverage }, lineage, this.#reading.folded);
		return { kind: lineage.isAncestor(target, scope, drop) ? "undo" : "fork_switch", ...where };
	}

	/** @param expect see {@link ifStill}; checked before any other reason to refuse */
	async previewStep(verb: "undo" | "redo", of?: Seq, expect?: Seq): Promise<MovePreview> {
		// Waits until queued records are durable: the stacks are folded from durable records only.
		await recordAt(this.#reading.wal, this.#reading.wal.tip);
		const newest = (await this.#stack(verb)).at(-1);
		const move = newest && this.#isLeft(verb, newest) ? newest : undefined;
		// The tip of the stacks: a move that came later is not in them.
		const { seen: tip } = this.#reading.timelineIndex;
		if (of !== undefined && move?.seq !== of)
			throw new TimetravelError(
				"TIMETRAVEL_STALE",
				`${verb} was asked of what was done at seq ${of}, and ${move ? `seq ${move.seq} is next` : "there is none any more"}; look again what it would be`,
				{ of, ...(move ? { newest: move.seq } : {}) },
			);
		// Checked before any work is stopped for it.
		await this.ifStill(expect, move ? scopeOf(move) : {}, () => {});
		if (!move) throw this.#nothing(verb);
		const { seq, inverse } = move;
		const step = { tip, [verb === "undo" ? "undoes" : "redoes"]: seq };
		if (inverse.kind === "label") {
			const { name, target } = inverse;
			const back = backOf(verb, inverse);
			const moved = back === null ? { target, gone: true as const } : { target: back };
			const was = back === null || back === target ? {} : { was: target };
			return { kind: "label", ...moved, ...was, coverage: { scope: {}, drop: [] }, label: name, ...step };
		}
		const { kind: _, ...coverage } = inverse;
		const target = seq - 1;
		this.#reading.retained.assertCanGo({ target, ...coverage }, this.#reading.lineage, this.#reading.folded);
		const isUndo = this.#reading.lineage.isAncestor(target, coverage.scope, coverage.drop);
		return { kind: isUndo ? "undo" : "fork_switch", target, coverage, ...step };
	}

	quiet({ coverage }: MovePreview): Promise<() => void> {
		return this.#sessions.quiet(coverage);
	}

	async write(preview: MovePreview, by: MovedBy): Promise<Moved> {
		if (this.#held !== preview) return this.exclusively(preview, () => this.write(preview, by));
		if (preview.kind === "none") throw new RangeError("a preview of no move cannot be written; leave it");
		assertCoverage(preview.coverage);
		// The preview may be older than a truncation.
		if (!preview.gone) this.#reading.retained.assertHas(preview.target);
		if (preview.kind !== "label")
			this.#reading.retained.assertCanGo(
				{ target: preview.target, ...preview.coverage },
				this.#reading.lineage,
				this.#reading.folded,
			);
		return this.#write(preview, by, preview.tip);
	}

	unsettled(): readonly Moved[] {
		return this.#unsettled;
	}

	rebuild(move: Moved): Promise<void> {
		return this.#present.rebuild(move);
	}

	settled({ seq }: Moved): void {
		const [oldest] = this.#unsettled;
		if (!this.#unsettled.some((each) => each.seq === seq)) return;
		if (oldest?.seq !== seq)
			throw new RangeError(`expected the move at seq ${oldest?.seq} to be settled first; got that at seq ${seq}`);
		// Not awaited: if it is lost, the next start settles the move again, which changes nothing.
		this.#present.append(resetSettled({ reset: seq }), {});
		this.#unsettled = this.#unsettled.slice(1);
	}

	/** @param preview the only preview that may be written meanwhile; undefined: none, except what `work` writes by itself */
	async exclusively<T>(preview: MovePreview | undefined, work: () => Promise<T>): Promise<T> {
		if (this.#moving)
			throw new TimetravelError("TIMETRAVEL_BUSY", "another rewind is under way; wait until it is done");
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#moving = promise;
		this.#held = preview;
		try {
			return await work();
		} finally {
			this.#moving = undefined;
			this.#held = undefined;
			resolve();
		}
	}

	attend(parts: MoveParts): void {
		this.#parts = parts;
	}

	/** Finishes the moves that a crash cut short. */
	settle(): Promise<void> {
		return settleWith(this.#parts.rebuild, this);
	}

	go(seq: Seq, options: CheckoutOptions, { onlyUndo }: { onlyUndo: boolean }): Promise<Checkout> {
		const { drop, scope = {}, actor = "user", mode = "both", expect, stopsAll } = options;
		return this.exclusively(undefined, async () => {
			assertActor(actor);
			// Records that come while work stops change neither kind nor target: only a reset could, and moves are exclusive.
			const preview = await this.preview(seq, { scope, ...(drop ? { drop } : {}) });
			const { target, snappedFrom } = preview;
			// Checked before any work is stopped.
			await this.ifStill(expect, scope, () => {});
			if (expect !== undefined && target > expect) throw this.#stale(expect, { seq: target });
			// Going to the confirmed tip itself takes nothing back, even if work has gone on since.
			const isNone = target === (expect ?? preview.tip);
			if (!isNone && onlyUndo && preview.kind === "fork_switch") throw this.#notActive(seq);
			const steps = this.#steps(expect, options);
			const moved = isNone
				? undefined
				: await moveWith(this.#parts, steps, stopping(preview, stopsAll), { mode, actor });
			return {
				kind: moved ? preview.kind : "none",
				seq: moved?.seq ?? this.#reading.wal.tip,
				target,
				...(snappedFrom === undefined ? {} : { snappedFrom }),
			};
		});
	}

	/**
	 * A move that takes nothing back: all work is quiet, and what goes along with it changes. `undo` of it leads back to here, in all of the log.
	 *
	 * @returns the seq of its reset
	 */
	stay({ actor, mode, expect, along }: StayOptions): Promise<Seq> {
		return this.exclusively(undefined, async () => {
			assertActor(actor);
			// Checked before any work is stopped.
			await this.ifStill(expect, {}, () => {});
			const { tip } = this.#reading.wal;
			const preview: MovePreview = { kind: "undo", target: tip, coverage: { scope: {} }, tip };
			const steps: Moving = {
				...this.#steps(expect, { along }),
				write: async (at, by) => this.#write(await taking(at, along()), by, expect, "where it is"),
			};
			const moved = await moveWith(this.#parts, steps, preview, { mode, actor });
			return (moved as Moved).seq;
		});
	}

	async step(
		verb: "undo" | "redo",
		{ actor = "user", of, to, expect, along, stopsAll }: StepOptions,
	): Promise<Stepped> {
		const held: (() => void)[] = [];
		try {
			return await this.exclusively(undefined, async () => {
				assertActor(actor);
				let bound = expect ?? (of === undefined ? undefined : this.#reading.wal.tip);
				if (to !== undefined) {
					// Checked before any work is stopped.
					const { tip } = await this.previewStep(verb, of, bound);
					await this.#assertReaches(verb, to);
					held.push(await allQuiet(this.#parts, this, { kind: "undo", target: 0, coverage: { scope: {} }, tip }));
				}
				const all: Seq[] = [];
				for (let newest = of; ; newest = undefined) {
					const preview =
						to === undefined
							? await this.#quietStep(verb, newest, bound, held, stopsAll)
							: await this.previewStep(verb, newest, bound);
					const move = (preview.undoes ?? preview.redoes) as Seq;
					const isMove = preview.kind !== "label";
					const { seq } = await this.#write(isMove ? await taking(preview, along?.(move)) : preview, { actor }, bound);
					if (isMove) await this.settle();
					all.push(move);
					if (to === undefined || move === to)
						return { seq, of: move, ...(to !== undefined && { all }), ...(isMove && { target: preview.target }) };
					// What this one has written is no reason to refuse the next one.
					bound = seq;
				}
			});
		} finally {
			// Last: work that begins again may ask for another move.
			for (const over of held) over();
		}
	}

	async moves({ limit = Number.POSITIVE_INFINITY }: Pick<Window, "limit"> = {}): Promise<Moves> {
		return {
			past: this.#possible("undo", await this.#stack("undo"), limit),
			future: this.#possible("redo", await this.#stack("redo"), limit),
		};
	}

	async label(
		seq: Seq,
		name: string,
		{ actor = "user", expect, move = false }: Pick<CheckoutOptions, "actor" | "expect"> & { readonly move?: boolean },
	): Promise<void> {
		assertActor(actor);
		this.#reading.retained.assertHas(seq);
		const why = whyNoLabel(name);
		if (why !== undefined) throw noLabel(`${shown(name)} cannot be a label: ${why}`, { name });
		await this.#relabel(
			expect,
			(was) => {
				if (was === seq || (was !== undefined && !move))
					throw noLabel(
						`"${name}" is the label of seq ${was} already; ${was === seq ? "nothing was written" : "choose another, or move it"}`,
						{ name, seq: was },
					);
				if (was === undefined && move) throw this.#unknownLabel(name);
				return { name, target: seq, actor, ...given({ was }) };
			},
			name,
		);
	}

	async unlabel(name: string, { actor = "user", expect }: Pick<CheckoutOptions, "actor" | "expect">): Promise<void> {
		assertActor(actor);
		await this.#relabel(
			expect,
			(target) => {
				if (target === undefined) throw this.#unknownLabel(name);
				return { name, target, gone: true, actor };
			},
			name,
		);
	}

	/** @param change gets the seq that the name has; what it throws refuses the change, and nothing is written */
	async #relabel(
		expect: Seq | undefined,
		change: (target: Seq | undefined) => Parameters<typeof label>[0],
		name: string,
	): Promise<void> {
		await this.exclusively(undefined, async () => {
			await this.#reading.timelineIndex.catchUp();
			const changed = label(change(this.#reading.timelineIndex.labels.get(name)));
			const { durable } = await this.ifStill(expect, {}, () => this.#present.append(changed, {}));
			await durable;
		});
	}

	#unknownLabel(name: string): TimetravelError {
		const names = [...this.#reading.timelineIndex.labels.keys()];
		const there = names.length > 0 ? `there are ${names.slice(-8).join(", ")}` : "there is none";
		return noLabel(`there is no label ${shown(name)}; ${there}`, { name });
	}

	async ifStill<T>(expect: Seq | undefined, scope: Scope, act: () => T): Promise<T> {
		if (expect === undefined) return act();
		const { tip } = this.#reading.wal;
		if (!Number.isSafeInteger(expect) || expect < this.#reading.retained.retainedFrom - 1 || expect > tip)
			throw new TimetravelError(
				"TIMETRAVEL_STALE",
				`nothing can be said of what came since seq ${expect}: this log has ${this.#reading.retained.retainedFrom} to ${tip}. Preview it again`,
				{ previewed: expect, first: this.#reading.retained.retainedFrom, last: tip },
			);
		const heard: WalRecord[] = [];
		this.#present.listening.add(heard);
		try {
			let seen = expect;
			const judge = (record: WalRecord): void => {
				if (speaksAgainst(record, scope, this.#beginnings)) throw this.#stale(expect, record);
				seen = record.seq;
			};
			for (;;) {
				const { tip: through } = this.#reading.wal;
				const dataOf = moveKinds(this.#beginnings.undoRules);
				for await (const record of this.#reading.wal.read({ after: seen, through, dataOf })) judge(record);
				// From here to `act` all is synchronous: `heard` has every record since, or the loop reads on.
				for (const record of heard) if (record.seq === seen + 1) judge(record);
				// A full disk is not waited for: `act` appends, and the append says that the disk is full.
				if (seen === this.#reading.wal.tip || this.#reading.wal.durableTip < through) return act();
			}
		} finally {
			this.#present.listening.delete(heard);
		}
	}

	/** The steps of a move that already has the timeline to itself. `expect` binds it to its preview. */
	#steps(expect: Seq | undefined, options: Pick<CheckoutOptions, "along" | "counts">): Moving {
		return {
			exclusively: (_, work) => work(),
			quiet: (preview) => this.quiet(preview),
			write: async (preview, by) => {
				const { counts: of } = options;
				const counts = typeof of === "function" ? await of() : of;
				return this.#write(await taking(preview, options.along?.()), { ...by, ...given({ counts }) }, expect);
			},
			unsettled: () => this.unsettled(),
			rebuild: (move) => this.rebuild(move),
			settled: (move) => this.settled(move),
		};
	}

	/** Writes the move as one durable record. */
	async #write(asked: MovePreview, by: MovedBy, expect: Seq | undefined, to?: "where it is"): Promise<Moved> {
		assertActor(by.actor);
		const { scope } = asked.coverage;
		let preview = asked;
		const { seq, durable } = await this.ifStill(expect, scope, () => {
			if (preview.kind === "label") return this.#present.append(labelOf(preview, by), {});
			// Work that has stopped meanwhile has left records, which count.
			if (to) preview = { ...preview, target: this.#reading.wal.tip };
			const appended = this.#present.append(resetOf(preview, by), scope);
			this.#reading.moved(appended.record);
			return appended;
		});
		await durable;
		const { target, coverage, undoes, redoes, label: name, along } = preview;
		const moved = { seq, target, coverage, ...given({ undoes, redoes, label: name, along }) };
		if (preview.kind !== "label") this.#unsettled = [...this.#unsettled, moved];
		return moved;
	}

	/**
	 * Finds the move to undo or redo, and stops the work that it covers. Stopping takes time, in which a person may make another move:
	 * so the stacks are asked again until the newest move is the one that is quiet.
	 *
	 * @param held gets the functions that let work begin again
	 */
	async #quietStep(
		verb: "undo" | "redo",
		of: Seq | undefined,
		expect: Seq | undefined,
		held: (() => void)[],
		stopsAll: StepOptions["stopsAll"],
	): Promise<MovePreview> {
		let quiet: Seq | undefined;
		for (;;) {
			const preview = await this.previewStep(verb, of, expect);
			const move = (preview.undoes ?? preview.redoes) as Seq;
			if (preview.kind === "label" || move === quiet) return preview;
			held.push(await allQuiet(this.#parts, this, stopping(preview, await stopsAll?.(move))));
			quiet = move;
		}
	}

	async #stack(verb: "undo" | "redo"): Promise<readonly Move[]> {
		await this.#reading.timelineIndex.catchUp();
		const { past, future } = this.#reading.timelineIndex.moves;
		return verb === "undo" ? past : future;
	}

	/** Of the moves after the newest one that needs a seq which was collected (the others cannot be made any more) the newest so many. */
	#possible(verb: "undo" | "redo", moves: readonly Move[], limit: number): readonly Move[] {
		const from = moves.findLastIndex((move) => !this.#isLeft(verb, move)) + 1;
		return moves.slice(Math.max(from, moves.length - limit));
	}

	/** Is the seq there that the move leads back to? Else `gc` took it away. */
	#isLeft(verb: "undo" | "redo", { seq, inverse }: Move): boolean {
		const needed = inverse.kind === "reset" ? seq - 1 : backOf(verb, inverse);
		return needed === null || this.#reading.retained.has(needed);
	}

	/** @throws TimetravelError `NOTHING_TO_UNDO`, `NOTHING_TO_REDO` */
	async #assertReaches(verb: "undo" | "redo", to: Seq): Promise<void> {
		const moves = this.#possible(verb, await this.#stack(verb), Number.POSITIVE_INFINITY).map(({ seq }) => seq);
		if (moves.includes(to)) return;
		throw new TimetravelError(
			verb === "undo" ? "NOTHING_TO_UNDO" : "NOTHING_TO_REDO",
			`at seq ${to} there is nothing to ${verb}; there is at ${moves.toReversed().slice(0, 8).join(", ") || "none"}. Nothing was written`,
			{ to, moves },
		);
	}

	#stale(previewed: Seq, { seq, kind = "it" }: { readonly seq: Seq; readonly kind?: string }): TimetravelError {
		return new TimetravelError(
			"TIMETRAVEL_STALE",
			`this was previewed at seq ${previewed}, and ${kind} came at seq ${seq}; nothing was written. Preview it again`,
			{ previewed, seq, kind },
		);
	}

	#notActive(seq: Seq): TimetravelError {
		const branch = this.#reading.lineage.branches().findLast(({ first }) => first <= seq)?.name;
		return new TimetravelError(
			"TIMETRAVEL_NOT_ACTIVE",
			`seq ${seq} lies on the abandoned branch ${branch}; a rewind stays on the current one. Use checkout to go there`,
			{ seq, branch },
		);
	}

	#nothing(verb: "undo" | "redo"): TimetravelError {
		const { lineage, retained } = this.#reading;
		const left = lineage.branches().filter(({ last }) => retained.has(last));
		const branches = left.map(({ name, last }) => `${name} (to seq ${last})`);
		return new TimetravelError(
			verb === "undo" ? "NOTHING_TO_UNDO" : "NOTHING_TO_REDO",
			`there is nothing to ${verb}; to go elsewhere, check out one of ${branches.slice(-8).join(", ")}`,
			{ branches: left.map(({ name }) => name) },
		);
	}
}

/** The default parts of a move: nothing lies beside the log. */
const alone: MoveParts = { quiet: async () => () => {}, rebuild: async () => {} };

/** The preview, by which all work stops. */
const stopping = (preview: MovePreview, isAll: boolean | undefined): MovePreview =>
	isAll ? { ...preview, stopsAll: true } : preview;

/** The preview, with what goes along. */
async function taking(preview: MovePreview, going: Promise<MovePreview["along"]> | undefined): Promise<MovePreview> {
	const along = await going;
	return along ? { ...preview, along } : preview;
}

/** The seq that a label has once the move is taken back, or made again; null: none. */
const backOf = (verb: "undo" | "redo", { target, back }: Extract<Move["inverse"], { kind: "label" }>): Seq | null =>
	back === undefined ? (verb === "undo" ? null : target) : back;

const noLabel = (message: string, detail: Record<string, unknown>): TimetravelError =>
	new TimetravelError("TIMETRAVEL_LABEL", message, detail);

/** Undefined: it can be one. */
function whyNoLabel(name: string): string | undefined {
	const { error } = labelName.safeParse(name);
	if (!error) return undefined;
	if (/^(main|b\d+)$/.test(name)) return "it is how a branch is named; choose another name";
	if (/^\d+$/.test(name)) return "it would be read as a seq; choose a name with a letter";
	if (/^[._-]/.test(name)) return `it begins with "${name[0]}"; a label begins with a letter or a digit`;
	return `expected ${error.issues[0]?.message}`;
}

/** A name that somebody gave: it may be long, and hold what acts on a terminal. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 64).replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?"));

const scopeOf = ({ inverse }: Move): Scope => (inverse.kind === "reset" ? inverse.scope : {});

type ResetData = Parameters<typeof reset>[0];

function movedOf({ seq, scope, data }: WalRecord<ResetData>): Moved {
	const { target, drop, undoes, redoes, along } = data;
	return { seq, target, coverage: { scope, ...given({ drop }) }, ...given({ undoes, redoes, along }) };
}

function resetOf({ target, coverage, undoes, redoes, along }: MovePreview, by: MovedBy): Draft {
	const { drop } = coverage;
	const mode = undoes === undefined ? (redoes === undefined ? "both" : "redo") : "undo";
	return reset({
		target,
		mode: by.mode ?? mode,
		actor: by.actor,
		...given({ drop: drop && [...drop], counts: by.counts && { ...by.counts }, undoes, redoes }),
		...(along ? { along: along as NonNullable<ResetData["along"]> } : {}),
	});
}

function labelOf({ label: name = "", target, gone, was, undoes, redoes }: MovePreview, { actor }: MovedBy): Draft {
	return label({ name, target, actor, ...given({ gone, was, undoes, redoes }) });
}

/** The object without its undefined fields. */
function given<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
