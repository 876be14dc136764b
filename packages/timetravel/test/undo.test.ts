/** Undo, redo and labels. `REYN_RUNS` sets how many random histories are told (default 150), `REYN_SEED` which. */
import type { Scope, Seq, WalRecord } from "@reyn/wal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { label, reset, type UndoRules } from "../src/index.ts";
import { follow } from "../src/undo.ts";
import { alice, answered, asked, bob, collect, did, House, main, plan, said, side } from "./house.ts";
import { RememberedMoves } from "./remembered-moves.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 150);
const SEED = process.env.REYN_SEED === undefined ? {} : { seed: Number(process.env.REYN_SEED) };

/** A question begins a turn of a person; an answer is a move that goes back with all that its scope did. */
const undoRules: UndoRules = {
	[asked.kind]: () => "turn",
	[answered.kind]: ({ scope }) => ({ takenBackBy: { scope } }),
};

describe("undo", () => {
	test("takes back rewinds, one after the other, and redo makes them again", async () => {
		await using house = await House.open();
		const a = house.say("a");
		house.say("b");
		await house.timeline.checkout(a);
		house.say("c");
		await house.timeline.checkout(0);
		expect(await house.told()).toBe("");
		expect(await house.timeline.undo()).toMatchObject({ target: 6 });
		expect(await house.told()).toBe("a c");
		await house.timeline.undo();
		expect(await house.told()).toBe("a b");
		await house.timeline.redo();
		expect(await house.told()).toBe("a c");
		await house.timeline.redo();
		expect(await house.told()).toBe("");
	});

	test("of nothing, and redo of nothing, say where else one can go, and write nothing", async () => {
		await using house = await House.open();
		const a = house.say("a");
		await house.append(did({ text: "b" }), main);
		await expect(house.timeline.undo()).rejects.toMatchObject({ code: "NOTHING_TO_UNDO" });
		await house.timeline.checkout(a);
		await expect(house.timeline.redo()).rejects.toThrow(/nothing to redo.*main \(to seq 3\), b4/);
		await house.timeline.undo();
		const before = await house.records();
		await expect(house.timeline.undo()).rejects.toMatchObject({
			code: "NOTHING_TO_UNDO",
			detail: { branches: ["main", "b4", "b6"] },
		});
		expect(await house.records()).toEqual(before);
	});

	test("of a scoped rewind moves that scope alone, and of one by kind those kinds alone", async () => {
		await using house = await House.open();
		house.say("a", main);
		house.say("b", bob);
		await house.timeline.checkout(0, { scope: main, drop: [said.kind] });
		house.say("c", bob);
		house.do("d", main);
		await house.timeline.undo();
		expect([await house.told(house.wal.tip, main), await house.told(house.wal.tip, bob)]).toEqual(["a d", "b c"]);
	});

	test("a new turn of a person in what was taken back ends redo; one elsewhere, and work in the background, do not", async () => {
		await using house = await House.open({ undoRules });
		house.say("a", main);
		const undone = async (): Promise<number> => {
			await house.timeline.checkout(0, { scope: main });
			await house.timeline.undo();
			return (await house.timeline.moves()).future.length;
		};
		expect(await undone()).toBe(1);
		house.say("by itself", main);
		await house.append(asked({ text: "elsewhere" }), bob);
		await house.wal.append(said({ text: "." }), bob).durable;
		expect((await house.timeline.moves()).future).toHaveLength(1);
		await house.append(asked({ text: "here" }), main);
		await house.wal.append(said({ text: "." }), bob).durable;
		await expect(house.timeline.redo()).rejects.toMatchObject({ code: "NOTHING_TO_REDO" });
		expect((await house.timeline.moves()).past).toHaveLength(0);
	});

	test("does not run beside another move, and one that cannot get quiet writes nothing", async () => {
		let quiet: () => void = () => {};
		const quiesce = () => new Promise<void>((resolve) => (quiet = resolve));
		await using house = await House.open({ quiesce });
		const a = house.say("a");
		house.say("b");
		const moving = house.timeline.checkout(a);
		await expect(house.timeline.undo()).rejects.toMatchObject({ code: "TIMETRAVEL_BUSY" });
		await expect(house.timeline.label(a, "x")).rejects.toMatchObject({ code: "TIMETRAVEL_BUSY" });
		while ((await house.records()).at(-1)?.kind === said.kind) {
			quiet();
			await new Promise((resolve) => setImmediate(resolve));
		}
		await moving;
		const stubborn = await house.reopen({ quiesce: async () => Promise.reject(new Error("it does not stop")) });
		const before = await stubborn.records();
		await expect(stubborn.timeline.undo()).rejects.toThrow("it does not stop");
		expect(await stubborn.records()).toEqual(before);
		await stubborn.wal.close();
	});
});

describe("what a person does while undo or redo waits for quiet counts", () => {
	/** The first wait lets something come between. */
	async function interrupted(between: (house: House) => void): Promise<House> {
		let wait = 0;
		const house: House = await House.open({
			undoRules,
			quiesce: async () => {
				if (++wait === 2) between(house);
			},
		});
		const a = house.say("a", main);
		house.say("b", main);
		await house.timeline.checkout(a);
		house.say("c", main);
		return house;
	}

	test("another move is the newest then: it is taken back, and the older one stays", async () => {
		await using house = await interrupted((house) => house.answer("discarded", bob));
		const before = (await house.timeline.moves()).past.map(({ seq }) => seq);
		const { of } = await house.timeline.undo();
		expect(before).not.toContain(of);
		expect((await house.timeline.moves()).past.map(({ seq }) => seq)).toEqual(before);
		expect(await house.told()).toBe("a c");
		// What was taken back can be made again, and then the older one is next.
		await house.timeline.redo();
		await house.timeline.undo();
		expect(await house.timeline.undo()).toMatchObject({ of: before[0] });
		expect(await house.told()).toBe("a b");
	});

	test("a turn that is begun where redo would lead ends it, and nothing is written", async () => {
		let wait = 0;
		await using house: House = await House.open({
			undoRules,
			quiesce: async () => {
				if (++wait === 3) house.ask("meanwhile", main);
			},
		});
		const a = house.say("a", main);
		house.say("b", main);
		await house.timeline.checkout(a);
		await house.timeline.undo();
		await expect(house.timeline.redo()).rejects.toMatchObject({ code: "NOTHING_TO_REDO" });
		expect((await house.records()).at(-1)?.kind).toBe(asked.kind);
	});

	test("one that came in the moment before the record is written keeps its place", () => {
		const at = (seq: Seq, kind: string, data: object): WalRecord => ({ seq, ts: 0, kind, scope: main, data, crc: "" });
		const moves = { past: [], future: [] };
		for (const record of [
			at(1, reset.kind, { target: 0 }),
			at(2, answered.kind, {}),
			at(3, reset.kind, { target: 0, undoes: 1 }),
		])
			follow(moves, record, undoRules);
		expect(moves).toMatchObject({ past: [{ seq: 2 }], future: [{ seq: 3 }] });
		// A kind is a name that somebody else may have chosen.
		follow(moves, at(4, "constructor", {}), undoRules);
		expect(moves.past).toHaveLength(1);
	});
});

describe("a label", () => {
	test("names a seq, across a restart, on an abandoned branch too, and can be taken back", async () => {
		await using house = await House.open();
		const a = house.say("a");
		await house.timeline.label(a, "before-the-storm");
		const b = house.say("b");
		await house.timeline.label(b, "storm", { actor: "ada" });
		await house.timeline.checkout(a);
		const again = await house.reopen();
		expect(await again.timeline.labels()).toEqual([
			{ name: "before-the-storm", seq: a },
			{ name: "storm", seq: b },
		]);
		await again.timeline.undo();
		await again.timeline.undo();
		expect(await again.timeline.labels()).toEqual([{ name: "before-the-storm", seq: a }]);
		expect(await again.told()).toBe("a b");
		await again.timeline.redo();
		expect(await again.timeline.labels()).toEqual([
			{ name: "before-the-storm", seq: a },
			{ name: "storm", seq: b },
		]);
		await again.wal.close();
	});

	test("that there is, that is none, or of a seq that is none, is refused, and nothing is written", async () => {
		await using house = await House.open();
		const a = house.say("a");
		await house.timeline.label(a, "one");
		const before = await house.records();
		await expect(house.timeline.label(0, "one")).rejects.toMatchObject({
			code: "TIMETRAVEL_LABEL",
			detail: { name: "one", seq: a },
		});
		for (const name of ["", "142", "b7", "main", "@", "-x", "a b", "x".repeat(65), "a\u001b[31m"])
			await expect(house.timeline.label(a, name), name).rejects.toMatchObject({ code: "TIMETRAVEL_LABEL" });
		await expect(house.timeline.label(99, "two")).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
		expect(await house.records()).toEqual(before);
	});
});

type Command =
	| { readonly do: "write"; readonly scope: Scope; readonly what: "say" | "do" | "ask" | "answer" }
	| { readonly do: "go"; readonly to: number; readonly scope: Scope; readonly drop: readonly string[] | undefined }
	| { readonly do: "label"; readonly to: number }
	| { readonly do: "undo" | "redo" | "restart" }
	| { readonly do: "there and back"; readonly steps: number };

const scopes: readonly Scope[] = [{}, alice, main, plan, side, bob];
const anyScope = fc.constantFrom(...scopes);
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("write" as const),
			scope: anyScope,
			what: fc.constantFrom("say", "say", "do", "ask", "answer"),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			do: fc.constant("go" as const),
			to: fc.nat(1000),
			scope: anyScope,
			drop: fc.constantFrom(undefined, undefined, [said.kind], [did.kind], []),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("label" as const), to: fc.nat(1000) }) },
	{ weight: 5, arbitrary: fc.record({ do: fc.constantFrom("undo" as const, "undo" as const, "redo" as const) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constant("there and back" as const), steps: fc.integer({ min: 1, max: 5 }) }),
	},
);

test(
	"after any history undo writes what takes the newest move back, and as many redos as undos change nothing",
	async () => {
		const met = { undo: 0, redo: 0, nothing: 0, back: 0 };
		await fc.assert(
			fc.asyncProperty(fc.array(anyCommand, { minLength: 5, maxLength: 25, size: "max" }), async (commands) => {
				let house = await House.open({ undoRules });
				const moves = new RememberedMoves();
				const everything = async (): Promise<unknown> => [
					await Promise.all(scopes.map(async (scope) => (await house.timeline.at(house.wal.tip, scope)).hash())),
					await house.timeline.labels(),
				];
				const last = async (before: Seq): Promise<WalRecord> =>
					(await collect(house.wal.read({ after: before, kinds: { only: [reset.kind, label.kind] } })))[0] as WalRecord;
				const step = async (verb: "undo" | "redo"): Promise<boolean> => {
					const move = moves.next(verb);
					const before = house.wal.tip;
					if (!move) {
						await expect(house.timeline[verb]()).rejects.toMatchObject({ code: `NOTHING_TO_${verb.toUpperCase()}` });
						expect(house.wal.tip).toBe(before);
						met.nothing++;
						return false;
					}
					const hashAt = async (seq: Seq, scope: Scope) => (await house.timeline.at(seq, scope)).hash();
					const was = move.label === undefined && !move.drop ? await hashAt(move.seq - 1, move.scope) : undefined;
					await house.timeline[verb]();
					const written = await last(before);
					const named = verb === "undo" ? { undoes: move.seq } : { redoes: move.seq };
					if (move.label === undefined)
						expect(written).toMatchObject({
							kind: reset.kind,
							scope: move.scope,
							data: { target: move.seq - 1, ...named },
						});
					else expect(written).toMatchObject({ kind: label.kind, data: { name: move.label, ...named } });
					if (was !== undefined) expect(await hashAt(house.wal.tip, move.scope)).toBe(was);
					moves.stepped(verb, written.seq);
					met[verb]++;
					return true;
				};
				for (const [i, command] of commands.entries()) {
					const { tip } = house.wal;
					if (command.do === "write") {
						const seq = house[command.what](`t${i}`, command.scope);
						await house.wal.append(said({ text: "." }), { agent: "nobody" }).durable;
						if (command.what === "answer") moves.made({ seq, scope: command.scope });
						if (command.what === "ask") moves.began(command.scope, asked.kind);
					} else if (command.do === "go") {
						const { scope, drop } = command;
						const { kind, seq } = await house.timeline.checkout(command.to % (tip + 1), {
							scope,
							...(drop && { drop }),
						});
						if (kind !== "none") moves.made({ seq, scope, drop });
					} else if (command.do === "label") {
						await house.timeline.label(command.to % (tip + 1), `l${i}`);
						moves.made({ seq: (await last(tip)).seq, scope: {}, label: `l${i}` });
					} else if (command.do === "restart") {
						house = await house.reopen();
					} else if (command.do === "there and back") {
						const before = await everything();
						let undone = 0;
						while (undone < command.steps && (await step("undo"))) undone++;
						for (let n = 0; n < undone; n++) await step("redo");
						expect(await everything()).toEqual(before);
						met.back += undone;
					} else await step(command.do);
					const { past: back, future: on } = await house.timeline.moves();
					expect([back.map(({ seq }) => seq), on.map(({ seq }) => seq)]).toEqual([
						moves.past.map(({ seq }) => seq),
						moves.future.map(({ seq }) => seq),
					]);
				}
				await house.wal.close();
			}),
			{ numRuns: RUNS, ...SEED },
		);
		expect(Math.min(...Object.values(met))).toBeGreaterThan(RUNS / 10);
	},
	30_000 + RUNS * 300,
);
