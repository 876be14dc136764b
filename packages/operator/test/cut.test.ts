/** After a collection: what is said of a move is so or unknown, and what is offered can be done. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseRef } from "../src/refs.ts";
import { type House, openHouse } from "./house.ts";

let house: House;
beforeEach(async () => {
	house = await openHouse();
	const { runtime } = house;
	const [first = 0] = runtime.timeline.checkpoints().map(({ seq }) => seq);
	await runtime.timeline.label(first, "start");
	for (const question of ["what does a fox do by night?", "what does a fox eat?"]) {
		await runtime.prompt(question);
		await runtime.idle();
	}
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	expect(runtime.timeline.retainedFrom).toBeGreaterThan(first + 1);
});
afterEach(() => house[Symbol.asyncDispose]());

const messages = async (): Promise<number> => {
	const { document } = await house.do("show", { ref: "@" });
	return (document as { messages: readonly unknown[] }).messages.length;
};

describe("a move to a label before the cut", () => {
	test.each(["rewind", "checkout"])(
		"says how many messages go, and that the number of records is unknown: %s",
		async (name) => {
			const { document, lines } = await house.do(name, { ref: "start" }, { dryRun: true });
			const { preview, blastRadius } = document as {
				preview?: object;
				blastRadius: { leaves: { messages: number }; returns: object; stays: object };
			};
			for (const count of ["affected", "dropped", "touches"]) expect(preview ?? {}).not.toHaveProperty(count);
			expect(blastRadius.leaves).toMatchObject({ sessions: ["default/main"] });
			expect(blastRadius.leaves).not.toHaveProperty("records");
			expect(blastRadius).toMatchObject({ returns: { records: 0, turns: 0 }, stays: { records: 0 } });
			expect(lines.join("\n")).toMatch(/leaves behind \d+ messages in default\/main, and an unknown number of records/);
			expect(lines.join("\n")).not.toMatch(/\b0 (records|turns|messages)|undefined|NaN/);
			const before = await messages();
			await house.do(name, { ref: "start" });
			expect(before - (await messages())).toBe(blastRadius.leaves.messages);
			const { document: moves } = await house.do("undo", { list: true });
			expect(JSON.stringify(moves)).not.toMatch(/\b0 records|undefined/);
			await house.do("undo");
			expect(await messages()).toBe(before);
		},
	);

	test("that only sums up writes no number that is not known", async () => {
		const { document, lines } = await house.do("rewind", { ref: "start", mode: "summarize" });
		expect(document).toMatchObject({ result: { kind: "note", dropped: { all: 0 } } });
		expect((document as { result: object }).result).not.toHaveProperty("affected");
		expect(lines.join("\n")).not.toContain("undefined");
		const shown = await house.do("show", { ref: "@" });
		expect(shown.lines.join("\n")).toMatch(/how many is not known any more/);
		expect(shown.lines.join("\n")).not.toMatch(/there were 0/);
	});
});

describe("what is offered", () => {
	interface Shown {
		readonly retainedFrom: number;
		readonly entries: readonly { readonly seq: number; readonly gone?: true }[];
		readonly branches: readonly { readonly name: string; readonly gone?: true }[];
	}

	test("can be gone to, and what is gone is shown as gone", async () => {
		const { runtime } = house;
		const first = await parseRef("start", runtime);
		await house.do("checkout", { ref: "start" });
		await house.do("undo");
		for (const question of ["what is a den?", "who hunts by night?"]) {
			await runtime.prompt(question);
			await runtime.idle();
		}
		await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
		const { document, lines } = await house.do("log");
		const { retainedFrom, entries, branches } = document as Shown;
		expect(retainedFrom).toBe(runtime.timeline.retainedFrom);
		expect(entries.map(({ seq }) => seq)).toContain(first);
		const places = [
			...entries.map(({ seq, gone }) => ({ ref: String(seq), gone })),
			...branches.map(({ name, gone }) => ({ ref: name, gone })),
		];
		expect(new Set(places.map(({ gone }) => gone))).toEqual(new Set([undefined, true]));
		for (const { ref, gone } of places) {
			const going = house.do("checkout", { ref }, { dryRun: true });
			if (gone) await expect(going, ref).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
			else expect(await going, ref).toMatchObject({ outcome: "previewed" });
		}
		expect(lines.filter((line) => line.includes("taken away by gc"))).toHaveLength(
			entries.filter(({ gone }) => gone).length,
		);
		expect((await house.do("branches")).lines.join("\n")).toContain("taken away by gc");
		const graph = await house.do("log", { graph: true });
		expect(graph.lines.join("\n")).toContain("taken away by gc");
		for (const ref of ["b99999", "nowhere!"]) {
			const error = await parseRef(ref, runtime).catch((found: Error) => found);
			for (const { name, gone } of branches)
				expect((error as Error).message.split(/[\s,()]+/).includes(name), `${ref} ${name}`).toBe(!gone);
		}
	});

	test("in place of an undo are branches that can be gone to", async () => {
		const { runtime } = house;
		for (let undone = 0; undone < 9; undone++) await house.do("undo").catch(() => undefined);
		const error = await runtime.undo("test").catch((found: Error) => found);
		expect(error).toMatchObject({ code: "NOTHING_TO_UNDO" });
		const { branches } = (error as unknown as { detail: { branches: readonly string[] } }).detail;
		for (const ref of branches) await house.do("checkout", { ref }, { dryRun: true });
	});
});
