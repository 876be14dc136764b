import type { LogEngine } from "../engine.ts";
import { defineRecord, type Scope, type WalRecord } from "../record.ts";
import type { StandardSchemaV1 } from "../standard-schema.ts";
import { openWal, type Wal } from "../wal.ts";

/** The part of vitest, jest or any other runner that the suite uses. */
export interface Runner {
	describe(name: string, body: () => void): void;
	test(name: string, body: () => Promise<void>): void;
	expect(value: unknown): { toEqual(expected: unknown): void; toBe(expected: unknown): void };
}

export interface EngineUnderTest {
	readonly name: string;
	/** A fresh, empty log; each call of the returned function opens the same one again. */
	make(): Promise<() => LogEngine>;
}

/** Runs the contract of the log over an engine. */
export function testEngine({ describe, test, expect }: Runner, { name, make }: EngineUnderTest): void {
	const open = (engine: LogEngine, readOnly = false): Promise<Wal> => openWal(engine, { records: [said], readOnly });

	describe(`the log over ${name}`, () => {
		test("seqs start at 1 and have no gaps, over a restart too", async () => {
			const engine = await make();
			await using first = await open(engine());
			const seqs = ["a", "b", "c"].map((text) => first.append(said({ text }), {}).seq);
			expect(seqs).toEqual([2, 3, 4]); // 1 is the writer's own wal_epoch
			await first.close();
			await using second = await open(engine());
			expect(second.append(said({ text: "d" }), {}).seq).toBe(6);
			expect((await all(second)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
		});

		test("a record comes back as it was appended, with its scope", async () => {
			const engine = await make();
			const scope: Scope = { agent: "default", session: "main", run: "p1" };
			await using wal = await open(engine());
			const { record, durable } = wal.append(said({ text: "żółw\n\u2028\"'" }), scope);
			await durable;
			expect(await texts(wal)).toEqual(["żółw\n\u2028\"'"]);
			await wal.close();
			await using again = await open(engine());
			const [back] = await all(again, { after: record.seq - 1, through: record.seq });
			expect(
				back && { seq: back.seq, ts: back.ts, kind: back.kind, scope: back.scope, data: back.data, crc: back.crc },
			).toEqual({ ...record });
		});

		test("durable resolves in order, and the durable tip follows", async () => {
			const engine = await make();
			await using wal = await open(engine());
			const order: number[] = [];
			const appends = Array.from({ length: 100 }, (_, i) => wal.append(said({ text: String(i) }), {}));
			await Promise.all(appends.map(({ seq, durable }) => durable.then(() => order.push(seq))));
			expect(order).toEqual(appends.map(({ seq }) => seq));
			expect(wal.durableTip).toBe(wal.tip);
		});

		test("a later change of the argument changes nothing", async () => {
			const engine = await make();
			await using wal = await open(engine());
			const data = { text: "before" };
			wal.append(said(data), {});
			data.text = "after";
			expect(await texts(wal)).toEqual(["before"]);
		});

		test("a range is read by seq, scope and kind", async () => {
			const engine = await make();
			await using wal = await open(engine());
			for (let i = 0; i < 600; i++) wal.append(said({ text: String(i) }), { agent: i % 2 === 0 ? "even" : "odd" });
			expect((await all(wal, { after: 599, through: 601 })).map(({ seq }) => seq)).toEqual([600, 601]);
			expect((await all(wal, { after: 597, scope: { agent: "odd" } })).map(({ seq }) => seq)).toEqual([599, 601]);
			expect(await all(wal, { after: wal.tip })).toEqual([]);
			expect((await all(wal, { kinds: { except: ["said"] } })).map(({ kind }) => kind)).toEqual(["wal_epoch"]);
		});

		test("what does not fit is refused before a seq is taken", async () => {
			const engine = await make();
			await using wal = await open(engine());
			const { tip } = wal;
			expect(codeOf(() => wal.append({ kind: "unheard_of", data: {} }, {}))).toBe("WAL_INVALID_RECORD");
			expect(codeOf(() => wal.append({ kind: "said", data: { text: 7 } }, {}))).toBe("WAL_INVALID_RECORD");
			expect(codeOf(() => wal.append(said({ text: "x".repeat(9_000_000) }), {}))).toBe("WAL_TOO_LARGE");
			expect(codeOf(() => wal.append(said({ text: "x" }), { run: "alone" }))).toBe("WAL_INVALID_RECORD");
			expect(wal.tip).toBe(tip);
		});

		test("there is one writer; a reader looks on, and sees what was durable when it opened", async () => {
			const engine = await make();
			await using wal = await open(engine());
			await wal.append(said({ text: "a" }), {}).durable;
			expect(await codeOfAsync(() => open(engine()))).toBe("WAL_LOCKED");
			await using reader = await open(engine(), true);
			expect(await texts(reader)).toEqual(["a"]);
			expect(codeOf(() => reader.append(said({ text: "b" }), {}))).toBe("WAL_READ_ONLY");
		});

		test("closing waits for what is queued; nothing can be appended afterwards", async () => {
			const engine = await make();
			const wal = await open(engine());
			wal.append(said({ text: "last words" }), {});
			await wal.close();
			await wal.close();
			expect(codeOf(() => wal.append(said({ text: "too late" }), {}))).toBe("WAL_CLOSED");
			await using again = await open(engine());
			expect(await texts(again)).toEqual(["last words"]);
		});
	});
}

const said = defineRecord("said", {
	"~standard": {
		version: 1,
		vendor: "reyn",
		validate: (value) =>
			typeof (value as { text?: unknown }).text === "string"
				? { value: value as { text: string } }
				: { issues: [{ message: "expected a string", path: ["text"] }] },
	},
} satisfies StandardSchemaV1<{ text: string }>);

async function all(wal: Wal, range?: Parameters<Wal["read"]>[0]): Promise<WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of wal.read(range)) records.push(record);
	return records;
}

async function texts(wal: Wal): Promise<string[]> {
	return (await all(wal)).filter((record) => said.is(record)).map(({ data }) => data.text);
}

function codeOf(run: () => unknown): unknown {
	try {
		run();
		return "no error";
	} catch (error) {
		return (error as { code?: unknown }).code;
	}
}

async function codeOfAsync(run: () => Promise<unknown>): Promise<unknown> {
	try {
		await run();
		return "no error";
	} catch (error) {
		return (error as { code?: unknown }).code;
	}
}
