/** What callers give is checked before anything happens: code without type checks may give anything. */
import { inspect } from "node:util";
import type { LogEngine } from "./engine/engine.ts";
import { WalError } from "./errors.ts";
import { isSeq } from "./record/codec.ts";
import type { AnyRecordKind, Draft, Scope, Seq } from "./record/record.ts";
import type { OpenWalOptions } from "./wal.ts";

/** @throws WalError `WAL_OUT_OF_RANGE` */
export function assertSeq(name: string, seq: Seq, last: Seq): void {
	if (isSeq(seq) && seq <= last) return;
	throw new WalError("WAL_OUT_OF_RANGE", `${name} is ${seq}; expected a seq from 0 to ${last}`, { [name]: seq, last });
}

/** A part of a scope stands only under the part above it. */
export function checkedScope(scope: Scope): Scope {
	const { agent, session, run, ...others } = Object(scope) as Scope;
	const isPart = (part: unknown): boolean => part === undefined || (typeof part === "string" && part.isWellFormed());
	const gap = (session !== undefined && agent === undefined) || (run !== undefined && session === undefined);
	const isNone = scope === null || typeof scope !== "object" || Object.keys(others).length > 0;
	if (isNone || gap || ![agent, session, run].every(isPart))
		throw new WalError(
			"WAL_INVALID_RECORD",
			`a scope nests agent, session, run, each a string without half a character, and has nothing else; found ${inspect(scope, { depth: 1 })}`,
			{ scope },
		);
	if (agent === undefined) return {};
	if (session === undefined) return { agent };
	return run === undefined ? { agent, session } : { agent, session, run };
}

/** Code without type checks may give anything. */
export function assertDraft(draft: unknown): void {
	if (typeof (draft as Draft | null | undefined)?.kind === "string") return;
	const found = inspect(draft, { depth: 0 });
	const text = `append takes a draft, { kind, data }, which a kind of \`defineRecord\` makes; found ${found}`;
	throw new WalError("WAL_INVALID_RECORD", text, { found });
}

/** @throws WalError `WAL_OPTIONS` */
export function assertOptions(at: unknown, options: unknown): void {
	const engine = at as Partial<LogEngine> | null | undefined;
	const wrong = (name: string, expected: string, value: unknown): WalError => {
		const found = inspect(value, { depth: 0 });
		return new WalError("WAL_OPTIONS", `${name} of openWal has to be ${expected}; found ${found}`, { name, found });
	};
	if (typeof at === "string" ? at === "" : typeof engine?.log !== "function")
		throw wrong("the first argument", "the path of a directory, or an engine", at);
	const { records, realm, clock, timers, ids } = Object(options) as Partial<Record<keyof OpenWalOptions, unknown>>;
	const isKind = (kind: unknown): boolean => {
		const { kind: name, schema } = Object(kind) as Partial<AnyRecordKind>;
		return typeof name === "string" && typeof schema?.["~standard"]?.validate === "function";
	};
	if (!Array.isArray(records) || !records.every(isKind))
		throw wrong("`records`", "a list of kinds that `defineRecord` made", records);
	if (realm !== undefined && (typeof realm !== "string" || realm === "")) throw wrong("`realm`", "a name", realm);
	const ports = { clock: [clock, "now"], timers: [timers, "after"], ids: [ids, "hex"] } as const;
	for (const [name, [port, call]] of Object.entries(ports))
		if (port !== undefined && typeof Object(port)[call] !== "function")
			throw wrong(`\`${name}\``, `something with \`${call}()\``, port);
}
