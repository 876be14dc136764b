/** Work in a session, described by the records that it writes, so that a rewind stops the work it covers and no other. */
import type { Coverage } from "@reyn/timetravel";
import { type AnyRecordKind, type Scope, within } from "@reyn/wal";

/** The classes of records that a piece of work writes. */
export interface Classes {
	readonly scope: Scope;
	readonly kinds: readonly string[];
}

export interface Work extends Classes {
	/** A name for people: `turn`, `plan p12`, `skill s3f…`. In a session, one work of a name runs at a time. */
	readonly name: string;
}

export const kindsOf = (records: readonly AnyRecordKind[]): readonly string[] => records.map(({ kind }) => kind);

/** Does a reset of this coverage take any of these classes back? */
export const isCovered = ({ scope, kinds }: Classes, reset: Coverage): boolean =>
	within(scope, reset.scope) && kinds.some((kind) => reset.drop?.includes(kind) !== false);
