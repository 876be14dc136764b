/** `log`: checkpoints, rewinds and labels, newest first. */

import { z } from "zod";
import { readHistory } from "../history.ts";
import { graphLines, listLines } from "../lines/history.ts";
import { choice, flag, option } from "../param.ts";
import { historyShape } from "../shapes.ts";
import { readVerb } from "../verb.ts";

export const log = readVerb({
	name: "log",
	summary: "checkpoints, rewinds and labels, newest first",
	params: {
		graph: flag("as a tree, with the branches that were abandoned", z.boolean().default(false)),
		n: option("count", "only the newest so many", z.coerce.number().int().positive().optional()),
		kind: choice("kind", "only these", ["checkpoint", "reset", "note", "label"]),
	},
	example: "--graph",
	result: historyShape,
	async read(runtime, { n, kind }) {
		const history = await readHistory(runtime);
		const entries = history.entries.filter(({ type }) => kind === undefined || type === kind).slice(0, n);
		return { ...history, entries };
	},
	lines: (history, say, { graph }) => (graph ? graphLines(history, say) : listLines(history)),
});
