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

	test("of all down to one takes back that and what came after it, or nothing; redo of all brings it back", async () => {
		await using house = await House.open();
		const a = house.say("a");
		house.say("b");
		const { seq: first } = await house.timeline.checkout(a);
		await house.timeline.label(a, "here");
		house.say("c");
		const { seq: last } = await house.timeline.checkout(0);
		const before = await house.records();
		await expect(house.timeline.undo({ to: a })).rejects.toThrow(new RegExp(`there is at ${last}, \\d+, ${first}\\.`));
		await expect(house.timeline.undo({ of: first, to: first })).rejects.toMatchObject({ code: "TIMETRAVEL_STALE" });
		expect(await house.records()).toEqual(before);
		const { all, of } = await house.timeline.undo({ of: last, to: first, expect: house.wal.tip });
		expect([all?.length, of, await house.told(), await house.timeline.labels()]).toEqual([3, first, "a b", []]);
		const { future } = await house.timeline.moves();
		await house.timeline.redo({ to: future[0]?.seq ?? 0 });
		expect([await house.told(), (await house.timeline.labels()).length]).toEqual(["", 1]);
	});

	test("of all down to one leaves those that a person has made meanwhile, and those before them", async () => {
		let made = false;
		await using house: House = await House.open({ undoRules });
		const a = house.say("a");
		const { seq: first } = await house.timeline.checkout(0);
		const { seq: last } = await house.timeline.checkout(a);
		house.timeline.attend({
			quiet: async () => () => {},
			rebuild: async () => {
				if (!made) house.answer("discarded", bob);
				made = true;
			},
		});
		await expect(house.timeline.undo({ of: last, to: first })).rejects.toMatchObject({ code: "TIMETRAVEL_STALE" });
		expect((await house.timeline.moves()).past.map(({ seq }) => seq)).toEqual([first, last + 3]);
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

	test("goes to another seq, and is taken away, across a restart; undo and redo know where it was", async () => {
		await using house = await House.open();
		const [a, b] = [house.say("a"), house.say("b")];
		const isAt = async (timeline = house.timeline) =>
			(await timeline.labels()).map(({ name, seq }) => `${name} ${seq}`);
		await house.timeline.label(a, "here");
		await house.timeline.label(b, "here", { move: true });
		await house.timeline.unlabel("here", { actor: "ada" });
		expect(await isAt()).toEqual([]);
		const { timeline, wal } = await house.reopen();
		const went = [];
		for (const verb of ["undo", "undo", "undo", "redo", "redo", "redo", "undo"] as const) {
			await timeline[verb]();
			went.push(await isAt(timeline));
		}
		expect(went.map(String)).toEqual([`here ${b}`, `here ${a}`, "", `here ${a}`, `here ${b}`, "", `here ${b}`]);
		await wal.close();
	});

	test("of a log from before labels could go elsewhere is taken back, and made again", async () => {
		await using house = await House.open();
		const a = house.say("a");
		await house.append(label({ name: "old", target: a, actor: "user" }), {});
		await house.append(label({ name: "old", target: a, gone: true, actor: "user", undoes: 2 }), {});
		await house.append(reset({ target: 3, mode: "both", actor: "user", drop: [] }), {});
		await house.timeline.undo();
		expect(await house.timeline.labels()).toEqual([]);
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
		await expect(house.timeline.label(a, "a\u001b[31m\u202e")).rejects.toThrow(/^"a\?\[31m\?" cannot be a label/);
		await expect(house.timeline.label(99, "two")).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
		await expect(house.timeline.label(a, "one", { move: true })).rejects.toMatchObject({ code: "TIMETRAVEL_LABEL" });
		await expect(house.timeline.label(a, "two", { move: true })).rejects.toMatchObject({ code: "TIMETRAVEL_LABEL" });
		await expect(house.timeline.unlabel("two\u001b")).rejects.toThrow(/^there is no label "two\?"; there are one/);
		expect(await house.records()).toEqual(before);
	});
});

type Command =
	| { readonly do: "write"; readonly scope: Scope; readonly what: "say" | "do" | "ask" | "answer" }
	| { readonly do: "go"; readonly to: number; readonly scope: Scope; readonly drop: readonly string[] | undefined }
	| { readonly do: "label"; readonly to: number; readonly which: number; readonly how: "new" | "move" | "away" }
	| { readonly do: "all to"; readonly verb: "undo" | "redo"; readonly steps: number }
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
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constant("label" as const),
			to: fc.nat(1000),
			which: fc.nat(1000),
			how: fc.constantFrom("new", "move", "away"),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("all to" as const),
			verb: fc.constantFrom("undo", "redo"),
			steps: fc.integer({ min: 1, max: 5 }),
		}),
	},
	{ weight: 5, arbitrary: fc.record({ do: fc.constantFrom("undo" as const, "undo" as const, "redo" as const) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constant("there and back" as const), steps: fc.integer({ min: 1, max: 5 }) }),
	},
);

test("after any history undo writes what takes the newest move back, and as many redos as undos change nothing", async () => {
	const met = { undo: 0, redo: 0, nothing: 0, back: 0, several: 0, relabelled: 0 };
	await fc.assert(
		fc.asyncProperty(fc.array(anyCommand, { minLength: 5, maxLength: 25, size: "max" }), async (commands) => {
			let house = await House.open({ undoRules });
			const moves = new RememberedMoves();
			const everything = async (): Promise<unknown> => [
				await Promise.all(scopes.map(async (scope) => (await house.timeline.at(house.wal.tip, scope)).hash())),
				await house.timeline.labels(),
			];
			const written = async (before: Seq): Promise<WalRecord[]> =>
				collect(house.wal.read({ after: before, kinds: { only: [reset.kind, label.kind] } }));
			const last = async (before: Seq): Promise<WalRecord> => (await written(before))[0] as WalRecord;
			/** As so many single steps would. */
			const allTo = async (verb: "undo" | "redo", steps: number): Promise<void> => {
				const { tip } = house.wal;
				const stack = verb === "undo" ? moves.past : moves.future;
				const of = stack.slice(Math.max(0, stack.length - steps)).reverse();
				const to = of.at(-1);
				if (!to) return;
				const said = await house.timeline[verb]({ of: of[0]?.seq ?? 0, to: to.seq });
				expect(said.all).toEqual(of.map(({ seq }) => seq));
				const records = await written(tip);
				expect(records.map(({ data }) => data)).toMatchObject(
					of.map(({ seq }) => (verb === "undo" ? { undoes: seq } : { redoes: seq })),
				);
				for (const { seq } of records) moves.stepped(verb, seq);
				if (of.length > 1) met.several++;
			};
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
					const known = [...moves.labels.keys()][command.which % Math.max(1, moves.labels.size)];
					const name = command.how === "new" || known === undefined ? `l${i}` : known;
					const from = moves.labels.get(name);
					const to = from !== undefined && command.how === "away" ? undefined : command.to % (tip + 1);
					if (to === from) continue;
					if (to === undefined) await house.timeline.unlabel(name);
					else await house.timeline.label(to, name, { move: from !== undefined });
					moves.made({ seq: (await last(tip)).seq, scope: {}, label: name, from, to });
					if (from !== undefined) met.relabelled++;
				} else if (command.do === "all to") {
					await allTo(command.verb, command.steps);
				} else if (command.do === "restart") {
					house = await house.reopen();
				} else if (command.do === "there and back") {
					const before = await everything();
					let undone = 0;
					while (undone < command.steps && (await step("undo"))) undone++;
					if (i % 2 === 0) await allTo("redo", undone);
					else for (let n = 0; n < undone; n++) await step("redo");
					expect(await everything()).toEqual(before);
					met.back += undone;
				} else await step(command.do);
				const { past: back, future: on } = await house.timeline.moves();
				expect(await house.timeline.labels()).toEqual(
					[...moves.labels].map(([name, seq]) => ({ name, seq })).sort((a, b) => a.seq - b.seq),
				);
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
});
