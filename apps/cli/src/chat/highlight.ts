/** What the words of code are, by highlight.js: loaded when the first block comes that has colours. */
import type { Highlight, Run } from "./code.ts";
import { hljs } from "./hljs.js";

export const highlight: Highlight = (language, text) => {
	const { value, _top } = hljs.highlight(text, { language, ignoreIllegals: true });
	return { runs: lastLineOf(value), isOpen: _top?.parent !== undefined };
};

const signs: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** The pieces of the last line of HTML that has spans and text and nothing else. */
function lastLineOf(html: string): readonly Run[] {
	const within: string[] = [];
	let runs: Run[] = [];
	for (const [tag, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
		if (tag === "</span>") within.pop();
		else if (scope !== undefined) within.push(scopeOf(scope));
		else {
			const end = tag.lastIndexOf("\n");
			if (end >= 0) runs = [];
			const text = tag.slice(end + 1).replace(/&(amp|lt|gt|quot|#x27);/g, (_, sign: string) => signs[sign] ?? "");
			// What is in a text or a comment and has no name of its own is a part of that.
			if (text !== "") runs.push({ text, scope: within.findLast((each) => each !== "") });
		}
	}
	return runs;
}

/** `hljs-title function_` is a title, and what is of another language is nothing by itself. */
const scopeOf = (names: string): string => /^hljs-(\S+)/.exec(names)?.[1] ?? "";
