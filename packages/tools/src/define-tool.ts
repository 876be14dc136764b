import type { Tool, ToolContext } from "@reyn/journal";
import { z } from "zod";
import { ToolError } from "./errors.ts";

/** A tool that only looks: its arguments are parsed by `schema`, which is also what the model is shown. */
export function defineLookup<Args>(spec: {
	readonly name: string;
	readonly description: string;
	readonly schema: z.ZodType<Args>;
	call(args: Args, context: ToolContext): Promise<string>;
}): Tool {
	const { $schema: _, ...parameters } = z.toJSONSchema(spec.schema, { io: "input" });
	return {
		name: spec.name,
		description: spec.description,
		parameters,
		purity: "world",
		async call(args, context) {
			context.signal.throwIfAborted();
			const parsed = spec.schema.safeParse(args);
			if (!parsed.success) throw new ToolError("TOOL_INVALID_ARGS", `${spec.name}: ${complaint(parsed.error)}`);
			return spec.call(parsed.data, context);
		},
	};
}

function complaint(error: z.ZodError): string {
	return error.issues
		.map(({ path, message }) => (path.length === 0 ? message : `"${path.join(".")}": ${message}`))
		.join("; ")
		.replaceAll("\n", " ");
}
