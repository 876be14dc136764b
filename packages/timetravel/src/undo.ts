/** Undo and redo: two stacks that are a fold of the log, so that they are the same after any restart. */
import { type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { isOutside, label, reset } from "./records.ts";

/** The classes that a reset covers: kinds in `drop` (absent: all) of records in the scope. */
export interface Coverage {
	readonly scope: Scope;
	readonly drop?: readonly string[];
}

/**
 * What a record means for undo. `takenBackBy`: it is a move of a person, and a reset of that coverage to just before it takes it
 * back. `turn`: a person began something new, after which moves that it covers cannot be redone.
 */
export type UndoRule = { readonly takenBackBy: Coverage } | "turn" | undefined;

/** By kind of record. */
export type UndoRules = Readonly<Record<string, (record: WalRecord) => UndoRule>>;

/** A move on one of the stacks, by the seq of the record that made it. */
export interface Move {
	readonly seq: Seq;
	/** How to take the move back. */
	readonly inverse:
		| ({ readonly kind: "reset" } & Coverage)
		| {
				readonly kind: "label";
				readonly name: string;
				readonly target: Seq;
				/** The seq that the name has then; null: none. Absent in stored moves of older versions, where it is new or was taken back. */
				readonly back?: Seq | null;
		  };
}

/** The undo stack (`past`) and the redo stack (`future`), each with the newest move last. They are of the whole log. */
export interface Moves {
	readonly past: readonly Move[];
	readonly future: readonly Move[];
}

/** The kinds of record that change the stacks. */
export const moveKinds = (undoRules: UndoRules): readonly string[] => [
	reset.kind,
	label.kind,
	...Object.keys(undoRules),
];

/** What a record does to the stacks. */
export type MoveStep =
	| { readonly kind: "made"; readonly move: Move; readonly undoes?: Seq | undefined; readonly redoes?: Seq | undefined }
	/** A person began something new: nothing can be redone any more. */
	| { readonly kind: "began"; readonly seq: Seq };

/** The stacks while they are folded. */
export interface Stacks {
	readonly past: Move[];
	readonly future: Move[];
}

/** Stacks to fold on from. */
export const stacksOf = ({ past, future }: Moves): Stacks => ({ past: [...past], future: [...future] });

/**
 * Folds one more record into the stacks, in log order; abandoned records count too.
 *
 * @returns what it did to them; undefined: nothing
 */
export function follow(stacks: Stacks, record: WalRecord, undoRules: UndoRules): MoveStep | undefined {
	const step = stepOf(stacks, record, undoRules);
	if (step) doStep(stacks, step);
	return step;
}

function stepOf({ future }: Stacks, record: WalRecord, undoRules: UndoRules): MoveStep | undefined {
	const move = moveOf(record, undoRules);
	if (move === undefined) return undefined;
	if (move === "turn") {
		const covered = future.some(({ inverse }) => inverse.kind === "reset" && covers(inverse, record));
		return covered ? { kind: "began", seq: record.seq } : undefined;
	}
	const { undoes, redoes } = record.data as { undoes?: Seq; redoes?: Seq };
	return { kind: "made", move, undoes, redoes };
}

/** Does to the stacks what a record did. */
export function doStep({ past, future }: Stacks, step: MoveStep): void {
	if (step.kind === "began") {
		future.length = 0;
		return;
	}
	const { move, undoes, redoes } = step;
	if (undoes !== undefined) {
		remove(past, undoes);
		future.push(move);
		return;
	}
	past.push(move);
	if (redoes !== undefined) remove(future, redoes);
	else future.length = 0;
}

/** Removes a move: the newest one, unless a person made another in the moment before the record was written. */
function remove(moves: Move[], seq: Seq): void {
	const at = moves.findLastIndex((move) => move.seq === seq);
	if (at >= 0) moves.splice(at, 1);
}

function moveOf(record: WalRecord, undoRules: UndoRules): Move | "turn" | undefined {
	const { seq, scope } = record;
	if (reset.is(record)) {
		const { drop } = record.data;
		return { seq, inverse: { kind: "reset", scope, ...(drop ? { drop } : {}) } };
	}
	if (label.is(record)) {
		const { name, target, gone, was = null } = record.data;
		return { seq, inverse: { kind: "label", name, target, back: gone ? target : was } };
	}
	const rule = undoRuleOf(record, undoRules);
	return typeof rule === "object" ? { seq, inverse: { kind: "reset", ...rule.takenBackBy } } : rule;
}

/** The undo rule of a record. Only own keys count, since a kind may have any name; a fact has no rule, as it is never taken back. */
export const undoRuleOf = (record: WalRecord, undoRules: UndoRules): UndoRule =>
	Object.hasOwn(undoRules, record.kind) && !isOutside(record.kind) ? undoRules[record.kind]?.(record) : undefined;

/** Does a reset of this coverage take a record of this scope and kind back? */
export const covers = ({ scope, drop }: Coverage, record: Pick<WalRecord, "scope" | "kind">): boolean =>
	within(record.scope, scope) && drop?.includes(record.kind) !== false && !isOutside(record.kind);

/** Does a reset of this coverage leave all of history as it is? Then something goes along with it, outside the log. */
export const coversNothing = ({ drop }: Pick<Coverage, "drop">): boolean => drop?.length === 0;
