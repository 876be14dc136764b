/** The JSON Schemas that scripts bring along: a pattern in one may look at a text for ever, and that is not in the script's own time. */
import { createContext, Script } from "node:vm";
import { z } from "zod";

/** Of all that anybody means, each takes less by far, in milliseconds. */
const LIMIT_MS = 2000;

const context = createContext({ work: () => {} });
const work = new Script("work()", { filename: "reyn:schemas" });

/** @throws where it is none */
export function shapeOf(schema: unknown): z.ZodType {
	return withinLimit(() => z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]));
}

/** @throws where it cannot be told in time */
export const fit = (shape: z.ZodType, value: unknown): z.ZodSafeParseResult<unknown> =>
	withinLimit(() => shape.safeParse(value));

function withinLimit<T>(reckon: () => T): T {
	let done: { readonly value: T } | undefined;
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
