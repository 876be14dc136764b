/** Kinds of record from any Standard Schema library, with their types; and what such a schema may not do. */
import { runInNewContext } from "node:vm";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import { type AnyRecordKind, type Draft, defineRecord, memoryEngine, openWal, type WalRecord } from "../src/index.ts";

const fromZod = defineRecord("paid_zod", z.object({ order: z.string(), cents: z.int() }));
const fromValibot = defineRecord(
	"paid_valibot",
	v.object({ order: v.string(), cents: v.pipe(v.number(), v.integer()) }),
);
const fromArktype = defineRecord("paid_arktype", type({ order: "string", cents: "number.integer" }));
const data = { order: "a17", cents: 1250 };

test("a kind that is not registered is refused, with some of those that are and where it belongs", async () => {
	const kinds = Array.from({ length: 10 }, (_, at) => defineRecord(`kind_${at}`, z.object({})));
	const refusalOf = async (records: readonly AnyRecordKind[]): Promise<string> => {
		await using wal = await openWal(memoryEngine(), { records });
		try {
			wal.append(fromZod(data), {});
		} catch (error) {
			return (error as Error).message;
		}
		return "";
	};
	const few = await refusalOf(kinds.slice(0, 2));
	expect(few).toContain("kind_0, kind_1. Add it to `records`, that of openWal or of the feature");
	const many = await refusalOf(kinds);
	expect(many).toContain("kind_2, kind_3 and 6 more. Add it");
	expect(many).not.toContain("kind_4");
});

describe.each<[string, AnyRecordKind & ((data: never) => Draft)]>([
	["zod", fromZod],
	["valibot", fromValibot],
	["arktype", fromArktype],
])("a kind from %s", (_, kind) => {
	test("is checked when it is written and when it is read", async () => {
		await using wal = await openWal(memoryEngine(), { records: [kind] });
		await wal.append(kind(data as never), {}).durable;
		for (const wrong of [{ order: "a17", cents: "many" }, { order: "a17" }, null, "text"]) {
			const { tip } = wal;
			let error: unknown;
			try {
				wal.append(kind(wrong as never), {});
			} catch (caught) {
				error = caught;
			}
			expect(error).toMatchObject({ code: "WAL_INVALID_RECORD", detail: { kind: kind.kind } });
			expect(wal.tip).toBe(tip);
		}
		expect(() => wal.append(kind({ order: "a17", cents: "many" } as never), {})).toThrow(/cents/);
		const found: unknown[] = [];
		for await (const record of wal.read({ after: 1 })) found.push(record.data);
		expect(found).toEqual([data]);
	});
});

test("types are those of the schema", () => {
	const record = {} as WalRecord;
	if (fromZod.is(record)) expectTypeOf(record.data).toEqualTypeOf<{ order: string; cents: number }>();
	if (fromValibot.is(record)) expectTypeOf(record.data).toEqualTypeOf<{ order: string; cents: number }>();
	if (fromArktype.is(record)) expectTypeOf(record.data).toEqualTypeOf<{ order: string; cents: number }>();
	expectTypeOf(fromZod).parameter(0).toEqualTypeOf<{ order: string; cents: number }>();
	expectTypeOf(fromZod(data)).toEqualTypeOf<Draft>();
	// @ts-expect-error a field is missing
	fromZod({ order: "a17" });
	// @ts-expect-error a field has another type
	fromValibot({ order: "a17", cents: "many" });
	// What goes in and what comes out may differ: a default need not be given, and is always there.
	const noted = defineRecord("noted", z.object({ text: z.string(), stars: z.int().default(0) }));
	expectTypeOf(noted).parameter(0).toEqualTypeOf<{ text: string; stars?: number | undefined }>();
	if (noted.is(record)) expectTypeOf(record.data).toEqualTypeOf<{ text: string; stars: number }>();
	expect(noted({ text: "a" }).kind).toBe("noted");
});

test("a record is written as redaction leaves it, and read so at once", async () => {
	const noted = defineRecord("noted", z.object({ text: z.string() }));
	const engine = memoryEngine();
	const redact = ({ data }: Draft): Draft => ({
		kind: "other",
		data: { text: (data as { text: string }).text.replace("key", "…") },
	});
	await using wal = await openWal(engine, { records: [noted], redact });
	expect(wal.append(noted({ text: "a key" }), {}).record).toMatchObject({ kind: "noted", data: { text: "a …" } });
	const read: WalRecord[] = [];
	for await (const record of wal.read({ kinds: { only: ["noted"] } })) read.push(record);
	expect(read).toMatchObject([{ data: { text: "a …" } }]);
});

describe("data that would not come back as it went in is refused, and takes no seq", () => {
	const cyclic: Record<string, unknown> = {};
	cyclic.self = cyclic;
	const anything = defineRecord("anything", z.any());
	const dated = defineRecord("dated", z.object({ at: z.date() }));
	const shouted = defineRecord(
		"shouted",
		z.string().transform((text) => `${text}!`),
	);
	const later = defineRecord(
		"later",
		z.string().refine(async () => true),
	);

	test.each<[string, Draft, string]>([
		["a cycle", anything(cyclic), "WAL_INVALID_RECORD"],
		["a BigInt", anything({ n: 1n }), "WAL_INVALID_RECORD"],
		["a function", anything(() => 1), "WAL_INVALID_RECORD"],
		["undefined", anything(undefined), "WAL_INVALID_RECORD"],
		["a symbol", anything(Symbol("s")), "WAL_INVALID_RECORD"],
		["a date", dated({ at: new Date(0) }), "WAL_INVALID_RECORD"],
		["a schema that changes its own output", shouted("hey"), "WAL_INVALID_RECORD"],
		["a schema that answers later", later("text"), "WAL_INVALID_RECORD"],
		["a kind that nobody registered", defineRecord("unknown", z.any())(1), "WAL_INVALID_RECORD"],
		["a record over the size limit", anything("x".repeat(8 * 1024 * 1024)), "WAL_TOO_LARGE"],
		["as many bytes in fewer characters", anything("€".repeat(3 * 1024 * 1024)), "WAL_TOO_LARGE"],
		["nesting over the limit", anything(JSON.parse("[".repeat(65) + "]".repeat(65))), "WAL_TOO_LARGE"],
	])("%s", async (_, draft, code) => {
		await using wal = await openWal(memoryEngine(), { records: [anything, dated, shouted, later] });
		let error: unknown;
		try {
			wal.append(draft, {});
		} catch (caught) {
			error = caught;
		}
		expect(error).toMatchObject({ code, detail: { kind: draft.kind } });
		expect([wal.tip, wal.durableTip]).toEqual([1, 1]);
	});

	const loose = defineRecord("loose", z.object({ at: z.union([z.string(), z.date()]) }));
	class Money {
		readonly cents = 1;
	}

	test.each<[string, Draft, string]>([
		["a date that its schema takes as a text, too", loose({ at: new Date(0) }), "Date at $.at"],
		["a date", anything([{ at: new Date(0) }]), "Date at $[0].at"],
		["a date that is none", anything(new Date(Number.NaN)), "Date at $"],
		["no number", anything({ a: { nan: Number.NaN } }), "NaN at $.a.nan"],
		["infinity", anything([1, Number.POSITIVE_INFINITY]), "Infinity at $[1]"],
		["a map", anything({ map: new Map([[1, 2]]) }), "Map at $.map"],
		["a set", anything({ set: new Set([1]) }), "Set at $.set"],
		["bytes", anything({ bytes: new Uint8Array(1) }), "Uint8Array at $.bytes"],
		["an object of a class", anything({ price: new Money() }), "Money at $.price"],
		["a boxed text", anything({ a: Object("x") }), "String at $.a"],
		["what gives another JSON", anything({ toJSON: () => 5 }), "toJSON at $"],
		["a function in an object", anything({ f: () => 1 }), "function at $.f"],
		["a symbol in an object", anything({ s: Symbol("s") }), "symbol at $.s"],
		["undefined in a list", anything([1, undefined]), "undefined at $[1]"],
		["a list with a hole", anything(Object.assign([], { 1: 1 })), "undefined at $[0]"],
	])("%s, by its place", async (_, draft, found) => {
		await using wal = await openWal(memoryEngine(), { records: [anything, loose] });
		expect(() => wal.append(draft, {})).toThrow(
			expect.objectContaining({
				code: "WAL_INVALID_RECORD",
				message: expect.stringContaining(`found ${found}.`),
				detail: { kind: draft.kind, path: found.replace(/.* at /, "") },
			}),
		);
		expect(wal.tip).toBe(1);
	});

	test("a getter that throws", async () => {
		await using wal = await openWal(memoryEngine(), { records: [anything] });
		const data = {
			get a(): never {
				throw new Error("mine");
			},
		};
		expect(() => wal.append(anything(data), {})).toThrow(
			expect.objectContaining({ code: "WAL_INVALID_RECORD", message: expect.stringContaining("mine") }),
		);
	});

	test("plain data of another realm is plain data", async () => {
		await using wal = await openWal(memoryEngine(), { records: [anything] });
		const { record } = wal.append(anything(runInNewContext("({ a: [{ b: 1 }] })")), {});
		expect(record.data).toEqual({ a: [{ b: 1 }] });
	});

	test("what is far too large is refused before it is serialised, however it is made up", async () => {
		await using wal = await openWal(memoryEngine(), { records: [anything] });
		const stringify = vi.spyOn(JSON, "stringify");
		const small = "x".repeat(1024 * 1024);
		for (const data of ["x".repeat(8 * 1024 * 1024 + 1), { a: Array(9).fill(small) }, Array(9_000_000).fill(1)])
			expect(() => wal.append(anything(data), {})).toThrow(
				expect.objectContaining({ code: "WAL_TOO_LARGE", detail: { kind: "anything" } }),
			);
		const calls = stringify.mock.calls.length;
		stringify.mockRestore();
		expect(calls).toBe(0);
	});

	test("half a character becomes U+FFFD for the writer as for readers: every reader of JSON takes the line", async () => {
		const engine = memoryEngine();
		await using wal = await openWal(engine, { records: [anything] });
		const cut = { text: "a \ud83d", "\udc00": ["\ud83e\udd8a", "\\ud83d", "\\\ud83d"] };
		const whole = { text: "a \ufffd", "\ufffd": ["\ud83e\udd8a", "\\ud83d", "\\\ufffd"] };
		const { record, durable } = wal.append(anything(cut), {});
		await durable;
		expect(record.data).toEqual(whole);
		for await (const { data: found } of wal.read({ after: 1 })) expect(found).toEqual(whole);
		expect(() => wal.append(anything({ "\ud800": 1, "\ud801": 2 }), {})).toThrow(
			expect.objectContaining({ code: "WAL_INVALID_RECORD" }),
		);
	});

	test("a key without a value is left out, for the writer as for readers", async () => {
		await using wal = await openWal(memoryEngine(), { records: [anything] });
		const { record } = wal.append(anything({ kept: 1, dropped: undefined, [Symbol("s")]: 1, zero: -0 }), {});
		expect(record.data).toEqual({ kept: 1, zero: 0 });
		for await (const { data: found } of wal.read({ after: 1 })) expect(found).toEqual(record.data);
	});
});
