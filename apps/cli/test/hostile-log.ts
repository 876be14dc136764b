/**
 * A log with a hostile text in every text field of every kind of record. The fields are those of the schemas, so that a kind or a
 * field that is new is there without anybody remembering it; only references between records are said here.
 */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { allRecords, layoutOf } from "@reyn/runtime";
import { type Draft, fileEngine, type Scope } from "@reyn/wal";
import { encodeRecord } from "../../../packages/wal/src/record/codec.ts";
import { walRecords } from "../../../packages/wal/src/record/wal-records.ts";
import { HOSTILE } from "../../../tests/kit/hostile.ts";

/** Hostile on both sides, and with a line that nobody has said. The mark is what is left of it in print. */
export const hostile = (mark: string): string => `${mark}${HOSTILE}\nFAKE ${mark}${HOSTILE}`;

/** What names the same thing in several records. */
export const ids = {
	plan: hostile("plan-1"),
	openPlan: hostile("plan-2"),
	step: hostile("step-1"),
	skillRun: hostile("skill-1"),
	openSkillRun: hostile("skill-2"),
	child: hostile("child-1"),
	script: hostile("script-1"),
	openScript: hostile("script-2"),
	agent: hostile("agent-1"),
	session: hostile("session-1"),
	// What a field that takes plain names alone has.
	label: "label_1",
	// What one that takes a hash has.
	hash: "ab".repeat(32),
};

const main: Scope = { agent: "default", session: "main" };

/** What a schema of zod 4 is made of, as far as records use it. */
interface Schema {
	readonly def: {
		readonly type: string;
		readonly innerType?: Schema;
		readonly shape?: Readonly<Record<string, Schema>>;
		readonly element?: Schema;
		readonly options?: readonly Schema[];
		readonly keyType?: Schema;
		readonly valueType?: Schema;
		readonly entries?: Readonly<Record<string, string>>;
		readonly values?: readonly unknown[];
	};
	safeParse(value: unknown): { readonly success: boolean };
}

/** The values that a schema lets through, one for each of its shapes, and whether there is text in them. */
function valuesOf(schema: Schema, mark: string): readonly { readonly value: unknown; readonly hasText: boolean }[] {
	const { type, innerType, shape = {}, element, options = [], valueType, entries = {}, values = [] } = schema.def;
	const only = (value: unknown, hasText: boolean) => [{ value, hasText }];
	switch (type) {
		case "string":
			if (schema.safeParse(hostile(mark)).success) return only(hostile(mark), true);
			return only(schema.safeParse(ids.label).success ? ids.label : ids.hash, false);
		case "unknown":
		// JSON of any shape.
		case "lazy":
			return only({ [hostile(`${mark}.key`)]: hostile(mark) }, true);
		case "number":
		case "int":
			return only(1, false);
		case "boolean":
			return only(true, false);
		case "enum":
			return only(Object.values(entries)[0], false);
		case "literal":
			return only(values[0], false);
		case "readonly":
			return valuesOf(innerType as Schema, mark);
		case "nullable":
			return [...only(null, false), ...valuesOf(innerType as Schema, mark)];
		case "optional":
			// Without text it has nothing to show, and what it means would have to fit the other records.
			return valuesOf(innerType as Schema, mark).map((each) =>
				each.hasText ? each : { value: undefined, hasText: false },
			);
		case "array":
			return valuesOf(element as Schema, mark).map(({ value, hasText }) => ({ value: [value], hasText }));
		case "record":
			return valuesOf(valueType as Schema, mark).map(({ value }) => ({
				value: { [hostile(`${mark}.key`)]: value },
				hasText: true,
			}));
		case "union":
			return options.flatMap((option) => valuesOf(option, mark));
		case "object": {
			const fields = Object.entries(shape).map(([name, field]) => [name, valuesOf(field, `${mark}.${name}`)] as const);
			const most = Math.max(1, ...fields.map(([, found]) => found.length));
			return Array.from({ length: most }, (_, at) => {
				const chosen = fields.map(([name, found]) => [name, found[Math.min(at, found.length - 1)]] as const);
				return {
					value: Object.fromEntries(chosen.map(([name, found]) => [name, found?.value])),
					hasText: chosen.some(([, found]) => found?.hasText),
				};
			});
		}
		default:
			throw new Error(`${mark} is of a sort of schema that this does not know: ${type}; say here what fits it`);
	}
}

/** The log's own kinds have schemas of no library: their fields stand here. */
const ofTheLog: Readonly<Record<string, object>> = {
	wal_epoch: { epoch: 1, pid: 1, host: hostile("wal_epoch.host") },
	wal_recovered: {
		seq: 1,
		bytes: 1,
		sha256: hostile("wal_recovered.sha256"),
		keptIn: hostile("wal_recovered.keptIn"),
	},
	wal_repaired: { lost: [[1, 1]], why: hostile("wal_repaired.why"), keptIn: [hostile("wal_repaired.keptIn")] },
	wal_lost: {},
};

export interface HostileLog {
	readonly tip: number;
	/** Every kind that is in it. */
	readonly kinds: ReadonlySet<string>;
	/** The marks of all its texts. */
	readonly marks: ReadonlySet<string>;
	/** A checkpoint near the end. */
	readonly checkpoint: number;
}

export async function writeHostileLog(state: string, script: string): Promise<HostileLog> {
	const engine = fileEngine(layoutOf(state).wal);
	const log = engine.log("main");
	const [marks, kinds] = [new Set<string>(), new Set<string>()];
	const seqs = new Map<string, number>();
	const spilled: number[] = [];
	let [seq, crc] = [0, ""];
	const encode = ({ kind, data }: Draft, scope: Scope): string => {
		const text = JSON.stringify(data);
		for (const [, mark = ""] of `${text}${JSON.stringify(scope)}${kind}`.matchAll(/FAKE ([\w.-]+)/g)) marks.add(mark);
		const encoded = encodeRecord({
			seq: ++seq,
			ts: 1_767_225_600_000,
			kind,
			scope,
			data: text,
			dur: seq - 1,
			prev: crc,
		});
		crc = encoded.crc;
		kinds.add(kind);
		if (kind === "assistant_message") spilled.push(seq);
		seqs.set(kind, seq);
		return encoded.line;
	};
	const lease = await log.acquire({
		owner: { pid: process.pid, host: hostname(), started: new Date().toISOString(), command: "test" },
		nonce: "n",
		fresh: { log: "a1".repeat(16), salt: "a1".repeat(4), now: 1_767_225_600_000 },
		proven: async () => 0,
		opening(at) {
			crc = at.prev;
			return [encode({ kind: "wal_epoch", data: ofTheLog.wal_epoch }, {})];
		},
	});
	const append = async (draft: Draft, scope: Scope): Promise<void> => {
		const before = seq;
		await log.append(lease, before, [encode(draft, scope)]);
	};

	/** What refers to another record, or decides what becomes of it. */
	const referring = (kind: string): Readonly<Record<string, unknown>> => {
		const isScript = kind.startsWith("script_");
		return {
			plan: ids.plan,
			step: ids.step,
			steps: kind === "plan_started" || kind === "plan_amended" ? 2 : [ids.step],
			run: isScript ? ids.script : ids.skillRun,
			lane: `script/${ids.script}`,
			turn: seqs.get("user_prompt") ?? 1,
			message: seqs.get("assistant_message") ?? 1,
			reset: seqs.get("reset") ?? 1,
			target: 1,
			...(isScript ? { script: sha256(script), args: sha256("null") } : {}),
		};
	};
	const scopeOf = (kind: string): Scope => {
		if (kind.startsWith("script_") || kind.startsWith("step_s") || kind === "step_completed" || kind === "step_failed")
			return { ...main, run: ids.script };
		return kind === "label" || kind === "reset_settled" || kind === "step_late" ? {} : main;
	};
	/** A record of each shape of its kind; `given` replaces fields that it has. */
	const add = async (
		kind: string,
		given: Readonly<Record<string, unknown>> = {},
		scope = scopeOf(kind),
	): Promise<void> => {
		const found = allRecords.find((each) => each.kind === kind) as unknown as { readonly schema: Schema };
		for (const { value } of valuesOf(found.schema, kind)) {
			const fields = Object.entries(value as object).map(([name, text]) => {
				const replaced = { ...referring(kind), ...given };
				return [name, name in replaced && text !== undefined ? replaced[name] : text];
			});
			const data = Object.fromEntries(fields);
			if (!found.schema.safeParse(JSON.parse(JSON.stringify(data))).success)
				throw new Error(`${kind}: what was made of its schema does not fit it: ${JSON.stringify(data)}`);
			await append({ kind, data }, scope);
		}
	};

	for (const { kind } of walRecords) if (kind !== "wal_epoch") await append({ kind, data: ofTheLog[kind] }, {});
	// Scripts and plans begin before what happens in them.
	const order = [...allRecords].map(({ kind }) => kind).sort((a, b) => Number(isEarly(b)) - Number(isEarly(a)));
	for (const kind of order) await add(kind, kind === "reset" ? { target: seq } : {});

	// And what is still under way: a session, a turn with tools, a plan, a skill run, a script that waits for an answer.
	await add("session_opened", {}, { agent: ids.agent, session: ids.session });
	await add("user_prompt", {}, { agent: ids.agent, session: ids.session });
	await add("user_prompt");
	const turn = seqs.get("user_prompt");
	const tools = {
		toolCalls: [{ id: hostile("call.id"), name: hostile("call.name"), args: { [hostile("call.arg")]: 1 } }],
	};
	await add("step_completed", { lane: `turn/${turn}`, kind: "model", result: tools }, main);
	await add("tool_failed", { turn, call: hostile("call.id") });
	await add("plan_started", { plan: ids.openPlan });
	await add("plan_step_failed", { plan: ids.openPlan });
	await add("plan_paused", { plan: ids.openPlan });
	await add("skill_run_started", { run: ids.child, parent: `plan/${ids.openPlan}/${hostile("parent.step")}/0/f:0` });
	await add("skill_run_started", { run: ids.openSkillRun, parent: undefined });
	await add("skill_phase_entered", { run: ids.openSkillRun });
	const open: Scope = { ...main, run: ids.openScript };
	await add("script_started", { run: ids.openScript }, open);
	await add("step_failed", { lane: `script/${ids.openScript}` }, open);
	await add("step_started", { lane: `script/${ids.openScript}`, kind: "ask", name: "ask" }, open);
	await append({ kind: hostile("unknown.kind"), data: { [hostile("unknown.key")]: hostile("unknown.data") } }, open);
	await add("label");
	await add("checkpoint");
	// What was spilled is nowhere; what is delivered has to be.
	for (const message of spilled) await append({ kind: "message_delivered", data: { message } }, main);
	await add("assistant_message", { turn, spilled: undefined });
	await log.release(lease);
	await engine.close();
	return { tip: seq, kinds, marks, checkpoint: seqs.get("checkpoint") ?? 0 };
}

const isEarly = (kind: string): boolean => kind === "script_started" || kind === "script_resumed";

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
