/** Shows what lies in a folder that a question names: "what is in the docs folder?" */
import type { Errand, Recogniser } from "./errand.ts";
import { gather, isError } from "./evidence.ts";
import { overview } from "./overview.ts";
import { isPath } from "./terms.ts";

const name = "[`\"“']?([\\w@.-][\\w@./-]*)[`\"”']?";
const forms: readonly RegExp[] = [
	new RegExp(
		`\\b(?:what(?:'s| is| are| files are| lies| does)?|(?:list|show)(?: me)?(?: all)?(?: the)?(?: files| contents?)?)(?: there)?(?: in| of| under| below| inside)?(?: the)? ${name} (?:folder|directory)\\b`,
		"i",
	),
	new RegExp(
		`^\\W*(?:what(?:'s| is| are| files are| lies)|(?:list|show)(?: me)?(?: all)?(?: the)?(?: files| contents?)?)(?: there)? (?:in|of|under|below|inside)(?: the)?(?: folders?| directory)? ${name}\\W*$`,
		"i",
	),
];
const general = /^(?:this|the|that|it|here|there|a|an|these|each|which|main|root|current|whole)$/i;

export const unfolding: Recogniser = (question) => {
	const named = forms.map((form) => form.exec(question)?.[1]?.replace(/[./]+$/, "")).find((each) => each !== undefined);
	return named === undefined || named === "" || general.test(named) || isPath(named.split("/").at(-1) ?? "")
		? undefined
		: unfold(named);
};

const unfold =
	(path: string): Errand =>
	(turn, tools) => {
		if (!tools.has("list")) return { passed: 0 };
		if (turn.rounds === 0) return { calls: [{ name: "list", args: { path } }] };
		const result = turn.lookups[0]?.result;
		if (result === undefined || isError(result)) return { passed: 1 };
		const { listing } = gather({ rounds: 1, lookups: turn.lookups.slice(0, 1) });
		return listing === undefined ? { passed: 1 } : { text: overview(listing, [], [], path).join("\n") };
	};
