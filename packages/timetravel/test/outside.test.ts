/** Facts about the world: what no rewind takes back, no preview minds and no truncation loses. */
import { defineProjection, memorySnapshots } from "@reyn/snapshot";
import { defineRecord, memoryBlobs, memoryEngine, openWal, type Wal } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isOutside, openTimeline, timetravelRecords } from "../src/index.ts";
import { isMeta } from "../src/records.ts";
import { bob, collect, did, House, keeping, main, noted, notes, said, side, story } from "./house.ts";

const projections = [story, notes];

test("an outside kind is known by its name alone, and is not meta", () => {
	expect(["fact_noted", "fact_", "factual", "a_fact_", "wal_epoch"].map(isOutside)).toEqual([
		true,
		true,
		false,
		false,
		false,
	]);
	expect(isMeta("fact_noted")).toBe(false);
});

describe("a fact", () => {
	test.each([
		["everything", {}],
		["its session", { scope: main }],
		["its kind by name", { drop: [noted.kind, said.kind] }],
	])("is in the state after a rewind of %s, and after one back to where it was not yet", async (_, options) => {
		await using house = await House.open({ projections });
		const a = house.say("a");
		const fact = house.note("it rained");
		house.say("b");
		await house.timeline.checkout(a, options);
		const { timeline, wal } = house;
		const told = async (seq: number) => {
			const view = await timeline.at(seq, main);
			return [view.get(story), view.get(notes)];
		};
		expect(await told(wal.tip)).toEqual([["a"], ["it rained"]]);
		expect(await told(a)).toEqual([["a"], []]);
		expect(timeline.lineage.isActive({ seq: fact, kind: noted.kind, scope: main })).toBe(true);
		expect(timeline.lineage.abandonedBy({ seq: fact, kind: noted.kind, scope: main })).toBeUndefined();
		expect((await collect(timeline.history())).map(({ seq }) => seq)).toContain(fact);
		const foreseen = timeline.hypothetical(0, options);
		expect((await foreseen.at(main)).get(notes)).toEqual(["it rained"]);
		expect(foreseen.isActive({ seq: fact, kind: noted.kind, scope: main })).toBe(true);
		await timeline.undo();
		expect(await told(wal.tip)).toEqual([["a", "b"], ["it rained"]]);
	});

	test("is written by work of a line that was left too, and live states have it", async () => {
		await using house = await House.open({ projections });
		const a = house.say("a");
		house.say("b");
		const live = await house.timeline.live(main);
		const late = live.handle();
		await house.timeline.checkout(a);
		expect(() => late.append(said({ text: "c" }), main)).toThrowError(
			expect.objectContaining({ code: "STALE_LINEAGE" }),
		);
		late.append(noted({ text: "it is done" }), main);
		expect([live.view.get(story), live.view.get(notes)]).toEqual([["a"], ["it is done"]]);
	});

	test("makes no preview stale, is no move and takes no redo away, whatever the undo rules say", async () => {
		await using house = await House.open({
			projections,
			undoRules: { [noted.kind]: () => "turn" },
			begins: [said.kind, noted.kind],
		});
		const a = house.say("a");
		house.say("b");
		const { tip } = await house.timeline.preview(a);
		house.note("x");
		const { seq } = await house.timeline.checkout(a, { expect: tip });
		const undone = await house.timeline.undo({ of: seq });
		house.note("y");
		expect((await house.timeline.moves()).future.map((move) => move.seq)).toEqual([undone.seq]);

		await using other = await House.open({ undoRules: { [noted.kind]: ({ scope }) => ({ takenBackBy: { scope } }) } });
		other.note("x");
		await expect(other.timeline.undo()).rejects.toMatchObject({ code: "NOTHING_TO_UNDO" });
	});

	test("outlives the log, of an abandoned line and in any scope, and a scope of facts alone holds no truncation", async () => {
		await using house = await House.open({ projections, keptScopes: () => [main] });
		const a = house.say("a");
		house.note("abandoned");
		house.note("of bob", bob);
		await house.timeline.checkout(a);
		for (const line of ["b", "c"]) {
			house.say(line);
			await house.mark(line);
		}
		await house.timeline.label(house.wal.tip, "c");
		house.say("d");
		house.note("late");
		await house.mark("d");
		await house.timeline.gc(keeping(1));
		expect(house.wal.first).toBe(house.timeline.retainedFrom);
		const check = async ({ timeline, wal }: House) => {
			const view = await timeline.at(wal.tip, main);
			expect([view.get(story), view.get(notes)]).toEqual([
				["a", "b", "c", "d"],
				["abandoned", "late"],
			]);
			expect((await timeline.at(wal.tip, bob)).get(notes)).toEqual(["of bob"]);
			expect((await timeline.at(wal.tip, side)).get(notes)).toEqual([]);
			const facts = (await timeline.records()).filter(({ kind }) => isOutside(kind));
			expect(facts.map(({ data }) => data)).toEqual([{ text: "abandoned" }, { text: "of bob" }, { text: "late" }]);
		};
		await check(house);
		await using again = await house.reopen();
		await check(again);
		// Back to before the fact: the state that is kept there has it not, and it counts all the same.
		const { seq = 0 } = (await again.timeline.labels())[0] ?? {};
		await again.timeline.checkout(seq);
		const view = await again.timeline.at(again.wal.tip, main);
		expect([view.get(story), view.get(notes)]).toEqual([
			["a", "b", "c"],
			["abandoned", "late"],
		]);
		expect((await again.timeline.at(seq, main)).get(notes)).toEqual(["abandoned"]);
	});
});

describe("a program that does not know the kind", () => {
	const engine = memoryEngine();
	const kept = memoryBlobs();
	const snapshots = memorySnapshots();
	const open = async (withFacts: boolean, kind = noted) => {
		const wal = await openWal(engine, { records: [said, ...(withFacts ? [kind] : []), ...timetravelRecords] });
		const counted = withFacts ? [story, defineProjection({ ...spec, handle: (on) => [on(kind, add)] })] : [story];
		const timeline = await openTimeline({ wal, snapshots, kept, projections: counted, keptScopes: () => [main] });
		return { wal, timeline, notes: counted.at(-1) as typeof notes };
	};
	const spec = { name: "notes", version: 1, schema: z.array(z.string()), init: (): string[] => [] };
	const add = (state: string[], { text, by = "?" }: { text: string; by?: string }) => [...state, `${text} by ${by}`];

	test("leaves history as it is, and behind a cut of its own the state of facts is whole again", async () => {
		const first = await open(true);
		const a = first.wal.append(said({ text: "a" }), main).seq;
		first.wal.append(noted({ text: "it rained" }), main);
		await first.wal.append(said({ text: "b" }), main).durable;
		await first.wal.close();

		const without = await open(false);
		await without.timeline.checkout(a);
		const live = await without.timeline.live(main);
		for (const line of ["c", "d"]) {
			live.handle().append(said({ text: line }), main);
			await without.timeline.checkpoint("turn", line, main, live.view);
		}
		await without.timeline.gc(keeping(1));
		expect(without.wal.first).toBeGreaterThan(a + 1);
		await without.wal.close();

		// Its data is read as the schema of now has it.
		const later = defineRecord(noted.kind, z.object({ text: z.string(), by: z.string().default("someone") }));
		const back = await open(true, later as never);
		const view = await back.timeline.at(back.wal.tip, main);
		expect([view.get(story), view.get(back.notes)]).toEqual([["a", "c", "d"], ["it rained by someone"]]);
		await back.wal.close();
	});
});

describe("a fact costs", () => {
	/** A log that counts what is read of it. */
	const counting = (wal: Wal): { readonly wal: Wal; read: number } => {
		const counted = { wal, read: 0 };
		counted.wal = new Proxy(wal, {
			get: (target, name) => {
				if (name !== "read") {
					const value: unknown = Reflect.get(target, name, target);
					return typeof value === "function" ? value.bind(target) : value;
				}
				return async function* (range: Parameters<Wal["read"]>[0]) {
					counted.read += (range?.through ?? target.tip) - (range?.after ?? 0);
					yield* target.read(range);
				};
			},
		});
		return counted;
	};

	test("no reading of what was abandoned, whether states fold facts or not", async () => {
		const wal = await openWal(memoryEngine(), { records: [said, did, noted, ...timetravelRecords] });
		for (let i = 0; i < 20; i++) wal.append(said({ text: `a${i}` }), main);
		const target = wal.tip;
		for (let i = 0; i < 20_000; i++) {
			wal.append(i % 1000 === 0 ? noted({ text: `${i}` }) : did({ text: `${i}` }), main);
			if (i % 500 === 0) await wal.ready();
		}
		await (await openTimeline({ wal, snapshots: memorySnapshots(), projections })).checkout(target);
		const read: number[] = [];
		for (const folded of [[story], projections]) {
			const counted = counting(wal);
			const timeline = await openTimeline({ wal: counted.wal, snapshots: memorySnapshots(), projections: folded });
			counted.read = 0;
			const view = await timeline.at(wal.tip, main);
			expect(view.get(story)).toHaveLength(20);
			if (folded.length > 1) expect(view.get(notes)).toHaveLength(20);
			read.push(counted.read);
		}
		const [without = 0, withFacts = 0] = read;
		expect(without).toBeLessThan(100);
		expect(withFacts).toBeLessThanOrEqual(without * 1.1);
		await wal.close();
	});
});
