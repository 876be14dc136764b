/** `log`: checkpoints, rewinds and labels of every line of history, newest first. */

import { z } from "zod";
import { readHistory } from "../history.ts";
import { graphLines, listLines } from "../lines/history.ts";
import { choice, flag, option } from "../param.ts";
import { historyShape } from "../shapes.ts";
import { readVerb } from "../verb.ts";
import { newest } from "./ref.ts";

export const log = readVerb({
	name: "log",
	summary: "checkpoints, rewinds and labels of every line of history, newest first",
	params: {
		graph: flag("as a tree, with the branches that were abandoned", z.boolean().default(false)),
		n: newest("only the newest so many"),
		before: option("seq", "only what is older", z.coerce.number().int().nonnegative().optional()),
		kind: choice<"checkpoint" | "reset" | "note" | "label">("kind", "only these", [
			"checkpoint",
			"reset",
			"note",
			"label",
		]),
	},
	example: "--graph",
	result: historyShape,
	read: (runtime, { n, before, kind }) => readHistory(runtime, { limit: n, before, type: kind }),
	lines: (history, say, { graph }) => (graph ? graphLines(history, say) : listLines(history)),
});
