/** What a person confirmed is what is done: which records that came after a preview speak against its move. One rule for all moves. */
import { type Scope, type WalRecord, within } from "@reyn/wal";
import { TimetravelError } from "./errors.ts";
import { isMeta, isOutside, label, reset } from "./records.ts";
import { type UndoRules, undoRuleOf } from "./undo.ts";

/** What begins something, or is a move of a person; all other records go on with what was begun before. */
export interface Beginnings {
	readonly undoRules: UndoRules;
	/** Absent: nobody has said which, so each kind may. */
	readonly begins: readonly string[] | undefined;
}

/**
 * Does a record that came after the preview of a move in a scope speak against the move? Another move does, wherever, since the
 * way back is one for all. What begins in the scope does: nobody was shown that it would go. Progress does not, and no fact.
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
 * Is it somebody who may stand in a record for good?
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
