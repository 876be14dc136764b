/** Whose a record is, as a key: whatever a log has for a name, and which names a new record may have. */
import { expect, test } from "vitest";
import { defineRecord, memoryEngine, openWal, type Scope, scopeKey } from "../src/index.ts";
import { encodeRecord } from "../src/record/codec.ts";

const note = defineRecord("note", {
	"~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
});

test("the key of a well-formed scope is what it always was", () => {
	expect(scopeKey({})).toBe("");
	expect(scopeKey({ agent: "default", session: "main", run: "p12" })).toBe("default/main/p12");
	expect(scopeKey({ agent: "a/b", session: "..", run: "50% Größe 🦊" })).toBe(
		"a%2Fb/%2E%2E/50%25%20Gr%C3%B6%C3%9Fe%20%F0%9F%A6%8A",
	);
});

test("each scope has a key of its own, halves of characters or not", () => {
	const names = [
		"\ud800",
		"\udc00",
		"\udc00\ud800",
		"\ud800\udc00",
		"a\ud83eb",
		"%ud800",
		"\\ud800",
		"\ufffd",
		"",
		".",
	];
	const keys = names.map((agent) => scopeKey({ agent }));
	expect(new Set(keys).size).toBe(names.length);
	expect(keys[0]).toBe("%ud800");
	expect(scopeKey({ agent: "a\ud83eb", session: "c d" })).toBe("a%ud83eb/c%20d");
});

test("no new record is of a scope with half a character", async () => {
	await using wal = await openWal(memoryEngine(), { records: [note] });
	const { tip } = wal;
	for (const scope of [
		{ agent: "\ud800" },
		{ agent: "a", session: "b\udc00" },
		{ agent: "a", session: "b", run: "\ud800c" },
	])
		expect(() => wal.append(note({}), scope)).toThrow(
			expect.objectContaining({
				code: "WAL_INVALID_RECORD",
				message: expect.stringContaining("half a character"),
				detail: { scope },
			}),
		);
	expect(wal.tip).toBe(tip);
	await wal.append(note({}), { agent: "🦊" }).durable;
});

test("a log that has such a scope is read", async () => {
	const engine = memoryEngine();
	await (await openWal(engine, { records: [note] })).close();
	const log = engine.log("main");
	const lease = await log.acquire({
		owner: { pid: 1, host: "h", started: "", command: "" },
		nonce: "n",
		fresh: { log: "a1".repeat(16), salt: "a1".repeat(4), now: 1 },
		proven: async () => 0,
		opening: () => [],
	});
	const scope: Scope = { agent: "\ud800", session: "main" };
	const { seq, crc } = lease.tail;
	await log.append(lease, seq, [
		encodeRecord({ seq: seq + 1, ts: 1, kind: "note", scope, data: "{}", dur: seq, prev: crc }).line,
	]);
	await log.release(lease);
	await using wal = await openWal(engine, { records: [note], readOnly: true });
	const keys: string[] = [];
	for await (const record of wal.read({ after: seq, scope })) keys.push(scopeKey(record.scope));
	expect(keys).toEqual(["%ud800/main"]);
});
