/** Decides whether a previewed move may still be made: what a person confirmed is what is done. One rule for all moves. */
import { type Scope, type WalRecord, within } from "@reyn/wal";
import { TimetravelError } from "./errors.ts";
import { isMeta, isOutside, label, reset } from "./records.ts";
import { type UndoRules, undoRuleOf } from "./undo.ts";

/** Which records begin something, or are a move of a person. All other records are progress of work begun before. */
export interface Beginnings {
	readonly undoRules: UndoRules;
	/** The kinds that begin something. Absent: not known, so any kind may. */
	readonly begins: readonly string[] | undefined;
}

/**
 * Does a record that came after a preview make it stale? Another move does, in any scope, since all moves share one undo stack. A
 * record that begins something in the move's scope does too: nobody was shown that it would be taken back. Progress does not, and
 * neither does a fact.
 */
export function speaksAgainst(record: WalRecord, scope: Scope, { undoRules, begins }: Beginnings): boolean {
	const { kind } = record;
	if (kind === reset.kind || kind === label.kind) return true;
	if (isMeta(kind) || isOutside(kind)) return false;
	const rule = undoRuleOf(record, undoRules);
	if (typeof rule === "object") return true;
	const isBeginning = rule === "turn" || begins?.includes(kind) !== false;
	return isBeginning && (within(record.scope, scope) || within(scope, record.scope));
}

const MAX_ACTOR_BYTES = 256;

/**
 * Checks the name of an actor, which stays in the log: 1 to 256 bytes, not blank.
 *
 * @throws TimetravelError `TIMETRAVEL_ACTOR`
 */
export function assertActor(actor: string): void {
	if (typeof actor === "string" && actor.trim() !== "" && Buffer.byteLength(actor) <= MAX_ACTOR_BYTES) return;
	const found = typeof actor === "string" ? `${Buffer.byteLength(actor)} bytes` : typeof actor;
	throw new TimetravelError(
		"TIMETRAVEL_ACTOR",
		`expected who asks as 1 to ${MAX_ACTOR_BYTES} bytes of text that is not blank; got ${found}. Give a name`,
		{ maxBytes: MAX_ACTOR_BYTES },
	);
}
