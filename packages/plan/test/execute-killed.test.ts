/** A plan that is killed after every single append, and goes on: nothing that is finished is paid again. */
import { journal, type Tool } from "@reyn/journal";
import { entriesOf, lanesOf } from "@reyn/journal/internal";
import { describe, expect, test } from "vitest";
import { failing, outbox, Process, planOf, type Script, scripted } from "./plan-process.ts";

/** Two steps side by side, one with an effect and one that looks at the world, and a last one that needs both. */
const plan = planOf("s1 uses send", "s2 uses look", "s3 needs s1 s2");

interface Life {
	readonly model: Script;
	/** The idempotency keys that the effect was made with. */
	readonly sent: (string | undefined)[];
	readonly tools: readonly Tool[];
}

function life(): Life {
	const sent: (string | undefined)[] = [];
	const tool = { description: "", parameters: {} };
	return {
		sent,
		model: scripted({
			s1: [{ calls: [["send", { to: "bob" }]] }, "bob knows"],
			s2: [{ calls: [["look", {}]] }, "it rains"],
			s3: "bob knows that it rains",
		}),
		tools: [
			{
				...tool,
				name: "send",
				purity: "side_effect",
				call: async (_, { idempotencyKey }) => `sent ${sent.push(idempotencyKey) && ""}`,
			},
			{ ...tool, name: "look", purity: "world", call: async () => "rain" },
		],
	};
}

interface Deaths {
	/** Appends of each process before it dies. */
	readonly appends: readonly number[];
	readonly tailIsLost: boolean;
}

/** Lets processes die one after the other, then one that lives; gives what became of the plan. */
async function survive({ appends, tailIsLost }: Deaths, check: (kept: Kept, paid: readonly string[]) => void) {
	const { model, sent, tools } = life();
	let process = await Process.start({ model, tools });
	for (const left of [...appends, Number.POSITIVE_INFINITY]) {
		process = await process.next({ model, tools, appends: left, tailIsLost });
		const kept = keptBy(process);
		const before = model.paid.length;
		const outcome = await process.execute(plan).catch((error: Error) => error);
		check(kept, model.paid.slice(before));
		if (!(outcome instanceof Error)) {
			const again = await process.next({ appends: Number.POSITIVE_INFINITY });
			const survived = { outcome, outbox: again.view.get(outbox), status: again.run().status };
			const open = lanesOf(again.view.get(journal));
			await again[Symbol.asyncDispose]();
			return { ...survived, open, model, sent };
		}
		expect(process.isDead, String(outcome)).toBe(true);
	}
	throw new Error("the last process should have lived");
}

interface Kept {
	/** Steps whose outcome is in the log. */
	readonly finished: readonly string[];
	/** Model calls whose answer is in the log, by lane. */
	readonly answered: ReadonlyMap<string, number>;
}

/** What a process finds in the log when it starts. */
function keptBy(process: Process): Kept {
	const steps = process.run()?.steps ?? {};
	const state = process.view.get(journal);
	return {
		finished: Object.keys(steps).filter((step) => steps[step]?.status === "completed"),
		answered: new Map(
			lanesOf(state).map((lane) => [
				lane.split("/")[2] ?? "",
				entriesOf(state, lane).filter(({ purity, outcome }) => purity === "llm" && outcome).length,
			]),
		),
	};
}

/** A step that is finished is not asked at all, and no other step again for an answer that is kept. */
function paysForNothingTwice({ finished, answered }: Kept, paid: readonly string[]): void {
	for (const call of paid) {
		const [step = "", turn] = call.split("/");
		expect(finished, `${call} was paid although ${step} is finished`).not.toContain(step);
		expect(Number(turn), `${call} was paid although its answer is kept`).toBeGreaterThanOrEqual(
			answered.get(step) ?? 0,
		);
	}
}

const whole = await survive({ appends: [], tailIsLost: false }, () => undefined);
const calls = ["s1/0", "s1/1", "s2/0", "s2/1", "s3/0"];
const records = await recordsOfALife();

test("without a death, each call is paid once", () => {
	expect(whole.outcome).toEqual({ text: "bob knows that it rains", failed: [] });
	expect([...whole.model.paid].sort()).toEqual(calls);
	expect(whole.sent).toHaveLength(1);
	expect(records).toBeGreaterThan(15);
});

describe.each([
	{ tailIsLost: false, disk: "all that was appended is kept" },
	{ tailIsLost: true, disk: "only what was durable is kept" },
])("when $disk", ({ tailIsLost }) => {
	test.each(Array.from({ length: records }, (_, i) => i))(
		"a death after %d appends costs the open calls",
		async (n) => {
			const { outcome, outbox, status, model, sent, open } = await survive(
				{ appends: [n], tailIsLost },
				paysForNothingTwice,
			);
			expect(outcome).toEqual(whole.outcome);
			expect(outbox).toEqual(whole.outbox);
			expect(status).toBe("completed");
			expect(new Set(model.paid)).toEqual(new Set(calls));
			// Two steps run at the same time, so two calls are open at most.
			if (!tailIsLost) expect(model.paid.length - calls.length).toBeLessThanOrEqual(2);
			expect(sent.length).toBeLessThanOrEqual(2);
			expect(new Set(sent).size, "a repeat carries the same key").toBe(1);
			expect(open).toEqual([]);
		},
	);

	test("a second death during the resume costs no more than the first", async () => {
		for (let first = 0; first < records; first += 2) {
			for (let second = 0; second < 8; second++) {
				const { outcome, outbox, sent } = await survive({ appends: [first, second], tailIsLost }, paysForNothingTwice);
				expect(outcome).toEqual(whole.outcome);
				expect(outbox).toEqual(whole.outbox);
				expect(sent.length).toBeLessThanOrEqual(3);
				expect(new Set(sent).size).toBe(1);
			}
		}
	});
});

describe("while the model refuses every call", () => {
	/** Three steps side by side, one try and three more each, and one that waits for them. */
	const plan = planOf("s1", "s2", "s3", "s4 needs s1 s2 s3");
	const busy = failing("busy", { retryable: true });
	const model = (): Script => scripted({ s1: busy, s2: busy, s3: busy, s4: "over" });
	const tries = ({ paid }: Script): number => paid.filter((call) => call !== "s4/0").length;

	test("each step is tried four times, and then it has failed", async () => {
		const refusing = model();
		await using process = await Process.start({ model: refusing });
		expect((await process.execute(plan)).failed).toEqual(["s1", "s2", "s3"]);
		expect([tries(refusing), process.time.waits.length]).toEqual([12, 9]);
	});

	test("a death after any append gives no try back", async () => {
		for (let appends = 0; await dies(appends); appends++) expect(appends).toBeLessThan(100);
	});

	/** Gives false when the plan was over before that death. */
	async function dies(appends: number): Promise<boolean> {
		const refusing = model();
		const first = await Process.start({ model: refusing, appends });
		await first.execute(plan).catch(() => undefined);
		if (!first.isDead) return false;
		const second = await first.next();
		const kept = (await second.kinds()).filter((kind) => kind === "step_failed").length;
		// What was asked, and is not in the log as refused, was open.
		const open = tries(refusing) - kept;
		expect(open, `open at the death after ${appends} appends`).toBeLessThanOrEqual(3);
		expect((await second.execute(plan)).failed).toEqual(["s1", "s2", "s3"]);
		expect(tries(refusing), `after the death after ${appends} appends`).toBe(12 + open);
		await second[Symbol.asyncDispose]();
		return true;
	}
});

async function recordsOfALife(): Promise<number> {
	const { model, tools } = life();
	await using process = await Process.start({ model, tools });
	await process.execute(plan);
	return (await process.records()).length;
}
