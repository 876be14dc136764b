/** Says a schema as JSON Schema, where it can say so itself. */
import type { StandardSchemaV1 } from "@reyn/wal";

/** As Standard JSON Schema has it. */
interface JsonSchemaSource {
	input(options: { readonly target: "draft-2020-12" }): Record<string, unknown>;
}

/** What goes into the schema; undefined: it has parts that JSON Schema has no words for, or does not say. */
export function jsonSchemaOf(schema: StandardSchemaV1): Readonly<Record<string, unknown>> | undefined {
	const { jsonSchema } = schema["~standard"] as { readonly jsonSchema?: JsonSchemaSource };
	try {
		const { $schema: _, ...said } = jsonSchema?.input({ target: "draft-2020-12" }) ?? {};
		return jsonSchema && said;
	} catch {
		return undefined;
	}
}
