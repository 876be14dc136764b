/** What engines say, in the same words. */
import { WalError } from "../errors.ts";
import type { Seq } from "../record/record.ts";

export function fenced(epoch: number, newest: number): WalError {
	return new WalError(
		"WAL_FENCED",
		`this writer has epoch ${epoch}, and it is not the writer any more (the newest epoch is ${newest}): this call has stored nothing. Stop, or open the log again`,
		{ epoch, newest },
	);
}

export function seqMismatch(expected: Seq, actual: Seq): WalError {
	return new WalError("WAL_SEQ_MISMATCH", `the log ends at seq ${actual}; expected ${expected}`, { expected, actual });
}

export function truncated(seq: Seq, first: Seq): WalError {
	return new WalError("WAL_TRUNCATED", `seq ${seq} was taken away by retention; the log begins at seq ${first}`, {
		seq,
		first,
	});
}

/** The log is shorter than something outside proves it to have been. */
export function endsEarly(last: Seq, acknowledged: Seq): WalError {
	return new WalError("WAL_CORRUPT", `the log ends at seq ${last}; ${acknowledged} were acknowledged`, {
		seq: last + 1,
		lastSound: last,
		acknowledged,
	});
}
