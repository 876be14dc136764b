/** Says what this model cannot do, in one sentence, and does nothing. */
import type { Recogniser } from "./errand.ts";

const politely =
	"^\\W*(?:please |now |then |and |ok,? |just )*(?:(?:can|could|would|will) you (?:please |just )?|i (?:want|need) you to |i'd like you to )?(?:please |just )?";
// A verb alone may be a thing that is asked about ("update function?"), so what it is done to has to follow.
const target =
	'(?:to )?(?:me )?(?:\\d+ |all\\b|an?\\b|the\\b|th(?:is|at|ese|ose)\\b|it\\b|them\\b|everything\\b|my\\b|every\\b|some\\b|new\\b|tests?\\b|files?\\b|[`"“]|\\S*[\\w-]\\.[a-z]\\w*|\\S+/)';

const acts: readonly (readonly [verb: string, RegExp])[] = (
	[
		["delete", `(?:delete|remove|erase|wipe|drop|rm|unlink) (?:-\\w+ )*${target}`],
		[
			"browse",
			`(?:browse|google|bing|(?:search|look|check|ask)(?: \\w+){0,3} (?:the (?:web|internet|net)|google|online)|(?:open|visit|go to|fetch|get|download|curl|wget|read) \\S*:\\/\\/|download ${target}|look up .* online)`,
		],
		["fix", `(?:fix|repair|debug|solve|correct) ${target}`],
		[
			"run",
			`(?:run|execute|start|launch|build|compile|install|deploy|test) (?:${target}|(?:npm|pnpm|yarn|pip|python\\d?|node|make|cargo|go|git|pytest)\\b)`,
		],
		["commit", `(?:git )?(?:commit|push|merge|rebase|revert|stash) ${target}`],
		[
			"write",
			`(?:write|create|add|insert|append|generate|implement|save|make|draft|touch|mkdir) (?!(?:me )?an? (?:plan|report|summary|overview|list)\\b)${target}`,
		],
		[
			"change",
			`(?:change|edit|modify|rename|move|replace|refactor|rewrite|update|upgrade|convert|translate|format) ${target}`,
		],
		["send", `(?:send|e-?mail|post|publish|upload) ${target}`],
	] as const
).map(([verb, pattern]) => [verb, new RegExp(`${politely}${pattern}`, "iu")] as const);

/** "delete index.js" */
export const refusing: Recogniser = (question) => {
	const verb = acts.find(([, pattern]) => pattern.test(question))?.[0];
	return verb === undefined ? undefined : () => ({ text: cannot(verb) });
};

const cannot = (verb: string): string =>
	`I cannot ${verb} anything: I only search, read and quote the files of this directory.`;
