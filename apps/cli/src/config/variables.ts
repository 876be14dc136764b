/** Settings as variables of the environment: `REYN_PLAN_CONCURRENCY=2` is `plan.concurrency`. */
import { parse } from "yaml";
import { CliError } from "../exit-code.ts";
import { reyn } from "../suggest.ts";
import { configSchema } from "./schema.ts";

/** @returns undefined for a variable that is no setting @throws CliError `CLI_CONFIG` */
export function fromVariable(
	name: string,
	text: string,
): { readonly path: readonly string[]; readonly value: unknown } | undefined {
	const path = pathOf(name);
	if (!path) return undefined;
	const [group = "", key] = path;
	const given = group === "model" ? text : scalar(text);
	const found = configSchema.safeParse(key === undefined ? { [group]: given } : { [group]: { [key]: given } });
	if (!found.success)
		throw new CliError(
			"CLI_CONFIG",
			`${name}: ${found.error.issues[0]?.message.replace(/^Invalid (input|option): /, "")}; found ${JSON.stringify(text)}`,
		);
	return { path, value: given };
}

/** A value as it is typed: YAML, or the text itself. */
export function scalar(text: string): unknown {
	try {
		return parse(text, { maxAliasCount: 0 });
	} catch {
		return text;
	}
}

function pathOf(name: string): readonly string[] | undefined {
	for (const [group, schema] of Object.entries(configSchema.shape)) {
		const shape = "shape" in schema.unwrap() ? (schema.unwrap() as { shape: object }).shape : undefined;
		if (!shape && variable([group]) === name) return [group];
		const key = Object.keys(shape ?? {}).find((each) => variable([group, each]) === name);
		if (key !== undefined) return [group, key];
	}
	return undefined;
}

/** The variable of a path: `REYN_PLAN_CONCURRENCY`. */
export const variable = (path: readonly string[]): string => `REYN_${path.join("_").toUpperCase()}`;

/** Other variables may begin so too: of one that is like none nothing is said. */
const MOST_WRONG = 2;

/** Why a variable does nothing, if it was meant to do something. */
export function unknownText(name: string): readonly string[] {
	const near = names().find((each) => differences(each, name) <= MOST_WRONG);
	if (near !== undefined) return [`${name} is not known; did you mean ${near}?`];
	const isOfGroup = Object.keys(configSchema.shape).some((group) => name.startsWith(`${variable([group])}_`));
	return isOfGroup ? [`${name} is not known; ${reyn`config schema`} has what may be set`] : [];
}

function names(): readonly string[] {
	return Object.entries(configSchema.shape).flatMap(([group, schema]) => {
		const of = schema.unwrap();
		return "shape" in of ? Object.keys(of.shape).map((key) => variable([group, key])) : [variable([group])];
	});
}

/** How many letters one would add, take away or change to make one word of the other. */
function differences(one: string, other: string): number {
	let row = Array.from({ length: other.length + 1 }, (_, at) => at);
	for (const [i, letter] of [...one].entries()) {
		const next = [i + 1];
		for (const [j, each] of [...other].entries())
			next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (letter === each ? 0 : 1)));
		row = next;
	}
	return row.at(-1) ?? 0;
}
