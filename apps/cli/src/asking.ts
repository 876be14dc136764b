/** Puts questions of work to the person at the terminal, one at a time. */
import { answersText, questionLines } from "@reyn/operator";
import type { OpenQuestion, RuntimeOptions } from "@reyn/runtime";
import { answerLines, asked, err } from "./print.ts";
import { reyn } from "./suggest.ts";

/** Who is asked, and what becomes of work that nobody answers: off a terminal nobody is there, so nothing is permitted. */
export function askingHere(): Pick<RuntimeOptions, "ask" | "unanswered"> {
	if (!process.stdin.isTTY) return { unanswered: "deny" };
	let before: Promise<unknown> = Promise.resolve();
	return {
		unanswered: "stop",
		ask(question) {
			const answer = before.then(() => askPerson(question));
			before = answer.catch(() => {});
			return answer;
		},
	};
}

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
		: choices.includes(given) || (explained !== undefined && given.startsWith(`${explained}: `));

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
