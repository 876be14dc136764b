/** `diff`: what differs between two moments. */
import { mainSession, type StateDiff } from "@reyn/runtime";
import { z } from "zod";
import { type DifferentFile, readFilesBetween } from "../changed-files.ts";
import { firstChanges } from "../first-changes.ts";
import { diffText, statOf, statText } from "../lines/diff.ts";
import { differentFilesText, uncoveredText } from "../lines/files.ts";
import { sessionText } from "../lines/scope.ts";
import { flag, option, word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { differentFile, list, scope, seq, uncovered } from "../shapes.ts";
import { readVerb } from "../verb.ts";

export const diff = readVerb({
	name: "diff",
	summary:
		"what differs between two moments, on whatever branches they are: in the state of a session, and in files as they were on disk then",
	params: {
		a: word("a", "a ref, as for show", z.string()),
		b: word("b", "another one", z.string().default("@")),
		session: option("session", "whose state", z.string().pipe(sessionText).default(mainSession)),
		stat: flag("only how much", z.boolean().default(false)),
		state: flag("only the state of the session, and no files", z.boolean().default(false)),
		n: option("count", "of each part of the state only so many changes", z.coerce.number().int().positive().optional()),
	},
	example: "@-2 @",
	/** `more` says how many changes of each part were left out; `moreFiles` how many files. */
	result: z.object({
		...{ from: seq, to: seq, scope, projections: z.record(z.string(), z.unknown()) },
		more: z.record(z.string(), seq).exactOptional(),
		...{
			files: list(z.object({ ...differentFile, others: z.literal(true).exactOptional() })),
			moreFiles: seq.exactOptional(),
			uncovered,
		},
	}),
	async read(runtime, { a, b, session, stat, state, n }) {
		const [from, to] = [await parseRef(a, runtime), await parseRef(b, runtime)];
		const files = state ? { files: [], uncovered: [] } : await readFilesBetween(runtime, from, to);
		const found = { ...(await runtime.diff(from, to, session)), ...files };
		if (stat) return { ...found, projections: statOf(found), files: found.files.map(withoutLines) };
		if (n === undefined) return found;
		const more = found.files.length - n;
		return {
			...found,
			...firstChanges(found, n),
			files: found.files.slice(0, n),
			...(more > 0 && { moreFiles: more }),
		};
	},
	lines: (found, _say, { stat }) => [
		...(stat ? statText(found as Parameters<typeof statText>[0]) : diffText(found as StateDiff)),
		...(found.files.length > 0 ? ["files, as they were on disk then:"] : []),
		...differentFilesText(found.files),
		...(found.moreFiles === undefined ? [] : [`  … and ${found.moreFiles} more files`]),
		...found.uncovered.map(uncoveredText),
	],
});

/** How much of a file differs is said by its patch alone. */
const withoutLines = ({ diff: _, more: __, ...file }: DifferentFile): DifferentFile => file;
