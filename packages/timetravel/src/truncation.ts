/** Prepares a truncation: stores the states that will stand for the front of the log, once it is gone. */
import { type Scope, type Seq, scopeKey, type Wal, type WalRecord, within } from "@reyn/wal";
import { type BranchIndex, firstOf, isKept, pathIn } from "./branch-index.ts";
import { TimetravelError } from "./errors.ts";
import type { Lineage, Reset } from "./lineage.ts";
import { recordAt } from "./record-at.ts";
import { isMeta, isOutside, resetSettled } from "./records.ts";
import { follow, type Move, type UndoRules } from "./undo.ts";

export interface Truncation {
	/** The first record that stays. */
	readonly before: Seq;
	readonly wal: Wal;
	readonly index: BranchIndex;
	readonly lineage: Lineage;
	/** The seqs that have a label, with the checkpoint that a checkout of each goes to: their states stay reachable. */
	readonly labelled: ReadonlyMap<Seq, Seq>;
	/** The scopes whose states are kept. */
	readonly scopes: readonly Scope[];
	/** The kinds of record that states are folded from. */
	readonly folded: readonly string[];
	readonly undoRules: UndoRules;
	/** Is this record folded into a state of the whole log that is not kept? */
	isUnkept(record: WalRecord): boolean;
	/** Do records of this kind outlive the log? */
	keeps(kind: string): boolean;
	/** Keeps the state of a scope at a seq. */
	store(seq: Seq, scope: Scope): Promise<void>;
}

/**
 * Stores the states that have to be kept when all records before a seq go, and returns the index that names them. Nothing has
 * changed before the caller writes that index.
 *
 * These states are kept: the one just before the cut, those with a label, and the one that each reset behind the cut has made which
 * goes back to before the cut or mixes two lines. Every later state can be made from one of them and the records that stay.
 *
 * @throws TimetravelError `TIMETRAVEL_UNKEPT`, and as `store`
 */
export async function keepBefore(truncation: Truncation): Promise<BranchIndex> {
	const { before, index, labelled } = truncation;
	const wanted = new Map<Seq, Seq | undefined>([[before - 1, undefined]]);
	for (const [seq, snapsTo] of labelled) {
		if (seq === 0 || seq >= before) continue;
		wanted.set(seq, snapsTo === seq ? undefined : snapsTo);
		if (snapsTo > 0 && !wanted.has(snapsTo)) wanted.set(snapsTo, undefined);
	}
	const { records, ...scanned } = await scan(truncation, wanted);
	const crcs = new Map(records.map(({ seq, crc }) => [seq, crc]));
	for (const seq of wanted.keys()) {
		// The states before the last cut were kept then, for the scopes that needed them.
		if (seq < index.retainedFrom) continue;
		for (const { scope, first } of scanned.scopes) if (first <= seq) await truncation.store(seq, scope);
	}
	const kept = [...wanted].map(([seq, snapsTo]) => ({
		seq,
		crc: crcs.get(seq) ?? "",
		...(snapsTo === undefined ? {} : { snapsTo }),
	}));
	const next = { ...index, ...scanned, retainedFrom: before, records };
	return withResets({ ...next, bases: kept.sort((a, b) => b.seq - a.seq) }, truncation);
}

/** Goes through the records that will not count any more. */
async function scan(
	{ before, wal, index, scopes: given, folded, isUnkept, keeps, undoRules }: Truncation,
	wanted: ReadonlyMap<Seq, unknown>,
): Promise<Pick<BranchIndex, "records" | "scopes" | "had" | "kinds" | "settled" | "moves">> {
	const isKeptRecord = ({ seq, kind }: WalRecord): boolean => keeps(kind) || wanted.has(seq);
	const records = index.records.filter(isKeptRecord);
	const firsts = new Map<string, { scope: Scope; first: Seq }>();
	for (const scope of [...given, ...index.scopes.map((each) => each.scope)]) {
		const first = firstOf(index, scope);
		// Until a record of the scope is met, its first one counts as being after the cut.
		firsts.set(scopeKey(scope), { scope, first: first < index.retainedFrom ? first : before });
	}
	const moves: { past: Move[]; future: Move[] } = { past: [...index.moves.past], future: [...index.moves.future] };
	const had = new Map(index.had.map((scope) => [scopeKey(scope), scope]));
	const kinds = new Set(index.kinds);
	const seen = new Set<string>();
	let { settled } = index;
	for await (const record of wal.read({ after: index.retainedFrom - 1, through: before - 1 })) {
		if (isKeptRecord(record)) records.push(plain(record));
		if (resetSettled.is(record)) settled = record.data.reset;
		follow(moves, record, undoRules);
		kinds.add(record.kind);
		if (isUnkept(record)) throw unkept(record, given);
		const key = scopeKey(record.scope);
		// A fact is kept itself, whatever its scope.
		if (isMeta(record.kind) || isOutside(record.kind) || !folded.includes(record.kind) || seen.has(key)) continue;
		seen.add(key);
		had.set(key, record.scope);
		const owners = given.filter((scope) => within(record.scope, scope));
		if (owners.length === 0) throw unkept(record, given);
		for (const scope of owners) {
			const first = Math.min(firsts.get(scopeKey(scope))?.first ?? before, record.seq);
			firsts.set(scopeKey(scope), { scope, first });
		}
	}
	return { records, scopes: [...firsts.values()], had: [...had.values()], kinds: [...kinds], settled, moves };
}

/** The record without further fields that a log may have given it. */
const plain = ({ seq, ts, kind, scope, data, crc }: WalRecord): WalRecord => ({ seq, ts, kind, scope, data, crc });

async function withResets(index: BranchIndex, truncation: Truncation): Promise<BranchIndex> {
	const { before, lineage, wal, folded } = truncation;
	let next = index;
	for (const reset of lineage.resets) {
		if (reset.seq < before) continue;
		let isBase = false;
		for (const { scope } of next.scopes) {
			if (goesOnFromOne(reset, scope, before)) continue;
			if (isKept(next, pathIn(next, lineage.path(reset.seq, scope)), folded)) continue;
			await truncation.store(reset.seq, scope);
			isBase = true;
		}
		if (!isBase) continue;
		const base = { seq: reset.seq, crc: (await recordAt(wal, reset.seq))?.crc ?? "" };
		next = { ...next, bases: [base, ...next.bases] };
	}
	const kinds = new Set(next.kinds);
	const newest = next.bases[0]?.seq ?? 0;
	if (newest >= before)
		for await (const { kind } of wal.read({ after: before - 1, through: newest, dataOf: [] })) kinds.add(kind);
	return { ...next, kinds: [...kinds].sort() };
}

/** Can the state that a reset makes of a scope be made from another kept state and records that stay? Most can. */
export function goesOnFromOne({ target, scope: moved, drop }: Omit<Reset, "seq">, scope: Scope, before: Seq): boolean {
	if (!within(scope, moved) && !within(moved, scope)) return true;
	return drop === undefined && within(scope, moved) && target >= before - 1;
}

/**
 * Can the states of these scopes be made, so that they can be kept?
 *
 * @throws TimetravelError `TIMETRAVEL_UNKEPT`
 */
export function assertKeepable(index: BranchIndex, scopes: readonly Scope[]): void {
	const { retainedFrom } = index;
	const scope = scopes.find((each) => firstOf(index, each) === 0);
	if (scope)
		throw new TimetravelError(
			"TIMETRAVEL_UNKEPT",
			`${nameOf(scope)} is one of the timeline's kept scopes, and was none when its records before seq ${retainedFrom} were taken away: its states cannot be made any more. Nothing was taken away; leave it out`,
			{ scope, retainedFrom },
		);
}

const nameOf = (scope: Scope): string => scopeKey(scope) || "the whole process";

function unkept({ seq, kind, scope }: WalRecord, scopes: readonly Scope[]): TimetravelError {
	return new TimetravelError(
		"TIMETRAVEL_UNKEPT",
		`the ${kind} at seq ${seq} is of ${nameOf(scope)}, which is in none of the scopes whose states are kept (${scopes.map(nameOf).join(", ")}); nothing was taken away. Add it to keptScopes`,
		{ seq, kind, scope },
	);
}
