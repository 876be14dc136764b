/** What a record is: its seq, its scope, its kind, and the schema of its data. */
import { inspect } from "node:util";
import { WalError } from "../errors.ts";
import { issueText, type StandardSchemaV1 } from "./standard-schema.ts";

/** A position in the log: 1, 2, 3 … without gaps. 0 is genesis, the state before the first record. */
export type Seq = number;

/**
 * Whose record it is. Scopes nest: process ⊃ agent ⊃ session ⊃ run; what is absent stands for everything below, so
 * `{}` is the process and `{ agent: "default", session: "main" }` one conversation.
 */
export interface Scope {
	readonly agent?: string;
	readonly session?: string;
	readonly run?: string;
}

/** One fact, as it stands in the log. */
export interface WalRecord<Data = unknown> {
	readonly seq: Seq;
	/** Milliseconds since 1970, for people. */
	readonly ts: number;
	readonly kind: string;
	readonly scope: Scope;
	readonly data: Data;
	/** CRC-32 of the record's line, 8 hex digits; with the log's id and `seq` it names this record for ever. */
	readonly crc: string;
}

/** A record before it has a seq. */
export interface Draft<Data = unknown> {
	readonly kind: string;
	readonly data: Data;
}

/** A kind of record: call it with data to get a draft. */
export interface RecordKind<Input = never, Output = unknown> {
	(data: Input): Draft;
	readonly kind: string;
	readonly schema: StandardSchemaV1<unknown, Output>;
	/** Narrows a record that was read. */
	is(record: WalRecord): record is WalRecord<Output>;
}

/** Any kind, whatever its data: for lists of kinds. */
export type AnyRecordKind = RecordKind<never, unknown>;

/**
 * Defines a kind of record by name and schema (Standard Schema: zod, valibot, arktype …). Names that begin with `wal_` are the log's own.
 *
 * @example
 * const notePut = defineRecord("note_put", z.object({ id: z.string(), text: z.string() }));
 * wal.append(notePut({ id: "a", text: "hello" }), {});
 */
export function defineRecord<Input, Output>(
	kind: string,
	schema: StandardSchemaV1<Input, Output>,
): RecordKind<Input, Output> {
	const refused = (expected: string, found: unknown): WalError => {
		const text = `defineRecord takes ${expected}; found ${inspect(found, { depth: 0 })}`;
		return new WalError("WAL_INVALID_RECORD", text, { kind });
	};
	if (typeof kind !== "string" || kind === "" || !kind.isWellFormed())
		throw refused("a name without half a character first", kind);
	if (kind.startsWith("wal_")) throw refused("no name that begins with wal_, as the log's own records do", kind);
	if (typeof schema?.["~standard"]?.validate !== "function")
		throw refused("a Standard Schema (zod, valibot, arktype …) second", schema);
	return kindOf(kind, schema);
}

/** A kind of whatever name. */
export function kindOf<Input, Output>(
	kind: string,
	schema: StandardSchemaV1<Input, Output>,
): RecordKind<Input, Output> {
	const draft = (data: Input): Draft => ({ kind, data });
	return Object.assign(draft, {
		kind,
		schema: schema as StandardSchemaV1<unknown, Output>,
		is: (record: WalRecord): record is WalRecord<Output> => record.kind === kind,
	});
}

/** The data as its kind's schema gives it back; `WAL_INVALID_RECORD` names the kind and the field. */
export function parseData<Output>(
	kind: { readonly kind: string; readonly schema: StandardSchemaV1<unknown, Output> },
	data: unknown,
	seq?: Seq,
): Output {
	const result: unknown = kind.schema["~standard"].validate(data);
	if (result instanceof Promise) {
		throw new WalError(
			"WAL_INVALID_RECORD",
			`the schema of "${kind.kind}" is asynchronous; a record needs one that answers at once`,
			{ kind: kind.kind },
		);
	}
	if (typeof result !== "object" || result === null) throw noResult(kind.kind, result);
	const { issues, value } = result as { issues?: unknown; value?: Output };
	if (issues) {
		if (!Array.isArray(issues)) throw noResult(kind.kind, result);
		const texts = issues.map(issueText);
		const where = seq === undefined ? "" : ` (seq ${seq})`;
		throw new WalError("WAL_INVALID_RECORD", `"${kind.kind}"${where} does not fit its schema: ${texts.join("; ")}`, {
			kind: kind.kind,
			seq,
			issues: texts,
		});
	}
	return value as Output;
}

function noResult(kind: string, found: unknown): WalError {
	const text = `the schema of "${kind}" gives ${inspect(found, { depth: 0 })}; expected { value } or { issues }, as a Standard Schema does`;
	return new WalError("WAL_INVALID_RECORD", text, { kind });
}

/** Is `inner` the same scope as `outer`, or one below it? */
export function within(inner: Scope, outer: Scope): boolean {
	return (
		(outer.agent === undefined || outer.agent === inner.agent) &&
		(outer.session === undefined || outer.session === inner.session) &&
		(outer.run === undefined || outer.run === inner.run)
	);
}

/** The scope as one line, its parts divided by `/`: `default/main/p12`; the process is `""`. */
export function scopeKey({ agent, session, run }: Scope): string {
	return [agent, session, run]
		.filter((part) => part !== undefined)
		.map(keyOf)
		.join("/");
}

/** A log may have any name. Half a character, which no new record may have in one, is `%ud800`: no whole name becomes that. */
function keyOf(name: string): string {
	if (name.isWellFormed()) return encoded(name);
	return name.replace(/(\p{Cs})|\P{Cs}+/gu, (piece, half?: string) =>
		half === undefined ? encodeURIComponent(piece) : `%u${half.charCodeAt(0).toString(16)}`,
	);
}

/** A name that can be read back, without a `/`; `.` and `..` are escaped too. */
export function encoded(name: string): string {
	return encodeURIComponent(name).replace(/^\.{1,2}$/, (dots) => "%2E".repeat(dots.length));
}
