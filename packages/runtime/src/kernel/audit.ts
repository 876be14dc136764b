/** What of a record stands in the audit trail: pure, so the same log always gives the same lines. */
import { stepCompleted, stepFailed, stepStarted } from "@reyn/journal";
import { rewindNote } from "@reyn/rewind-modes";
import { label, reset, stepLate } from "@reyn/timetravel";
import { type WalRecord, walEpoch, walRecovered, walRepaired } from "@reyn/wal";
import { ADOPT, ENDED, sessionOpened } from "./records.ts";

/** A line of the trail, without what every line has. */
export interface Audited {
	/** What people look for: `turn`, `tool`, `plan`. */
	readonly kind: string;
	/** What became of it: `begun`, `ended`, `failed`. */
	readonly what: string;
	/** More about it, as JSON: names and numbers, and of a text no more than {@link brief} gives. */
	readonly [field: string]: unknown;
}

/** Derives the line of a record; undefined: it is not worth one. Only the record counts. */
export type Audit = (record: WalRecord) => Audited | undefined;

const BRIEF = 120;

/** A text as a title: one line, cut. */
export function brief(text: string): string {
	const line = text
		.slice(0, 4 * BRIEF)
		.replace(/\s+/g, " ")
		.trim();
	return line.length > BRIEF || text.length > 4 * BRIEF ? `${line.slice(0, BRIEF - 1)}…` : line;
}

/** The lines of the kernel's own records: steps, moves, sessions, and the log itself. */
export function auditOwn(record: WalRecord): Audited | undefined {
	if (reset.is(record)) {
		const { target, mode, actor, undoes, redoes } = record.data;
		const made = mode === ADOPT ? "adopted" : mode === ENDED ? "all ended" : "moved";
		const what = undoes !== undefined ? "undone" : redoes !== undefined ? "redone" : made;
		return { kind: "move", what, target, mode, actor, undoes, redoes };
	}
	if (label.is(record)) {
		const { name, target, gone, was, actor, undoes, redoes } = record.data;
		return { kind: "move", what: gone ? "unlabelled" : "labelled", label: name, target, was, actor, undoes, redoes };
	}
	if (rewindNote.is(record)) {
		const { target, actor } = record.data;
		return { kind: "move", what: "noted", target, actor };
	}
	if (sessionOpened.is(record)) return { kind: "session", what: "opened" };
	if (walEpoch.is(record)) return { kind: "process", what: "opened", ...record.data };
	if (walRecovered.is(record)) {
		const { bytes, keptIn } = record.data;
		return { kind: "log", what: "recovered", bytes, keptIn };
	}
	if (walRepaired.is(record)) {
		const { lost, why, keptIn } = record.data;
		return { kind: "log", what: "repaired", lost: lost.slice(0, 20), why: brief(why), keptIn: keptIn.slice(0, 20) };
	}
	return auditStep(record);
}

type Step = Pick<
	Parameters<typeof stepStarted>[0],
	"kind" | "name" | "lane" | "purity" | "attempt" | "started" | "adopts" | "place"
>;

function auditStep(record: WalRecord): Audited | undefined {
	if (stepLate.is(record)) {
		const { reset: left, kind: of, data } = record.data;
		const { kind, name, lane } = data;
		return { kind: isLooked(kind) ? kind : "step", what: "late", name, lane, of, reset: left };
	}
	if (stepStarted.is(record)) {
		const { prepared, started, doubt } = record.data;
		// One that was begun before, and nobody knows whether it happened.
		return stepLine(record.data, started === undefined ? "started" : "again", { subject: subjectIn(prepared), doubt });
	}
	if (stepCompleted.is(record)) {
		const { usage, adopts, doubt } = record.data;
		const cost = usage && { ...usage, paid: adopts === undefined };
		return stepLine(record.data, doubt === "skip" ? "skipped" : "ended", { ...cost, doubt });
	}
	if (!stepFailed.is(record)) return undefined;
	const { reason, retryable, told, forgotten } = record.data;
	const { code, message } = reason;
	const what = forgotten ? "forgotten" : code === "PERMISSION_DENIED" ? "denied" : "failed";
	// Another try follows.
	const retried = retryable && !told ? true : undefined;
	return stepLine(record.data, what, { code, why: brief(message), retried });
}

/** Of other kinds of steps only what acts on the world is worth a line: the rest is a program's own matter. */
function stepLine(step: Step, what: string, more: object): Audited | undefined {
	const { kind, name, lane, purity, attempt, started, adopts, place } = step;
	const subject = place && brief(place.label);
	if (kind === "ask") return { kind: "question", what: asks[what] ?? what, subject, lane, started };
	const isEffect = purity === "side_effect" || purity === "external";
	if (!isLooked(kind) && !isEffect) return undefined;
	return {
		...{ kind: isLooked(kind) ? kind : "step", what, name, lane, subject, purity, attempt, started, adopts },
		...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
	};
}

/** What becomes of a step in which a script asks a person. */
const asks: Readonly<Record<string, string>> = { started: "asked", again: "asked", ended: "answered" };

const isLooked = (kind: unknown): kind is "model" | "tool" => kind === "model" || kind === "tool";

/** The file or the command that a call was prepared for, where it is one. */
function subjectIn(prepared: unknown): string | undefined {
	const { path, command } = (prepared ?? {}) as { readonly path?: unknown; readonly command?: unknown };
	const subject = path ?? command;
	return typeof subject === "string" ? brief(subject) : undefined;
}
