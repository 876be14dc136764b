import type { StandardSchemaV1 } from "@reyn/wal";

/** Sound, but not what is expected. */
export class Misfit extends Error {}

/** The value as its schema gives it back; without a schema as it is. @throws Misfit */
export function fit(schema: StandardSchemaV1<unknown, unknown> | undefined, value: unknown): unknown {
	if (!schema) return value;
	const result = schema["~standard"].validate(value);
	if (result instanceof Promise) throw new Misfit("its schema is asynchronous; a state needs one that answers at once");
	if (result.issues) throw new Misfit(`it does not fit its schema: ${result.issues[0]?.message}`);
	return result.value;
}
