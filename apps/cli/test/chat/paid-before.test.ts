/** What a turn that goes on has cost is that of all processes that worked on it, from the log. */
import { journalRecords, stepCompleted, stepFailed } from "@reyn/journal";
import { memoryEngine, openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import { paidBefore } from "../../src/chat/paid-before.ts";
import { costTogether } from "../../src/cost.ts";

const scope = { agent: "default", session: "main" };
const prices = { "openai/a": { input: 1, output: 2 } };
const call = (lane: string, occ: number) => ({
	...{ lane, fp: "f", occ, kind: "model", name: "openai/a", purity: "llm" as const },
});
const answered = (lane: string, occ: number, more: object = {}) =>
	stepCompleted({ ...call(lane, occ), result: "x", usage: { inputTokens: 10, outputTokens: 5 }, ...more });

test("the calls of the turn are summed up, those of other work and what was recalled are not, and a failed one is unknown", async () => {
	const wal = await openWal(memoryEngine(), { records: journalRecords });
	const { seq: turn } = wal.append(answered("turn/1", 0), scope);
	for (const draft of [
		...[answered(`turn/${turn}`, 0), answered(`turn/${turn}`, 1), answered("plan/p2/a/1", 0)],
		answered(`turn/${turn}`, 2, { adopts: 3 }),
		stepFailed({ ...call(`turn/${turn}`, 3), attempt: 1, retryable: true, reason: { message: "away" } }),
	])
		await wal.append(draft, scope).durable;
	expect(await paidBefore({ wal, prices }, turn)).toEqual({ tokens: 30, cost: { usd: "0.00004", unknown: 1 } });
	expect(await paidBefore({ wal, prices }, undefined)).toEqual({ tokens: 0, cost: { usd: "0", unknown: 0 } });
	expect(costTogether({ usd: "0.00004", unknown: 1 }, { usd: "1.5", unknown: 0 })).toEqual({
		usd: "1.50004",
		unknown: 1,
	});
	await wal.close();
});
