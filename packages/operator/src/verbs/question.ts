/** `questions` and `answer`: what people are asked, by turns, plans and scripts, and what they say. */
import { questionAnswered, questionAsked, type Runtime } from "@reyn/runtime";
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { questionLines } from "../lines/question.ts";
import { text, word } from "../param.ts";
import { list, questionShape, seq, workFrom } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { readVerb, workVerb } from "../verb.ts";

export const questions = readVerb({
	name: "questions",
	summary: "what people are asked and have not answered",
	params: {},
	example: "",
	result: list(questionShape),
	read: async (runtime) => runtime.questions(),
	lines: (found, say) =>
		found.length > 0 ? found.flatMap((each) => questionLines(each, say)) : ["nobody asks anything"],
});

export const answer = workVerb({
	name: "answer",
	summary: "answer a question, and go on with what asked it; the answer is recorded before that is said",
	params: {
		question: word(
			"question",
			"its number, as questions has it",
			z
				.union([z.string(), z.number()])
				.transform(String)
				.pipe(z.string().regex(/^#?[1-9]\d{0,15}$/, "a number, such as 12"))
				.transform((given) => Number(given.replace("#", ""))),
		),
		answer: text("answer", "the answer; where there are choices, one of them", z.string()),
	},
	example: "12 yes",
	isAlone: true,
	begun: z.object({ question: seq, from: workFrom, run: z.string().exactOptional() }),
	at: "as recovered",
	async check(runtime, { question, answer }) {
		const open = runtime.questions();
		const found = open.find((each) => each.seq === question);
		const isPermit = found?.choices?.includes("once") && !answer.startsWith("no");
		if (isPermit && (await runtime.permissions()).mode === "read-only")
			throw new OperatorError(
				"OPERATOR_ARGS",
				`#${question} asks for what the mode read-only denies; nothing was answered. Answer in another mode, or say no`,
				{ question },
			);
		if (found?.from.kind === "script") await runtime.scripts.check(found.from.id);
		if (found) return;
		const known = open.map((each) => `#${each.seq}`).join(", ") || "none";
		throw new OperatorError("OPERATOR_NOT_FOUND", `${await whyClosed(runtime, question)}; open are ${known}`, {
			question,
		});
	},
	begin: (runtime, { question, answer }) => runtime.answer(question, answer, "user"),
	lines: ({ from: { kind, id } }) => [`answered; ${kind} ${id} goes on`],
});

/** Why nobody wants an answer. */
async function whyClosed({ wal, timeline }: Runtime, question: Seq): Promise<string> {
	const asked = question >= wal.first && question <= wal.tip ? await timeline.record(question) : undefined;
	if (!asked || !questionAsked.is(asked)) return `nobody asks #${question} now`;
	if (!timeline.lineage.isActive(asked)) return `a rewind has taken #${question} back`;
	for await (const record of wal.read({ after: question }))
		if (questionAnswered.is(record) && record.data.question === question && timeline.lineage.isActive(record))
			return `#${question} is answered already: ${oneLine(record.data.text, 100)}, at #${record.seq}`;
	const { kind, id } = asked.data.from;
	return `#${question} needs no answer any more, since ${kind} ${oneLine(id, 40)} is over`;
}
