/** Checks that the log feeds the state which `recall` reads: else nothing would be recalled, and every step would run again. */
import type { Appended } from "@reyn/wal";
import { type Identity, stepKinds } from "./entry.ts";
import { JournalError } from "./errors.ts";
import type { Using } from "./step.ts";

/**
 * Does `recall` know of the record that has just been appended?
 *
 * @throws JournalError `LOG_NOT_FOLDED`
 */
export function assertFolded(using: Pick<Using, "recall">, appended: Appended): void {
	const { kind, data, seq } = appended.record;
	if (!stepKinds.includes(kind)) return;
	const step = data as Identity & { readonly closed?: true };
	if (step.closed) return;
	const known = using.recall(step, step.lane);
	if (known.kind !== "fresh" || known.failed) return;
	// This record's caller gets the error below, so nobody else handles this promise.
	appended.durable.catch(() => undefined);
	throw new JournalError(
		"LOG_NOT_FOLDED",
		`expected recall to know of ${step.name} in ${step.lane}, whose ${kind} was appended at seq ${seq}; found nothing. The log of these steps does not feed the state that recall reads, so all would be called again. Give as log what folds each record into that state before append returns; a bare log does not`,
		{ lane: step.lane, name: step.name, seq },
	);
}
