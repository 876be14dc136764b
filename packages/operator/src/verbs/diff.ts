/** `diff`: what differs between two moments. */
import { mainSession, type StateDiff } from "@reyn/runtime";
import { z } from "zod";
import { firstChanges } from "../first-changes.ts";
import { diffText, statOf, statText } from "../lines/diff.ts";
import { sessionText } from "../lines/scope.ts";
import { flag, option, word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { scope, seq } from "../shapes.ts";
import { readVerb } from "../verb.ts";

export const diff = readVerb({
	name: "diff",
	summary: "what differs between two moments, on whatever branches they are",
	params: {
		a: word("a", "a ref, as for show", z.string()),
		b: word("b", "another one", z.string().default("@")),
		session: option("session", "whose state", z.string().pipe(sessionText).default(mainSession)),
		stat: flag("only how much", z.boolean().default(false)),
		n: option("count", "of each part of the state only so many changes", z.coerce.number().int().positive().optional()),
	},
	example: "@-2 @",
	/** `more` says how many changes of each part were left out. */
	result: z.object({
		...{ from: seq, to: seq, scope, projections: z.record(z.string(), z.unknown()) },
		more: z.record(z.string(), seq).exactOptional(),
	}),
	async read(runtime, { a, b, session, stat, n }) {
		const found = await runtime.diff(await parseRef(a, runtime), await parseRef(b, runtime), session);
		if (stat) return { ...found, projections: statOf(found) };
		return n === undefined ? found : { ...found, ...firstChanges(found, n) };
	},
	lines: (found, _say, { stat }) =>
		stat ? statText(found as Parameters<typeof statText>[0]) : diffText(found as StateDiff),
});
