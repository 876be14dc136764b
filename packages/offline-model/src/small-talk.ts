/** Answers greetings, thanks and questions about the model itself. */
import { termsOf } from "./terms.ts";

const introduction =
	"I am the offline model: no network and no key, the same answer every time. I do not reason; I look things up in this directory and quote what I find with path:line.";
const abilities =
	'Ask where something is ("where is the config parsed?"), what something is ("what is a snapshot?"), what a file holds ("what is in src/index.ts?"), or what is here ("give me an overview"). For several things at once ("compare A and B", "explain X with references") I make a plan that works in the background.';

const talk: readonly (readonly [RegExp, string])[] = [
	[
		/^(?:who|what) (?:are|r) (?:you|u)\b|^(?:introduce yourself|your name)\b|^what(?:'s| is) your name\b|^which model\b/,
		`${introduction} ${abilities}`,
	],
	[
		/^(?:what|how) (?:can|could|do) (?:you|i) (?:do|help|ask|use you|use this)\b|^(?:help|\?)(?: me)?$|^how does this work$|^how do you work$/,
		`${introduction} ${abilities}`,
	],
	[
		/^(?:thanks|thank you|thx|cheers|ty|great|nice|perfect|awesome|cool|good job|well done|merci|danke)\b/,
		"You are welcome.",
	],
	[/^(?:bye|goodbye|see you|good night|ciao)\b/, "Goodbye. Everything so far is in the log; come back any time."],
	[/^(?:how are you|how's it going|how do you do)\b/, "All files are in reach. What shall I look for?"],
	[
		/^(?:hi|hello|hey|hallo|hola|moin|yo|good (?:morning|afternoon|evening|day)|greetings)\b/,
		"Hello. What shall I look for in this directory?",
	],
	[
		/^(?:ok|okay|yes|yep|no|nope|sure|fine|right|alright|got it|i see|never mind|nevermind|stop|h+m+|oh|ah|um+|lol|test)$/,
		"All right. What shall I look for next?",
	],
];

/** A short answer to what is no question about the directory. */
export function smallTalk(text: string): string | undefined {
	const bare = text
		.toLowerCase()
		.replaceAll("’", "'")
		.replace(/[^\p{L}\p{N}' ?]+/gu, " ")
		.replace(/\s+/g, " ")
		.trim()
		.replace(/(?!^)\?+$/, "")
		.trim();
	const found = talk.find(([pattern]) => pattern.test(bare));
	if (found === undefined) return undefined;
	// "Hi, where is the lock?" is a question.
	const rest = bare.replace(found[0], "");
	return termsOf(rest).filter(
		(term) => !/^(?:there|everyone|all|friend|reyn|assistant|bot|sir|team|help|job|work|lot|much)$/.test(term.needle),
	).length === 0
		? found[1]
		: undefined;
}
