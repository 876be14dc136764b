/** Questions of work in a chat: each is put as a card, and one that is left open waits for `/answer`. */
import { answersText, askerText } from "@reyn/operator";
import type { OpenQuestion } from "@reyn/runtime";
import { slash } from "../suggest.ts";
import type { Face } from "./face.ts";

const NOT_NOW = "not now";

/** Undefined: it is left open. */
export async function askInChat(
	face: Face,
	{ signal, ...asked }: OpenQuestion & { readonly signal: AbortSignal },
): Promise<string | undefined> {
	const { seq, question, choices = [], explained = [] } = asked;
	/** By what is shown: how the answer that is typed then begins. */
	const inWords = new Map(
		choices.length === 0 ? [["answer", ""]] : [explained].flat().map((choice) => [inWordsOf(choice), `${choice}: `]),
	);
	const answers = [NOT_NOW, ...choices, ...inWords.keys()] as const;
	const put = { title: question, lines: [], answers, note: `${askerText(asked)} asks in #${seq}` } as const;
	const chosen = await face.put(put, signal);
	if (typeof chosen !== "number" || signal.aborted) return undefined;
	const answer = answers[chosen] as string;
	if (choices.includes(answer)) return answer;
	const typed = slash`answer ${String(seq)}`;
	const begin = inWords.get(answer);
	if (begin !== undefined) face.fill(`${typed} ${begin}`);
	else face.say([`it waits for: ${typed} ${answersText(asked)}`]);
	return undefined;
}

const inWordsOf = (choice: string): string => `${choice}, and ${choice === "edit" ? "what" : "why"}`;
