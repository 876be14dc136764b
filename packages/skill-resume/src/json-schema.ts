/** What a standard schema says: as JSON Schema, where it can say so itself, and of a value. */
import type { Read } from "@reyn/journal/internal";
import type { StandardSchemaV1 } from "@reyn/wal";

/** As Standard JSON Schema has it. */
interface JsonSchemaSource {
	input(options: { readonly target: "draft-2020-12" }): Record<string, unknown>;
}

/** Once for each schema: a tool is made of it for every turn and step. */
const known = new WeakMap<StandardSchemaV1, Readonly<Record<string, unknown>> | undefined>();

/** What goes into the schema; undefined: it has parts that JSON Schema has no words for, or does not say. */
export function jsonSchemaOf(schema: StandardSchemaV1): Readonly<Record<string, unknown>> | undefined {
	if (!known.has(schema)) known.set(schema, saidBy(schema));
	return known.get(schema);
}

function saidBy(schema: StandardSchemaV1): Readonly<Record<string, unknown>> | undefined {
	const { jsonSchema } = schema["~standard"] as { readonly jsonSchema?: JsonSchemaSource };
	try {
		const { $schema: _, ...said } = jsonSchema?.input({ target: "draft-2020-12" }) ?? {};
		return jsonSchema && said;
	} catch {
		return undefined;
	}
}

/** The value as the schema makes it, or what is wrong with it, with its field. */
export function fit<T>(schema: StandardSchemaV1<unknown, T>, value: unknown): Read<T> {
	const result = schema["~standard"].validate(value);
	if (result instanceof Promise) return { kind: "not", why: "its schema is asynchronous" };
	if (!result.issues) return { kind: "fits", value: result.value };
	const why = result.issues.map(({ path, message }) => `${path?.map(String).join(".") ?? ""}: ${message}`);
	return { kind: "not", why: why.join("; ") };
}
