/** A skill that is killed after every single append, and goes on under each policy: what is finished stays finished. */
import { journal, type Reconciled } from "@reyn/journal";
import { entriesOf, lanesOf } from "@reyn/journal/internal";
import type { WalRecord } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { some } from "../../../tests/sample.ts";
import { defineSkill, done, next, type Skill } from "../src/index.ts";
import { type Echo, echo, outbox, type Policy, Process, question } from "./skill-process.ts";

interface Life {
	readonly skill: Skill<{ to: string }>;
	readonly model: Echo;
	/** The idempotency keys that the effect was made with. */
	readonly ledger: (string | undefined)[];
	/** The phases that were begun, each with its visit. */
	readonly begun: string[];
}

/** Gathers in two visits, pays once into a ledger, and writes. */
function life(): Life {
	const ledger: (string | undefined)[] = [];
	const begun: string[] = [];
	const skill = defineSkill({
		name: "report",
		description: "",
		input: z.object({ to: z.string() }),
		start: "gather",
		phases: {
			gather: async ({ visit, model }, { to }, before) => {
				begun.push(`gather/${visit}`);
				const { text } = await model(question(`about ${to}`));
				const facts = [...((before as string[] | undefined) ?? []), `${text}${visit}`];
				return visit < 2 ? next("gather", facts) : next("write", facts);
			},
			write: async ({ visit, model, step }, { to }, before) => {
				begun.push(`write/${visit}`);
				const paid = await step(
					"pay",
					async ({ idempotencyKey }) => {
						ledger.push(idempotencyKey);
						return "paid";
					},
					{ purity: "side_effect", args: { to }, empty: "(nobody knows)" },
				);
				const { text } = await model(question("write"));
				return done({ facts: before, paid, text });
			},
		},
	});
	return { skill, model: echo(), ledger, begun };
}

interface Deaths {
	readonly policy: Policy;
	/** Appends of each process before it dies. */
	readonly appends: readonly number[];
	readonly tailIsLost: boolean;
}

/** Lets processes die one after the other, then one that lives; gives what became of the run. */
async function survive({ policy, appends, tailIsLost }: Deaths) {
	const { skill, model, ledger, begun } = life();
	let process = await Process.start({ model, policy });
	for (const left of [...appends, Number.POSITIVE_INFINITY]) {
		process = await process.next({ appends: left, tailIsLost });
		const finished = finishedIn(await process.records());
		const [phases, calls] = [begun.length, model.paid.length];
		const isWritten = hasAnswer(process, "skill/r1/write/1");
		const output = await process.work(skill, { to: "bob" }).catch((error: Error) => error);

		for (const phase of begun.slice(phases)) expect(finished, `${phase} ran again`).not.toContain(phase);
		if (isWritten) expect(model.paid.slice(calls), "an answer that is kept was paid again").not.toContain("write");
		if (output instanceof Error) {
			expect(process.isDead, String(output)).toBe(true);
			continue;
		}
		const last = await process.next();
		const { status, visits } = last.run();
		const open = lanesOf(last.view.get(journal));
		const told = last.view.get(outbox);
		const entered = (await last.kinds()).filter((kind) => kind === "skill_phase_entered").length;
		await last[Symbol.asyncDispose]();
		return { output, status, visits, entered, told, open, model, ledger, begun };
	}
	throw new Error("the last process should have lived");
}

/** The phases whose outcome is in the log, each with its visit. */
function finishedIn(records: readonly WalRecord[]): readonly string[] {
	return records
		.filter(({ kind }) => kind === "skill_phase_completed")
		.map(({ data }) => `${(data as { phase: string }).phase}/${(data as { visit: number }).visit}`);
}

/** Is a model's answer kept in this lane? */
function hasAnswer(process: Process, lane: string): boolean {
	return entriesOf(process.view.get(journal), lane).some(({ purity, outcome }) => purity === "llm" && outcome);
}

const report = { facts: ["about bob!1", "about bob!2"], paid: "paid", text: "write!" };
const records = await recordsOfALife();

test("without a death, each phase runs once a visit, and pays once", async () => {
	const { output, model, ledger, begun, told, status, visits, open } = await survive({
		policy: "retry",
		appends: [],
		tailIsLost: false,
	});
	expect(output).toEqual(report);
	expect(begun).toEqual(["gather/1", "gather/2", "write/1"]);
	expect(model.paid).toEqual(["about bob", "about bob", "write"]);
	expect(ledger).toHaveLength(1);
	expect({ told, status, visits, open }).toEqual({
		told: [report],
		status: "completed",
		visits: { gather: 2, write: 1 },
		open: [],
	});
	expect(records).toBeGreaterThan(15);
});

describe.each([
	{ tailIsLost: false, disk: "all that was appended is kept" },
	{ tailIsLost: true, disk: "only what was durable is kept" },
])("when $disk", ({ tailIsLost }) => {
	const deaths = Array.from({ length: records }, (_, n) => n);

	test.each(some(deaths, 5))("a death after %d appends under retry pays at most twice, with one key", async (n) => {
		const { output, ledger, model, ...rest } = await survive({ policy: "retry", appends: [n], tailIsLost });
		expect(output).toEqual(report);
		expect(rest).toMatchObject({ told: [report], status: "completed", open: [] });
		expect(rest).toMatchObject({ visits: { gather: 2, write: 1 }, entered: 3 });
		// A second visit asks for itself.
		expect(model.paid.filter((asked) => asked === "about bob").length).toBeGreaterThanOrEqual(2);
		expect(ledger.length).toBeLessThanOrEqual(2);
		expect(new Set(ledger).size).toBe(1);
		if (!tailIsLost) expect(model.paid.length).toBeLessThanOrEqual(4);
	});

	test.each(some(deaths, 5))(
		"a death after %d appends under skip pays at most once, and says so if nobody knows",
		async (n) => {
			const { output, ledger, told, status } = await survive({ policy: "skip", appends: [n], tailIsLost });
			expect(ledger.length).toBeLessThanOrEqual(1);
			expect([report, { ...report, paid: "(nobody knows)" }]).toContainEqual(output);
			if (ledger.length === 0) expect(output).toMatchObject({ paid: "(nobody knows)" });
			expect({ told, status }).toEqual({ told: [output], status: "completed" });
		},
	);

	test.each(some(deaths, 5))(
		"a death after %d appends under discard_skill pays at most once, or gives up",
		async (n) => {
			const { output, ledger, told, status } = await survive({ policy: "discard_skill", appends: [n], tailIsLost });
			expect(ledger.length).toBeLessThanOrEqual(1);
			if (status === "discarded") expect({ output, told }).toEqual({ output: "discarded", told: [] });
			else expect({ output, told, status }).toEqual({ output: report, told: [report], status: "completed" });
		},
	);

	test("every policy is put to the test: some deaths leave the payment in doubt", async () => {
		const outcomes = new Set<string>();
		for (const n of some(deaths, 2)) {
			const skipped = await survive({ policy: "skip", appends: [n], tailIsLost });
			outcomes.add(`skip: ${(skipped.output as { paid: string }).paid}`);
			const retried = await survive({ policy: "retry", appends: [n], tailIsLost });
			outcomes.add(`retry: ${retried.ledger.length}`);
			outcomes.add((await survive({ policy: "discard_skill", appends: [n], tailIsLost })).status);
		}
		expect([...outcomes].sort()).toEqual([
			"completed",
			"discarded",
			"retry: 1",
			"retry: 2",
			"skip: (nobody knows)",
			"skip: paid",
		]);
	});

	test("a second death during the resume repeats nothing that the first one kept", async () => {
		for (const first of some(deaths, 3)) {
			for (const second of some([0, 1, 2, 3, 4, 5], 3)) {
				const appends = [first, second];
				const retried = await survive({ policy: "retry", appends, tailIsLost });
				expect(retried.output).toEqual(report);
				expect(retried.told).toEqual([report]);
				expect(retried.ledger.length).toBeLessThanOrEqual(3);
				expect(new Set(retried.ledger).size).toBe(1);
				expect((await survive({ policy: "skip", appends, tailIsLost })).ledger.length).toBeLessThanOrEqual(1);
			}
		}
	});
});

async function recordsOfALife(): Promise<number> {
	const { skill, model } = life();
	await using process = await Process.start({ model });
	await process.work(skill, { to: "bob" });
	return (await process.records()).length;
}

describe("under discard_skill a step that a death has cut", () => {
	/** Pays, and dies before that is recorded; then goes on, where the far side says `found`. */
	async function goneOn(purity: "world" | "side_effect", found?: Reconciled<string>) {
		let made = 0;
		const call = async (): Promise<string> => {
			made++;
			return "paid";
		};
		const skill = defineSkill({
			name: "report",
			description: "",
			input: z.object({}),
			start: "pay",
			phases: {
				pay: async ({ step }) =>
					done(await step("pay", call, { purity, ...(found && { reconcile: async () => found }) })),
			},
		});
		// A call that only looks has no record of its start.
		const first = await Process.start({ policy: "discard_skill", appends: purity === "world" ? 2 : 3 });
		await expect(first.work(skill)).rejects.toThrow();
		expect([made, first.isDead]).toEqual([1, true]);
		const next = await first.next();
		const output = await next.work(skill);
		return { output, made, status: next.run().status };
	}

	test.each([
		["is known to be done, is done", "side_effect", { kind: "done", result: "known" }, ["known", 1, "completed"]],
		["is known not to be, is made", "side_effect", { kind: "not_done" }, ["paid", 2, "completed"]],
		["only looks at the world, looks again", "world", undefined, ["paid", 2, "completed"]],
		["is known to nobody, gives the run up", "side_effect", { kind: "unknown" }, ["discarded", 1, "discarded"]],
		["can be asked about nowhere, gives the run up", "side_effect", undefined, ["discarded", 1, "discarded"]],
	] as const)("and %s", async (_, purity, found, [output, made, status]) => {
		expect(await goneOn(purity, found)).toEqual({ output, made, status });
	});
});
