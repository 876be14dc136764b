/** `diff`: what differs between two moments. */
import { mainSession, type StateDiff } from "@reyn/runtime";
import { z } from "zod";
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
		session: option("agent/session", "whose state", z.string().pipe(sessionText).default(mainSession)),
		stat: flag("only how much", z.boolean().default(false)),
	},
	example: "@-2 @",
	result: z.object({ from: seq, to: seq, scope, projections: z.record(z.string(), z.unknown()) }),
	async read(runtime, { a, b, session, stat }) {
		const found = await runtime.diff(await parseRef(a, runtime), await parseRef(b, runtime), session);
		return stat ? { ...found, projections: statOf(found) } : found;
	},
	lines: (found, _say, { stat }) =>
		stat ? statText(found as Parameters<typeof statText>[0]) : diffText(found as StateDiff),
});
