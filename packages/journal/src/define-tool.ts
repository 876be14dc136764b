/** Defines a tool by one zod schema, which both checks the arguments and is shown to the model. */
import { z } from "zod";
import { JournalError } from "./errors.ts";
import type { Json, Keeping, Tool, ToolAnswer, ToolContext, Want } from "./ports.ts";

export interface ToolDefinition<Args> extends Omit<Tool, "parameters" | "wants" | "prepare" | "call"> {
	/** The schema of the arguments, an object. The functions get its output. It must not be asynchronous. */
	readonly input: z.ZodType<Args>;
	wants?(args: Args, context: Pick<ToolContext, "signal">): Promise<readonly Want[]>;
	prepare?(args: Args, context: Pick<ToolContext, "signal"> & Keeping): Promise<Json>;
	call(args: Args, context: ToolContext): Promise<string | ToolAnswer>;
}

/** Defines a tool. Wrong arguments fail with a JournalError `TOOL_INVALID_ARGS`, whose message tells a model how to correct them. */
export function defineTool<Args>(definition: ToolDefinition<Args>): Tool {
	const { input, wants, prepare, call, ...rest } = definition;
	const checked = (args: unknown): Args => {
		const read = input.safeParse(args);
		if (read.success) return read.data;
		throw new JournalError("TOOL_INVALID_ARGS", `${rest.name}: ${complaint(read.error)}`, { tool: rest.name });
	};
	return {
		...rest,
		parameters: parametersOf(input),
		...(wants && { wants: async (args, context) => wants.call(definition, checked(args), context) }),
		...(prepare && { prepare: async (args, context) => prepare.call(definition, checked(args), context) }),
		async call(args, context) {
			context.signal.throwIfAborted();
			return call.call(definition, checked(args), context);
		},
	};
}

/** As a model is shown it. Tools are made anew for whoever is offered them, and their schemas stay. */
function parametersOf(input: z.ZodType): Tool["parameters"] {
	const known = parameters.get(input);
	if (known) return known;
	const { $schema: _, ...made } = z.toJSONSchema(input, { io: "input" });
	parameters.set(input, made);
	return made;
}

const parameters = new WeakMap<z.ZodType, Tool["parameters"]>();

/** The complaints of a schema in one line: each field, and what it has to be. */
const complaint = ({ issues }: z.ZodError): string =>
	issues
		.map(({ path, message }) => (path.length === 0 ? message : `"${path.join(".")}": ${message}`))
		.join("; ")
		.replaceAll("\n", " ");
