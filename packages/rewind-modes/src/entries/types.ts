/** The types of entry: ten that are known, and a user's own, each with its facet. */
import { isOutside } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { type AnyRecordKind, defineRecord } from "@reyn/wal";
import { z } from "zod";
import { RewindError } from "../errors.ts";
import { type Facet, type Facets, facetsOf } from "../facets.ts";
import { rewindNote } from "../records.ts";
import { REWIND } from "./entry.ts";

/** The types that every journal has, with their facets. */
export const entryTypes = {
	user_prompt: "conversation",
	assistant_message: "conversation",
	conversation_turn: "conversation",
	tool_call: "code",
	tool_result: "code",
	file_write: "code",
	file_change: "code",
	code_execution: "code",
	context_update: "code",
	state_transition: "code",
} as const satisfies Readonly<Record<string, Facet>>;

export type EntryType = keyof typeof entryTypes;

/** The types of one journal. */
export interface Types {
	readonly kinds: ReadonlyMap<string, AnyRecordKind>;
	readonly facets: Facets;
}

const facetNames: readonly Facet[] = ["conversation", "code", "other"];

/**
 * @param own a user's own types, with their facets
 * @throws RewindError `REWIND_ENTRY_TYPE` for a name that is taken, or a facet that is none
 */
export function typesOf(own: Readonly<Record<string, Facet>>): Types {
	for (const [type, facet] of Object.entries(own)) assertOwn(type, facet);
	const all: readonly (readonly [string, Facet])[] = [...Object.entries(entryTypes), ...Object.entries(own)];
	const kinds = new Map(all.map(([type]) => [type, defineRecord(type, entryData)]));
	const kindsOf = (wanted: Facet): readonly AnyRecordKind[] =>
		all.flatMap(([type, facet]) => (facet === wanted ? [kinds.get(type) as AnyRecordKind] : []));
	return { kinds, facets: facetsOf({ conversation: kindsOf("conversation"), code: kindsOf("code") }) };
}

/** @throws RewindError `REWIND_ENTRY_TYPE` */
export function kindOf(type: string, { kinds }: Types): AnyRecordKind {
	const kind = kinds.get(type);
	if (kind) return kind;
	const types = [...kinds.keys()];
	throw new RewindError(
		"REWIND_ENTRY_TYPE",
		`there is no type of entry ${JSON.stringify(type)}; there are ${types.join(", ")}. One of your own is given to \`types\` when the journal is opened`,
		{ type, types },
	);
}

const entryData = z.record(z.string(), z.unknown());

function assertOwn(type: string, facet: Facet): void {
	const refused = (why: string): RewindError =>
		new RewindError("REWIND_ENTRY_TYPE", `a type of your own cannot be ${JSON.stringify(type)}: ${why}`, { type });
	if (!/^[a-z][a-z0-9_]{0,63}$/.test(type))
		throw refused("expected 1 to 64 letters a to z, digits and `_`, the first a letter");
	if (Object.hasOwn(entryTypes, type)) throw refused("every journal has it, with a facet; leave it out");
	if (type === REWIND || type === rewindNote.kind || isMeta(type) || isOutside(type))
		throw refused("the journal has records of its own by that name; choose another");
	if (!facetNames.includes(facet))
		throw refused(`there is no facet ${JSON.stringify(facet)}; there are ${facetNames.join(", ")}`);
}
