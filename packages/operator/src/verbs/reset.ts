/** `reset`: end all work in flight, and start afresh; one undo has it back. */
import { endsWork } from "@reyn/runtime";
import { reset as resetRecord } from "@reyn/timetravel";
import { z } from "zod";
import { scopeText } from "../lines/scope.ts";
import { list, scope, seq } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { writeVerb } from "../verb.ts";

const work = z.object({
	scope,
	kind: z.string(),
	id: z.string(),
	title: z.string(),
	status: z.string(),
	spent: z.object({ calls: z.int(), tokens: z.int() }).exactOptional(),
});

const seen = z.object({
	tip: seq,
	work: list(work),
	/** The questions that its work has asked: they are withdrawn. */
	questions: list(z.object({ seq, question: z.string() })),
});

export const reset = writeVerb({
	name: "reset",
	summary:
		"end all that is in flight: turns, plans, skill runs and scripts. Nothing is deleted, and one undo has all of it back",
	params: {},
	example: "",
	seen,
	done: z.object({ seq }),
	async look(runtime) {
		// First: what comes while it is looked up was not seen.
		const { tip } = runtime.wal;
		const questions = runtime.questions().map(({ seq, question }) => ({ seq, question }));
		return { tip, work: [...runtime.inFlight()], questions };
	},
	nothing: ({ work }) => (work.length === 0 ? ["nothing is in flight"] : undefined),
	undone: ({ tip }) => ({ seq: tip }),
	shown: ({ work, questions }) => [
		"ends:",
		...work.map(({ scope, kind, id, title, status, spent }) => {
			const paid = spent && spent.calls > 0 ? `, ${spent.tokens.toLocaleString("en-US")} tokens paid` : "";
			return `  ${kind} ${id}  ${oneLine(title, 60)}  (${scopeText(scope)}, ${status}${paid})`;
		}),
		...questions.map((each) => `withdraws the question #${each.seq}: ${oneLine(each.question, 70)}`),
		"What was said stays, and so do permissions and what was paid; nothing is deleted",
	],
	question: ({ work }) => `end ${work.length === 1 ? "it" : `all ${work.length}`}?`,
	async act(runtime, { tip: expect }, actor) {
		return { seq: await runtime.endWork(actor, { expect }) };
	},
	isDoneBy: (record, _seen, actor) => resetRecord.is(record) && endsWork(record) && record.data.actor === actor,
	lines: (_done, say) => [`ended; all of it back: ${say`undo`}`],
});
