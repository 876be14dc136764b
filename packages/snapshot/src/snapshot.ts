/** A stored view: an envelope that says of which log, seq and record it is, and a checksum over all of it. */
import { createHash } from "node:crypto";
import type { Scope, Seq } from "@reyn/wal";
import { z } from "zod";
import { View } from "./fold.ts";
import type { AnyProjection } from "./projection.ts";

const FORMAT_VERSION = 1;

const envelope = z.strictObject({
	v: z.literal(FORMAT_VERSION),
	log: z.string(),
	seq: z.int().nonnegative(),
	/** The crc of the record at `seq`: a seq that was given out twice, around a torn tail, never matches. */
	crc: z.string(),
	scope: z.strictObject({ agent: z.string().optional(), session: z.string().optional(), run: z.string().optional() }),
	states: z.record(z.string(), z.strictObject({ version: z.int(), state: z.unknown().optional() })),
});

/** Which record a snapshot is of. */
export interface SnapshotKey {
	readonly log: string;
	readonly scope: Scope;
	readonly seq: Seq;
	readonly crc: string;
}

export type Loaded =
	| { readonly kind: "view"; readonly view: View }
	/** Sound, but of no use here: another log, another life of this seq, a projection that it lacks. */
	| { readonly kind: "foreign"; readonly why: string }
	| { readonly kind: "rotten"; readonly why: string }
	| { readonly kind: "newer"; readonly version: unknown };

/** Two lines: the checksum, then the JSON that it is of. */
export function encodeSnapshot({ log, scope, seq, crc }: SnapshotKey, view: View): string {
	const states = Object.fromEntries(
		view.projections.map((projection) => [
			projection.name,
			{ version: projection.version, state: view.get(projection) },
		]),
	);
	const json = JSON.stringify({ v: FORMAT_VERSION, log, seq, crc, scope, states } satisfies z.input<typeof envelope>);
	return `${sha256(json)}\n${json}\n`;
}

export function decodeSnapshot(text: string, key: SnapshotKey, projections: readonly AnyProjection[]): Loaded {
	const [sum, json] = text.split("\n", 2);
	if (json === undefined || sha256(json) !== sum) return { kind: "rotten", why: "its checksum does not fit" };
	const value: unknown = JSON.parse(json);
	const version = (value as { v?: unknown }).v;
	if (typeof version === "number" && version > FORMAT_VERSION) return { kind: "newer", version };
	const parsed = envelope.safeParse(value);
	if (!parsed.success) return { kind: "rotten", why: z.prettifyError(parsed.error) };
	const { log, seq, crc } = parsed.data;
	if (log !== key.log || seq !== key.seq || crc !== key.crc) return { kind: "foreign", why: "it is of another record" };
	const states = new Map<string, unknown>();
	for (const projection of projections) {
		const stored = parsed.data.states[projection.name];
		if (!stored) return { kind: "foreign", why: `it has no "${projection.name}"` };
		if (stored.version > projection.version) return { kind: "newer", version: `${projection.name} ${stored.version}` };
		try {
			states.set(projection.name, checkedState(projection, stored));
		} catch (error) {
			return { kind: "foreign", why: (error as Error).message };
		}
	}
	return { kind: "view", view: View.of(key.scope, seq, projections, states) };
}

/** Which record a stored snapshot is of; undefined when its checksum or its shape does not fit. */
export function identifySnapshot(text: string): Pick<SnapshotKey, "log" | "seq"> | undefined {
	const [sum, json] = text.split("\n", 2);
	if (json === undefined || sha256(json) !== sum) return undefined;
	const parsed = envelope.pick({ log: true, seq: true }).loose().safeParse(JSON.parse(json));
	return parsed.success ? { log: parsed.data.log, seq: parsed.data.seq } : undefined;
}

function checkedState(projection: AnyProjection, { version, state }: { version: number; state?: unknown }): unknown {
	const current = version === projection.version ? state : projection.migrate(state, version);
	const result = projection.schema["~standard"].validate(current);
	if (result instanceof Promise) throw new Error(`the schema of "${projection.name}" is asynchronous`);
	if (result.issues)
		throw new Error(`the state of "${projection.name}" does not fit its schema: ${result.issues[0]?.message}`);
	return result.value;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
