/** `branches`: every line of history there is. */
import { readHistory } from "../history.ts";
import { GONE } from "../lines/history.ts";
import { historyShape } from "../shapes.ts";
import { readVerb } from "../verb.ts";

export const branches = readVerb({
	name: "branches",
	summary: "every line of history there is; the one with * is where you are",
	params: {},
	example: "",
	result: historyShape.shape.branches,
	read: async (runtime) => (await readHistory(runtime)).branches,
	lines: (found) =>
		found.map(
			({ name, parent, forkedAt, last, active, labels = [], gone }) =>
				`${active ? "*" : " "} ${name}  to #${last}${parent === undefined ? "" : `  from #${forkedAt} of ${parent}`}${labels.map((each) => `  "${each}"`).join("")}${gone ? GONE : ""}`,
		),
});
