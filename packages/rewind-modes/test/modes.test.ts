/** The table of modes, and which kinds of record each takes back. */
import { defineRecord } from "@reyn/wal";
import { expect, test } from "vitest";
import { z } from "zod";
import { facetOf } from "../src/facets.ts";
import { facetsOf, rewindModes, rewindNote } from "../src/index.ts";
import { dropOf, meanings } from "../src/modes.ts";

const facets = { conversation: ["prompt", "reply"], code: ["call", "result"] };

test.each([
	["prompt", "conversation"],
	["result", "code"],
	["config", "other"],
	["", "other"],
])("%s is %s", (kind, facet) => {
	expect(facetOf(kind, facets)).toBe(facet);
});

test.each([
	["both", undefined],
	["conversation_only", ["prompt", "reply"]],
	["code_only", ["call", "result"]],
	["summarize", undefined],
	["cancel", undefined],
] as const)("%s lists %o", (mode, kinds) => {
	expect(dropOf(mode, facets)).toEqual(kinds);
});

test("what a mode lists is of the facets that it says it drops; all of them need no list", () => {
	const kinds = [...facets.conversation, ...facets.code, "config"];
	for (const mode of rewindModes) {
		const { drops } = meanings[mode];
		if (drops.length === 0) continue;
		const dropped = kinds.filter((kind) => dropOf(mode, facets)?.includes(kind) !== false);
		expect(dropped).toEqual(kinds.filter((kind) => drops.includes(facetOf(kind, facets))));
	}
});

test("facets are said by kinds of records, and the note joins the conversation, once", () => {
	const [said, did] = [defineRecord("said", z.object({})), defineRecord("did", z.object({}))];
	const expected = { conversation: ["said", "rewind_note"], code: ["did"] };
	expect(facetsOf({ conversation: [said], code: [did] })).toEqual(expected);
	expect(facetsOf({ conversation: [said, rewindNote], code: [did] })).toEqual(expected);
	expect(facetsOf({})).toEqual({ conversation: ["rewind_note"], code: [] });
});
