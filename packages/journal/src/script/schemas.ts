/** Uses the JSON Schemas of scripts under a time limit: a pattern in one may take for ever, and it runs in the host. */
import { type Context, createContext, Script } from "node:vm";
import { z } from "zod";

/** The limit in milliseconds; any reasonable schema takes far less. */
const LIMIT_MS = 2000;

let context: Context | undefined;
const work = new Script("work()", { filename: "reyn:schemas" });

/** The zod schema of a JSON Schema. @throws if it is none */
export function shapeOf(schema: unknown): z.ZodType {
	return withinLimit(() => z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]));
}

/** Checks a value against a schema. @throws if that takes too long */
export const fit = (shape: z.ZodType, value: unknown): z.ZodSafeParseResult<unknown> =>
	withinLimit(() => shape.safeParse(value));

function withinLimit<T>(reckon: () => T): T {
	let done: { readonly value: T } | undefined;
	context ??= createContext({});
	context.work = () => {
		done = { value: reckon() };
	};
	try {
		work.runInContext(context, { timeout: LIMIT_MS });
	} catch (error) {
		if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
		throw new Error(`a comparison with it takes more than ${LIMIT_MS} ms; simplify its patterns`);
	}
	return (done as { readonly value: T }).value;
}
