/** The kinds of record that a log may have. */
import { WalError } from "./errors.ts";
import type { AnyRecordKind } from "./record/record.ts";
import { walRecords } from "./record/wal-records.ts";

export function registry(records: readonly AnyRecordKind[]): ReadonlyMap<string, AnyRecordKind> {
	const kinds = new Map<string, AnyRecordKind>();
	for (const kind of [...walRecords, ...records]) {
		if (kinds.has(kind.kind))
			throw new WalError("WAL_INVALID_RECORD", `two kinds are named "${kind.kind}"; a name may be registered once`, {
				kind: kind.kind,
			});
		kinds.set(kind.kind, kind);
	}
	return kinds;
}

/** @throws WalError `WAL_INVALID_RECORD` when the kind is not registered */
export function registered(kinds: ReadonlyMap<string, AnyRecordKind>, kind: string): AnyRecordKind {
	const found = kinds.get(kind);
	if (found) return found;
	throw new WalError(
		"WAL_INVALID_RECORD",
		`no kind "${kind}" is registered; openWal({ records }) was given: ${someOf([...kinds.keys()])}. Add it to \`records\`, that of openWal or of the feature that writes it`,
		{ kind },
	);
}

/** How many names of a list a message has. */
const NAMED = 8;

const someOf = (names: readonly string[]): string =>
	names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");
