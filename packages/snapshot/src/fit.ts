/** Checks a stored value against its schema. */
import type { StandardSchemaV1 } from "@reyn/wal";

/** Thrown for a value that was stored soundly but does not fit its schema. */
export class Misfit extends Error {}

/** The value as its schema returns it; without a schema, unchanged. @throws Misfit */
export function fit(schema: StandardSchemaV1<unknown, unknown> | undefined, value: unknown): unknown {
	if (!schema) return value;
	const result = schema["~standard"].validate(value);
	if (result instanceof Promise) throw new Misfit("its schema is asynchronous; a state needs one that answers at once");
	if (result.issues) throw new Misfit(`it does not fit its schema: ${result.issues[0]?.message}`);
	return result.value;
}
