/** Where redaction meets what a runtime writes: each record, and what has to be kept as it is given. */
import { journalRecords } from "@reyn/journal";
import { toJson } from "@reyn/journal/internal";
import type { Draft } from "@reyn/wal";
import { RuntimeError } from "../kernel/errors.ts";

/** Steps are redacted where they are made: what runs goes on with what is left, and bytes stay as they are. */
const ofSteps: readonly string[] = journalRecords.map(({ kind }) => kind);

/** A record as it may be written. */
export function redacted(draft: Draft, redact: ((text: string) => string) | undefined): Draft {
	if (!redact || ofSteps.includes(draft.kind)) return draft;
	return { kind: draft.kind, data: toJson(draft.data, redact).json };
}

/**
 * For what cannot be written otherwise than it is given.
 *
 * @param left what redaction leaves of it
 * @throws RuntimeError `RUNTIME_SECRET` with the first line that differs, without the secret
 */
export function assertTold(what: string, given: string, left = given): void {
	if (given === left) return;
	const lines = given.split("\n");
	const [line, text] = [...left.split("\n").entries()].find(([i, each]) => each !== lines[i]) ?? [0, left];
	throw new RuntimeError(
		"RUNTIME_SECRET",
		`${what}, line ${line + 1}, has what looks like a secret: ${text.trim().slice(0, 200)}. It would be written down as it is; let a tool read it from the environment`,
		{ what, line: line + 1 },
	);
}
