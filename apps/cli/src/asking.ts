/** Puts questions of work to the person at the terminal, one at a time. */
import { answersText, questionLines } from "@reyn/operator";
import type { OpenQuestion, RuntimeOptions } from "@reyn/runtime";
import { answerIn, type GivenAnswer, readAnswers } from "./answers-file.ts";
import type { Globals } from "./context.ts";
import { answerLines, asked, err } from "./print.ts";
import { reyn } from "./suggest.ts";

/**
 * Who is asked, and what becomes of work that nobody answers: off a terminal nobody is there, so nothing is permitted but what the file
 * of `--answers` says.
 *
 * @throws CliError `CLI_CONFIG` for such a file that cannot be read
 */
export async function askingHere({ answers }: Globals): Promise<Pick<RuntimeOptions, "ask" | "unanswered">> {
	const given = answers === undefined ? [] : await readAnswers(answers);
	if (!process.stdin.isTTY) {
		if (answers === undefined) return { unanswered: "deny" };
		return { unanswered: "stop", ask: async (question) => answerFrom(given, question) ?? nobody(question) };
	}
	let before: Promise<unknown> = Promise.resolve();
	return {
		unanswered: "stop",
		ask(question) {
			const answer = before.then(() => answerFrom(given, question) ?? askPerson(question));
			before = answer.catch(() => {});
			return answer;
		},
	};
}

/** What the file answers, which is said; undefined: nothing that is an answer. */
function answerFrom(given: readonly GivenAnswer[], question: OpenQuestion): string | undefined {
	const found = answerIn(given, question.question);
	if (!found) return undefined;
	const { answer, place } = found;
	if (isAnswer(question, answer)) {
		err.lines([...questionLines(question, reyn), `${place} answers: ${answer}`]);
		return answer;
	}
	err.line(`reyn: ${place}: "${answer}" is no answer to "${question.question}"; one is: ${answersText(question)}`);
	return undefined;
}

/** What needs a permission is not done where nobody is, nor a plan started; all else stays open, and its work stops. */
const nobody = ({ choices, explained }: OpenQuestion): string | undefined =>
	explained !== undefined && ["once", "edit"].some((choice) => choices?.includes(choice))
		? "no: nobody is here who could allow it"
		: undefined;

/** Undefined when the person leaves it open, with Ctrl-D. */
async function askPerson({
	signal,
	...question
}: OpenQuestion & { readonly signal: AbortSignal }): Promise<string | undefined> {
	signal.throwIfAborted();
	err.lines(questionLines(question, reyn));
	for (;;) {
		const given = (await typed(`${answersText(question)}?`, signal))?.trim();
		if (given === undefined || isAnswer(question, given)) return given;
		err.line(`that is no answer here; one is: ${answersText(question)}. Ctrl-D leaves it open`);
	}
}

const isAnswer = ({ choices, explained }: OpenQuestion, given: string): boolean =>
	choices === undefined
		? given !== ""
		: choices.includes(given) || [explained ?? []].flat().some((choice) => given.startsWith(`${choice}: `));

async function typed(text: string, signal: AbortSignal): Promise<string | undefined> {
	const lines = answerLines();
	const left = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
	// Ctrl-C is a key here, and no signal; without this it would be the failure of the question.
	lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
	try {
		return await Promise.race([lines.question(asked(text), { signal }), left]);
	} finally {
		lines.close();
	}
}
