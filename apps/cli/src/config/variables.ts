/** Settings as variables of the environment: `REYN_PLAN_CONCURRENCY=2` is `plan.concurrency`. */
import { parse } from "yaml";
import { CliError } from "../exit-code.ts";
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
