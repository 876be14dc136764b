/** What runs in a session, by the records that it writes: so a rewind stops what it covers, and nothing else. */
import type { Coverage } from "@reyn/timetravel";
import { type AnyRecordKind, type Scope, within } from "@reyn/wal";

/** The classes of records that a piece of work writes. */
export interface Classes {
	readonly scope: Scope;
	readonly kinds: readonly string[];
}

export interface Work extends Classes {
	/** For people: `turn`, `plan p12`, `skill s3f…`. One of a name runs at a time in a session. */
	readonly name: string;
}

export const kindsOf = (records: readonly AnyRecordKind[]): readonly string[] => records.map(({ kind }) => kind);

/** Does a reset of this coverage take any of these classes back? */
export const isCovered = ({ scope, kinds }: Classes, reset: Coverage): boolean =>
	within(scope, reset.scope) && kinds.some((kind) => reset.drop?.includes(kind) !== false);
