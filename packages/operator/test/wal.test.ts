/** Verbs over the files of a log: each record as it is stored, those to come, and a repair that costs exactly what was accepted. */
import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf } from "@reyn/runtime";
import { verifyLog } from "@reyn/wal/tools";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	type ClosedDesk,
	type ClosedVerb,
	carryOutClosed,
	documentSchema,
	givenFor,
	type StreamVerb,
} from "../src/index.ts";
import { type House, openHouse, say, verbOf } from "./house.ts";

let house: House;
let log: string;
beforeAll(async () => {
	house = await openHouse();
	log = layoutOf(house.state).wal;
});
afterAll(() => house[Symbol.asyncDispose]());

const never = new AbortController().signal;

async function told(name: string, raw: object = {}, signal = never) {
	const verb = verbOf(name) as StreamVerb;
	const given = givenFor(verb, raw as Record<string, unknown>);
	const found: { readonly seq: number; readonly lines: readonly string[] }[] = [];
	for await (const each of verb.tell(log, given, signal)) {
		const { seq } = documentSchema(verb).parse(JSON.parse(JSON.stringify(each))) as { seq: number };
		found.push({ seq, lines: verb.lines(each, say, given) });
	}
	return found;
}

const seqsOf = async (...of: Parameters<typeof told>): Promise<readonly number[]> =>
	(await told(...of)).map(({ seq }) => seq);

describe("records as they are stored", () => {
	test("one in full, some or all in a line each", async () => {
		const { tip } = house.runtime.wal;
		const [one] = await told("wal inspect", { ref: "@" });
		expect([one?.seq, JSON.parse(one?.lines.join("") ?? "")]).toEqual([tip, expect.objectContaining({ seq: tip })]);
		expect(await seqsOf("wal inspect", { from: "2", to: "4" })).toEqual([2, 3, 4]);
		const all = await told("wal inspect");
		expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: tip }, (_, at) => at + 1));
		expect(all[1]?.lines).toEqual([expect.stringMatching(/^#2 \d{4}-.*Z user_prompt default\/main \{/)]);
		expect(await seqsOf("wal tail", { lines: "2" })).toEqual([tip - 1, tip]);
	});

	test.each([
		[{ ref: "2", from: "1" }, "OPERATOR_ARGS"],
		[{ from: "x" }, "OPERATOR_ARGS"],
		[{ from: "-1" }, "OPERATOR_ARGS"],
		[{ ref: "x" }, "OPERATOR_BAD_REF"],
		[{ ref: "9999" }, "OPERATOR_NOT_FOUND"],
	])("%j is refused", async (raw, code) => {
		await expect(told("wal inspect", raw)).rejects.toMatchObject({ code });
	});

	test("those to come are told as they come, until it is stopped", async () => {
		const stop = new AbortController();
		const { tip } = house.runtime.wal;
		const verb = verbOf("wal tail") as StreamVerb;
		const all = verb.tell(log, givenFor(verb, { lines: "1", follow: true }), stop.signal)[Symbol.asyncIterator]();
		for (const at of [0, 1, 2]) {
			expect((await all.next()).value).toMatchObject({ seq: tip + at });
			await house.runtime.timeline.label(tip, `name-${at}`, { actor: "me" });
		}
		await all.return?.();
		const other = seqsOf("wal tail", { lines: "0", follow: true }, stop.signal);
		stop.abort();
		expect(await other).toEqual([]);
	});
});

describe("a repair", () => {
	async function damaged(): Promise<{
		readonly copy: string;
		repair(raw?: object): ReturnType<typeof carryOutClosed>;
	}> {
		const copy = await mkdtemp(join(house.state, "..", "copy-"));
		await cp(log, copy, { recursive: true });
		const file = join(copy, "wal.jsonl");
		await writeFile(file, (await readFile(file, "utf8")).replace('{"v":1,"seq":4,"ts":1', '{"v":1,"seq":4,"ts":2'));
		const desk: ClosedDesk = { examining: (use) => use(copy), changing: (use) => use(copy), say };
		const verb = verbOf("wal repair") as ClosedVerb;
		return {
			copy,
			async repair(raw = {}) {
				const done = await carryOutClosed(verb, raw as Record<string, unknown>, desk);
				documentSchema(verb).parse(JSON.parse(JSON.stringify(done.document)));
				return done;
			},
		};
	}

	test("is shown, refused without the exact loss, and done with it", async () => {
		const { copy, repair } = await damaged();
		const { outcome, document, lines } = await repair();
		expect([outcome, document]).toMatchObject(["previewed", { applied: false, proposal: { accept: "4..4" } }]);
		expect(lines.at(-1)).toBe("wal repair --apply --accept-loss 4..4");
		for (const acceptLoss of [undefined, "4", "3..4"])
			await expect(repair({ apply: true, acceptLoss })).rejects.toMatchObject({ code: "WAL_LOSS_NOT_ACCEPTED" });
		expect((await verifyLog(copy)).state).toBe("damaged");
		const done = await repair({ apply: true, acceptLoss: "4..4" });
		expect([done.outcome, done.document]).toMatchObject(["done", { applied: true, proposal: { lost: [[4, 4]] } }]);
		expect(done.lines).toEqual(expect.arrayContaining(["lost: seq 4: 1 record", "done; check with: wal verify"]));
		expect((await verifyLog(copy)).state).toBe("sound");
		expect((await repair({ apply: true })).lines).toEqual(["nothing to repair: the log is sound"]);
	});
});
