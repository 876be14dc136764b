/** Kinds of record from any Standard Schema library, with their types; and what such a schema may not do. */
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
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

	test("what JSON leaves out is left out, for the writer as for readers", async () => {
		await using wal = await openWal(memoryEngine(), { records: [anything] });
		const { record } = wal.append(anything({ kept: 1, dropped: undefined, nan: Number.NaN, [Symbol("s")]: 1 }), {});
		expect(record.data).toEqual({ kept: 1, nan: null });
		for await (const { data: found } of wal.read({ after: 1 })) expect(found).toEqual(record.data);
	});
});
