/** One turn by itself: calls that somebody may forbid, or hold. */
import { type GatedCall, journal, type Model, recall, type Tool, type Verdict } from "@reyn/journal";
import { recordedIn } from "@reyn/journal/internal";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline } from "@reyn/timetravel";
import { memoryBlobs, memoryEngine, openWal, type WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { conversation } from "../src/features/conversation/conversation.ts";
import { userPrompt } from "../src/features/conversation/records.ts";
import { runTurn } from "../src/features/conversation/turn.ts";
import { allRecords } from "../src/features/index.ts";
import { mainSession } from "../src/index.ts";
import { Session } from "../src/kernel/session.ts";
import { cutAfter, kindsIn } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted } from "./project.ts";

const pay = (more: Partial<Tool> = {}): Tool & { readonly paid: unknown[] } => {
	const paid: unknown[] = [];
	return {
		name: "pay",
		description: "pays",
		parameters: {},
		purity: "side_effect",
		paid,
		call: async (args) => `receipt ${paid.push(args)}`,
		...more,
	};
};

/** Pays, and says then what it was told. */
const payer = () =>
	scripted((request) => (request.messages.length === 1 ? [{ name: "pay" }] : `told: ${lastOf(request)}`));

/** A session over a log in memory, with one prompt. */
async function begun() {
	const wal = await openWal(memoryEngine(), { records: allRecords });
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections: [journal, conversation] });
	const session = new Session(mainSession, await openSession(timeline, mainSession));
	const { seq: turn } = session.log.append(userPrompt({ text: "pay", by: "person" }), mainSession);
	const asked: GatedCall[] = [];
	const run = (model: Model, tool: Tool, verdict: Verdict) =>
		runTurn(session, turn, {
			log: session.log,
			logId: wal.id,
			recall: (step, program) => recall(session.view.get(journal), step, program),
			recordedIn: (lane) => recordedIn(session.view.get(journal), lane),
			whenInDoubt: () => "retry",
			signal: new AbortController().signal,
			gate: async (call) => {
				asked.push(call);
				return call.type === "tool" ? verdict : { kind: "pass" };
			},
			model,
			instructions: "pay",
			tools: [tool],
			texts: memoryBlobs(),
			maxRounds: 12,
			mendings: 1,
			more: async () => false,
			keep: async (write) => write(),
			onText() {},
		});
	const records = async (): Promise<readonly WalRecord[]> => {
		const all: WalRecord[] = [];
		for await (const record of wal.read()) if (!record.kind.startsWith("wal_")) all.push(record);
		return all;
	};
	const replies = () =>
		session.view
			.get(conversation)
			.items.toArray()
			.flatMap((item) => (item.type === "reply" ? [item.text] : []));
	return { session, run, asked, records, replies };
}

describe("a gate", () => {
	test("denies a call: the model is told so, nothing has begun, and a record says that it failed", async () => {
		const { run, replies, records } = await begun();
		const tool = pay();
		await run(payer(), tool, { kind: "deny", code: "NOT_ALLOWED", reason: "nobody may pay" });
		expect([tool.paid, replies()]).toEqual([[], ["told: ERROR: nobody may pay"]]);
		const kinds = (await records()).map(({ kind }) => kind);
		expect(kinds).not.toContain("step_started");
		expect(kinds).toContain("tool_failed");
	});

	test("lets a call wait: the turn stays open, and goes on by what is recorded when it may", async () => {
		const { session, run, replies, asked } = await begun();
		const [tool, model] = [pay(), payer()];
		await expect(run(model, tool, { kind: "wait", for: "a person" })).rejects.toMatchObject({ code: "CALL_WAITING" });
		expect([session.view.get(conversation).open.length, tool.paid, replies()]).toEqual([1, [], []]);
		await run(model, tool, { kind: "pass" });
		expect([tool.paid.length, replies(), model.asked.length]).toEqual([1, ["told: receipt 1"], 2]);
		// The first answer of the model is recalled, and the call has one key.
		expect(asked.map(({ type }) => type)).toEqual(["model", "tool", "tool", "model"]);
		expect(asked[1]?.key).toBe(asked[2]?.key);
	});
});

describe("in a runtime", () => {
	let project: Project;
	beforeEach(async () => {
		project = await makeProject();
	});
	afterEach(() => project[Symbol.asyncDispose]());

	test("a turn whose call waits is kept for a person, and none of it is lost", async () => {
		const tool = pay({ inDoubt: "ask" });
		const { runtime } = await open(project, { model: payer(), tools: [tool] });
		await runtime.prompt("pay");
		await runtime.idle();
		await runtime.close();
		const started = (await kindsIn(project)).indexOf("step_started") + 1;
		// It is in doubt, and nobody is there to be asked.
		const state = await cutAfter(project, started);
		const model = payer();
		const next = await open({ ...project, state }, { model, tools: [tool] });
		next.runtime.resume();
		await next.runtime.idle();
		expect(next.events).toContainEqual(
			expect.objectContaining({ type: "turn_end", outcome: "stopped", reason: expect.stringContaining("waits for") }),
		);
		expect([next.runtime.restored().turns.length, tool.paid.length, model.asked]).toEqual([1, 1, []]);
		await next.runtime.close();
	});

	test("a refused plan is recorded as an error, and shown as one in the next turn too", async () => {
		const invalid = [{ name: "plan", args: { goal: "x", steps: [] } }];
		const model = scripted(({ messages }) => (messages.at(-1)?.text === "why?" ? "so it is" : invalid));
		const { runtime } = await open(project, { model });
		await runtime.prompt("plan!");
		await runtime.prompt("why?");
		await runtime.idle();
		const results: unknown[] = [];
		for await (const { data } of runtime.wal.read({ kinds: { only: ["step_completed"] } })) {
			const { kind, result } = data as { kind: string; result: unknown };
			if (kind === "tool") results.push(result);
		}
		const text = expect.stringMatching(/^this plan cannot be run: /);
		expect(results).toEqual([
			{ text, isError: true },
			{ text, isError: true },
		]);
		const shown = model.asked.map(({ messages }) =>
			messages.flatMap((each) => (each.role === "tool" ? [each.text] : [])),
		);
		expect(shown[1]).toEqual([expect.stringMatching(/^ERROR: this plan cannot be run: /)]);
		expect(shown[2]).toEqual([shown[1]?.[0], shown[1]?.[0]]);
		await runtime.close();
	});
});
