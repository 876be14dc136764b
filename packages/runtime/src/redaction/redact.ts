/** Applies redaction to what a runtime writes: to records, and to texts that can only be stored unchanged. */
import { journalRecords } from "@reyn/journal";
import { toJson } from "@reyn/journal/internal";
import type { Draft } from "@reyn/wal";
import { RuntimeError } from "../kernel/errors.ts";

/** The kinds of step records. Steps are redacted where they are made, so that the run goes on with the redacted text. */
const ofSteps: readonly string[] = journalRecords.map(({ kind }) => kind);

/** The record without secrets. */
export function redacted(draft: Draft, redact: ((text: string) => string) | undefined): Draft {
	if (!redact || ofSteps.includes(draft.kind)) return draft;
	return { kind: draft.kind, data: toJson(draft.data, redact).json };
}

/**
 * Refuses a text with a secret in it, where a redacted text cannot be stored instead.
 *
 * @param left the redacted text
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
