/** The log, record by record: whatever is asked for, windows of it are together what is there. */
import { scopeKey, within } from "@reyn/wal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { documentSchema, type ReadVerb } from "../src/index.ts";
import { asJson } from "../src/text.ts";
import { type House, openHouse, say, verbOf } from "./house.ts";

interface Row {
	readonly seq: number;
	readonly kind: string;
	readonly active: boolean;
	readonly data: string;
}

let house: House;
beforeAll(async () => {
	house = await openHouse();
	await house.runtime.prompt("where is the ferry?", { agent: "default", session: "side" });
	await house.runtime.idle();
	await house.runtime.checkout(5, "user");
	for (let i = 0; i < 90; i++) await house.runtime.prompt(`question ${i}`, { agent: "default", session: "side" });
	await house.runtime.idle();
});
afterAll(() => house[Symbol.asyncDispose]());

async function read(raw: Readonly<Record<string, unknown>>) {
	const verb = verbOf("records") as ReadVerb;
	const given = Object.fromEntries(
		Object.entries(verb.params).map(([key, { schema }]) => [key, schema.parse(raw[key])]),
	);
	const found = await verb.read(house.runtime, given);
	documentSchema(verb).parse(JSON.parse(asJson(found)));
	return { ...(found as { tip: number; next?: number; records: Row[] }), lines: verb.lines(found, say, given) };
}

/** All of it, by windows. */
async function all(raw: Readonly<Record<string, unknown>>, n: number): Promise<readonly Row[]> {
	const rows: Row[] = [];
	for (let before: number | undefined; ; ) {
		const { records, next } = await read({ ...raw, n, ...(before !== undefined && { before }) });
		rows.push(...records);
		if (next === undefined) return rows;
		before = next;
	}
}

const side = { agent: "default", session: "side" };

test.each([
	["all", {}, () => true],
	["of a kind", { kind: "step_" }, ({ kind }: { kind: string }) => kind.startsWith("step_")],
	["of one kind, and none that only begins so", { kind: "reset" }, ({ kind }: { kind: string }) => kind === "reset"],
	["of no kind that there is", { kind: "nothing" }, () => false],
	["of a session", { session: "side" }, ({ scope }: { scope: object }) => within(scope, side)],
	[
		"with words",
		{ words: "FERRY  where" },
		({ data }: { data: unknown }) => /ferry/i.test(JSON.stringify(data)) && /where/i.test(JSON.stringify(data)),
	],
])("windows of any size are together what the log has: %s", async (_, raw, isWanted) => {
	const { wal, timeline } = house.runtime;
	const expected: [number, string, boolean][] = [];
	for await (const record of wal.read())
		if (isWanted(record as never)) expected.unshift([record.seq, record.kind, timeline.lineage.isActive(record)]);
	for (const n of [17, 1000]) {
		const rows = await all(raw, n);
		expect(rows.map(({ seq, kind, active }) => [seq, kind, active])).toEqual(expected);
	}
	expect(wal.tip).toBeGreaterThan(600);
	if (!("kind" in raw)) expect(expected.some(([, , active]) => !active)).toBe(true);
});

test("what is long is cut, what moves a cursor is not shown, and what is older is said", async () => {
	await house.runtime.prompt(`\u001b[2Jlong ${"word ".repeat(500)}`, side);
	await house.runtime.idle();
	const { records, next, lines } = await read({ words: "long", n: 1 });
	expect(records[0]?.data.length).toBeLessThanOrEqual(400);
	expect(lines).toEqual([
		expect.stringMatching(/^#\d+ {2}.* UTC {2}\w+ {2}default\/side {2}/),
		`older ones: records --before ${next}`,
	]);
	expect(lines.join("")).not.toContain("\u001b");
	expect(records).toMatchObject([{ active: true }]);
	expect(scopeKey(side)).toBe("default/side");
});
