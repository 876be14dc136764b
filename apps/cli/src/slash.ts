/** What is typed behind a slash, read as a verb and what it takes. */
import { type ClosedVerb, isOptional, type StreamVerb, typedName, type Verb, verbs } from "@reyn/operator";
import { CliError } from "./exit-code.ts";
import { reyn } from "./suggest.ts";

/** What can be typed behind a slash. */
export type SlashVerb = Exclude<Verb, StreamVerb | ClosedVerb>;

export interface Slashed {
	readonly verb: SlashVerb;
	readonly raw: Readonly<Record<string, unknown>>;
	readonly dryRun: boolean;
	readonly yes: boolean;
}

/** Other names of verbs that people know. */
const also: Readonly<Record<string, string>> = {
	...{ tree: "log --graph", plan: "plan list", skill: "skill list", script: "script list", task: "task list" },
};

/** Verbs, and commands, of a shell that are nothing to type here, and why. */
export const inShellAlone: Readonly<Record<string, string>> = {
	"script watch": "what runs here is told here, and /script show says what a run has done",
	"script save": "it writes a file",
	"skill new": "it writes a file",
	"wal inspect": "here /show <seq> --entry shows a record",
	"wal tail": "what happens here is told here",
	"wal repair": "it repairs a log that no process has: leave first",
};

export const slashVerbs: readonly SlashVerb[] = verbs.filter(
	(verb): verb is SlashVerb => verb.access !== "stream" && verb.access !== "closed",
);

/**
 * Reads a line that begins with a slash: `/plan resume p12 --from s3`. A word too many is the value of an option that may have it,
 * as the mode in `/rewind 142 code_only`.
 *
 * @throws CliError `CLI_USAGE`
 */
export function readSlash(line: string): Slashed {
	const typed = line.slice(1).trim();
	const words = ((Object.hasOwn(also, typed) && also[typed]) || typed).split(/\s+/);
	const verb = slashVerbs.findLast(({ name }) => name === words.slice(0, name.split(" ").length).join(" "));
	const two = words.slice(0, 2).join(" ");
	if (Object.hasOwn(inShellAlone, two))
		throw new CliError("CLI_USAGE", `${reyn([two])} is a command of a shell: ${inShellAlone[two]}`);
	if (!verb) throw new CliError("CLI_USAGE", unknown(words[0] ?? ""));
	const rest = words.slice(verb.name.split(" ").length);
	const raw: Record<string, unknown> = {};
	const places = Object.entries(verb.params).filter(([, { as }]) => as === "word" || as === "text");
	let [dryRun, yes] = [false, false];
	while (rest.length > 0) {
		const next = rest.shift() as string;
		const name = /^--?([a-z][a-z-]*)$/.exec(next)?.[1];
		if (name === "yes") yes = true;
		else if (name === "dry-run") dryRun = true;
		else if (name !== undefined) {
			const isNo = name.startsWith("no-");
			const [key, param] =
				Object.entries(verb.params).find(([each, { negated }]) =>
					isNo && negated !== undefined ? typedName(each) === name.slice(3) : typedName(each) === name,
				) ?? [];
			if (key === undefined) throw new CliError("CLI_USAGE", `/${verb.name} has no ${next}; ${usage(verb)}`);
			if (param?.isMany) raw[key] = [...((raw[key] as string[]) ?? []), unquoted(upToOption(rest))];
			else if (param?.reads === "json") raw[key] = upToOption(rest).replace(/^'(.*)'$/, "$1");
			else raw[key] = param?.as === "flag" ? !(isNo && param.negated !== undefined) : wholeValue(rest);
		} else {
			const [place] = places;
			if (place?.[1].as === "text") raw[place[0]] = unquoted([next, ...rest.splice(0)].join(" "));
			else if (place) raw[place[0]] = next;
			else raw[optionOf(verb, next)] = next;
			places.shift();
		}
	}
	const missing = places.find(([, param]) => !isOptional(param));
	if (missing) throw new CliError("CLI_USAGE", `${usage(verb)}: <${missing[1].value}> is missing`);
	return { verb, raw, dryRun, yes };
}

/** Quotes around the whole are of whoever is used to a shell, as are the single ones around JSON. */
const unquoted = (text: string): string => text.replace(/^"([^"]*)"$/, "$1");

/** A word, or several in quotes. */
function wholeValue(rest: string[]): string | undefined {
	const end = rest[0]?.startsWith('"')
		? rest.findIndex((word, at) => word.endsWith('"') && (at > 0 || word !== '"'))
		: 0;
	return rest.length === 0 ? undefined : unquoted(rest.splice(0, Math.max(0, end) + 1).join(" "));
}

/** Texts of many words, and JSON, have spaces in them. */
function upToOption(rest: string[]): string {
	const next = rest.findIndex((word) => word.startsWith("--"));
	return rest.splice(0, next < 0 ? rest.length : next).join(" ");
}

function unknown(word: string): string {
	const known = slashVerbs.flatMap(({ name }) => (name.startsWith(`${word} `) ? [name.slice(word.length + 1)] : []));
	return known.length > 0 ? `/${word} knows ${known.join(", ")}` : `there is no /${word}; /help lists what there is`;
}

function optionOf(verb: Verb, word: string): string {
	const found = Object.entries(verb.params).find(([, { choices }]) => choices?.includes(word));
	if (found) return found[0];
	throw new CliError("CLI_USAGE", `/${verb.name} takes no "${word}"; ${usage(verb)}`);
}

/** `/rewind <ref> [--mode mode] [--scope scope]` */
export function usage({ name, params }: Verb): string {
	const parts = Object.entries(params).map(([key, param]) => {
		if (param.as === "flag") return ` [--${typedName(key)}]`;
		if (param.as === "option") return ` [--${typedName(key)} ${param.value}]`;
		return isOptional(param) ? ` [${param.value}]` : ` <${param.value}>`;
	});
	return `/${name}${parts.join("")}`;
}
