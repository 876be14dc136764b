/** Who confirms a move gets what was previewed, or nothing. `REYN_RUNS` sets how many random histories are told (default 250), `REYN_SEED` which. */
import { type Scope, type Seq, within } from "@reyn/wal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { label, type Move, reset, type UndoRules } from "../src/index.ts";
import {
	alice,
	answered,
	asked,
	bob,
	collect,
	did,
	House,
	type HouseOptions,
	keeping,
	main,
	plan,
	said,
	side,
} from "./house.ts";

const RUNS = Number(process.env.REYN_RUNS ?? 250);
const SEED = process.env.REYN_SEED === undefined ? {} : { seed: Number(process.env.REYN_SEED) };

/** A question begins a turn of a person; an answer is a move that goes back with all that its scope did. */
const undoRules: UndoRules = {
	[asked.kind]: () => "turn",
	[answered.kind]: ({ scope }) => ({ takenBackBy: { scope } }),
};
/** To say something begins something; to do something only goes on with it. */
const begins = [said.kind];

const stale = { code: "TIMETRAVEL_STALE" };

/** What happens between a preview and its apply, in a house in which `a` and `b` were said. */
const speaksAgainst: Record<string, (house: House) => unknown> = {
	"a turn": (house) => house.ask("x"),
	"a turn in a run below": (house) => house.ask("x", plan),
	"a beginning": (house) => house.say("x"),
	"a rewind": (house) => house.timeline.checkout(1, { scope: bob }),
	"a rewind that was undone": async (house) => {
		await house.timeline.checkout(1, { scope: bob });
		await house.timeline.undo();
	},
	"a label": (house) => house.timeline.label(1, "x"),
	"a move of a person, wherever": (house) => house.answer("x", bob),
};
const isNoReason: Record<string, (house: House) => unknown> = {
	nothing: () => {},
	"progress of work": (house) => house.do("x"),
	"progress in a run": (house) => house.do("x", plan),
	"a checkpoint": (house) => house.mark("x"),
	"a turn that the move does not cover": (house) => house.ask("x", bob),
};

async function told(options: HouseOptions = {}): Promise<{ house: House; a: Seq; tip: Seq }> {
	const house = await House.open({ undoRules, begins, ...options });
	const a = house.say("a");
	house.say("b");
	return { house, a, tip: house.wal.tip };
}

describe("a checkout that was previewed", () => {
	test.each(Object.keys(speaksAgainst))("is refused after %s, stops nothing and writes nothing", async (what) => {
		const stopped: Scope[] = [];
		const { house, a, tip } = await told({ quiesce: async (scope) => void stopped.push(scope) });
		await speaksAgainst[what]?.(house);
		stopped.length = 0;
		const before = await house.records();
		for (const go of ["checkout", "rewindTo"] as const)
			await expect(house.timeline[go](a, { expect: tip, scope: main })).rejects.toMatchObject({
				...stale,
				detail: { previewed: tip, seq: expect.any(Number), kind: expect.any(String) },
			});
		expect(await house.records()).toEqual(before);
		expect(stopped).toEqual([]);
		// Nobody is held to what they were not shown.
		expect(await house.timeline.checkout(a, { scope: main })).toMatchObject({ kind: "undo", target: a });
		await house.wal.close();
	});

	test.each(Object.keys(isNoReason))("is made after %s", async (what) => {
		const { house, a, tip } = await told();
		await isNoReason[what]?.(house);
		expect(await house.timeline.checkout(a, { expect: tip, scope: main })).toMatchObject({ kind: "undo", target: a });
		expect(await house.told()).toBe("a");
		await house.wal.close();
	});

	test("is made by the next process, if nothing happened but its start", async () => {
		const { house, a, tip } = await told();
		await using again = await house.reopen();
		expect(again.wal.tip).toBeGreaterThan(tip);
		expect(await again.timeline.checkout(a, { expect: tip })).toMatchObject({ kind: "undo" });
	});

	test("to where one was then writes nothing, though work has gone on", async () => {
		const { house, tip } = await told();
		house.do("c");
		const before = await house.records();
		expect(await house.timeline.checkout(tip, { expect: tip })).toEqual({ kind: "none", target: tip, seq: tip + 1 });
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	test("says which tip it is of", async () => {
		const { house, a, tip } = await told();
		expect(await house.timeline.preview(a)).toEqual({ kind: "undo", coverage: { scope: {} }, target: a, tip });
		await house.wal.close();
	});

	test("at a seq that there is not, or to one that came after it, is none", async () => {
		const { house, a, tip } = await told();
		house.do("c");
		for (const expected of [-1, 0.5, 99, Number.NaN])
			await expect(house.timeline.checkout(a, { expect: expected }), `${expected}`).rejects.toMatchObject(stale);
		await expect(house.timeline.checkout(tip + 1, { expect: tip })).rejects.toMatchObject(stale);
		expect(house.wal.tip).toBe(tip + 1);
		await house.wal.close();
	});

	test("sees what comes while its work gets quiet, and in the moment before its record", async () => {
		for (const when of ["while", "after"] as const) {
			const { house, a, tip } = await told({
				quiesce: async () => {
					const log = house.timeline.handle();
					if (when === "while") house.ask("x");
					// Between the last look at the log and the record there is no moment.
					else for (let turns = 1; turns < 30; turns++) later(turns, () => log.append(did({ text: "." }), plan));
					if (when === "after") later(12, () => log.append(asked({ text: "x" }), main));
				},
			});
			const moving = house.timeline.checkout(a, { expect: tip }).then(
				({ seq }) => seq,
				(error: { code: string }) => error.code,
			);
			const outcome = await moving;
			const turn = (await house.records()).find(({ kind }) => kind === asked.kind);
			// Either it was refused, or the turn came after it.
			if (outcome !== stale.code) expect(turn?.seq ?? Number.POSITIVE_INFINITY).toBeGreaterThan(outcome as number);
			if (when === "while") expect(outcome).toBe(stale.code);
			await house.wal.close();
		}
	});

	test("takes all that comes for a reason where nobody has said what begins", async () => {
		await using house = await House.open();
		const a = house.say("a");
		const { tip } = house.wal;
		await house.mark("checkpoint");
		expect(await house.timeline.checkout(a, { expect: tip })).toMatchObject({ kind: "none" });
		house.do("b");
		await expect(house.timeline.checkout(0, { expect: tip })).rejects.toMatchObject(stale);
	});
});

/** Does it after so many turns of the microtask queue. */
function later(turns: number, what: () => void): void {
	if (turns === 0) what();
	else queueMicrotask(() => later(turns - 1, what));
}

describe("undo and redo of the move that was previewed", () => {
	/** A rewind to take back, and one that was taken back. */
	async function moved(): Promise<{ house: House; undo: Seq; redo: Seq; tip: Seq }> {
		const { house, a } = await told();
		await house.timeline.checkout(a, { scope: main });
		await house.timeline.checkout(0, { scope: main });
		await house.timeline.undo();
		const { past, future } = await house.timeline.moves();
		return { house, undo: newest(past).seq, redo: newest(future).seq, tip: house.wal.tip };
	}
	const newest = (moves: readonly Move[]): Move => moves.at(-1) as Move;

	test.each(["undo", "redo"] as const)("%s takes that one and no other", async (verb) => {
		const { house, [verb]: of } = await moved();
		await house.timeline.checkout(0, { scope: bob });
		if (verb === "redo") await house.timeline.undo();
		const before = await house.records();
		await expect(house.timeline[verb]({ of })).rejects.toMatchObject({
			...stale,
			detail: { of, newest: expect.any(Number) },
		});
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	test.each(["undo", "redo"] as const)("%s is refused where there is none any more", async (verb) => {
		const { house, [verb]: of } = await moved();
		if (verb === "undo") await house.timeline.undo();
		else {
			house.ask("x");
			await house.wal.append(did({ text: "." }), bob).durable;
		}
		const before = await house.records();
		await expect(house.timeline[verb]({ of })).rejects.toMatchObject({ ...stale, detail: { of } });
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	for (const verb of ["undo", "redo"] as const) {
		test.each(Object.keys(speaksAgainst))(`${verb} is refused after %s`, async (what) => {
			const { house, [verb]: of, tip } = await moved();
			await speaksAgainst[what]?.(house);
			const before = await house.records();
			await expect(house.timeline[verb]({ of, expect: tip })).rejects.toMatchObject(stale);
			await expect(house.timeline[verb]({ expect: tip })).rejects.toMatchObject(stale);
			expect(await house.records()).toEqual(before);
			await house.wal.close();
		});

		test.each(Object.keys(isNoReason))(`${verb} is made after %s`, async (what) => {
			const { house, [verb]: of, tip } = await moved();
			await isNoReason[what]?.(house);
			expect(await house.timeline[verb]({ of, expect: tip })).toMatchObject({ of });
			await house.wal.close();
		});
	}
});

describe("a label that was previewed", () => {
	test.each(Object.keys(speaksAgainst))("is refused after %s", async (what) => {
		const { house, tip } = await told();
		await speaksAgainst[what]?.(house);
		const before = await house.records();
		await expect(house.timeline.label(tip, "here", { expect: tip })).rejects.toMatchObject(stale);
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	test("is given after progress of work", async () => {
		const { house, tip } = await told();
		house.do("x");
		await house.timeline.label(tip, "here", { expect: tip });
		expect(await house.timeline.labels()).toEqual([{ name: "here", seq: tip }]);
		await house.wal.close();
	});
});

test("of what was taken away since nobody knows whether it speaks against a move", async () => {
	await using house = await House.open({ undoRules, begins });
	house.say("a");
	const { tip } = house.wal;
	for (const text of ["b", "c", "d"]) {
		house.do(text);
		await house.mark(text);
	}
	await house.timeline.gc(keeping(1));
	expect(house.timeline.retainedFrom).toBeGreaterThan(tip + 1);
	await expect(house.timeline.checkout(0, { expect: tip })).rejects.toMatchObject(stale);
});

describe("who asked", () => {
	test.each([
		["nobody", ""],
		["a blank", " \t"],
		["257 bytes", "x".repeat(257)],
		["100 kB", "x".repeat(100_000)],
		["257 bytes of fewer characters", `${"é".repeat(128)}x`],
		["no text", 7 as unknown as string],
	])("is not %s: no move is made, and nothing is written", async (_, actor) => {
		const { house, a } = await told();
		await house.timeline.checkout(a);
		await house.timeline.checkout(0);
		await house.timeline.undo();
		const before = await house.records();
		const refused = { code: "TIMETRAVEL_ACTOR" };
		await expect(house.timeline.checkout(0, { actor })).rejects.toMatchObject(refused);
		await expect(house.timeline.rewindTo(0, { actor })).rejects.toMatchObject(refused);
		await expect(house.timeline.undo({ actor })).rejects.toMatchObject(refused);
		await expect(house.timeline.redo({ actor })).rejects.toMatchObject(refused);
		await expect(house.timeline.label(0, "x", { actor })).rejects.toMatchObject(refused);
		expect(await house.records()).toEqual(before);
		await house.wal.close();
	});

	test("may have 256 bytes", async () => {
		const { house, a } = await told();
		const actor = "é".repeat(128);
		const { seq } = await house.timeline.checkout(a, { actor });
		expect(await house.timeline.record(seq)).toMatchObject({ data: { actor } });
		await house.wal.close();
	});
});

type Write = {
	readonly what: "say" | "do" | "ask" | "answer" | "mark" | "label" | "go" | "undo";
	readonly scope: Scope;
};
const scopes: readonly Scope[] = [{}, alice, main, plan, side, bob];
const anyWrite: fc.Arbitrary<Write> = fc.record({
	what: fc.constantFrom("say", "do", "do", "do", "ask", "answer", "mark", "label", "go", "undo"),
	scope: fc.constantFrom(...scopes),
});
const calm: fc.Arbitrary<Write> = fc.record({ what: fc.constantFrom("do", "mark"), scope: fc.constantFrom(...scopes) });
/** A turn in what any of the moves covers that could be made again: then none can. */
const isAsked = ({ inverse }: Move, at: Scope): boolean =>
	inverse.kind === "reset" && within(at, inverse.scope) && inverse.drop?.includes(asked.kind) !== false;

const anyMove = fc.record({
	verb: fc.constantFrom("checkout" as const, "checkout" as const, "undo" as const, "redo" as const, "label" as const),
	to: fc.nat(1000),
	scope: fc.constantFrom(...scopes),
	drop: fc.constantFrom(undefined, undefined, [said.kind, did.kind], [did.kind]),
});

test("with any records between preview and apply, either what was previewed is done or nothing is", async () => {
	const met = { done: 0, refused: 0, meanwhile: 0, nothing: 0 };
	await fc.assert(
		fc.asyncProperty(
			fc.array(anyWrite, { minLength: 3, maxLength: 14, size: "max" }),
			anyMove,
			fc.oneof(fc.array(anyWrite, { maxLength: 3 }), fc.array(calm, { maxLength: 3 })),
			async (history, { verb, to, scope, drop }, between) => {
				await using house = await House.open({ undoRules, begins });
				let names = 0;
				const write = async ({ what, scope }: Write): Promise<void> => {
					const n = names++;
					if (what === "mark") await house.mark(`${n}`, { scope });
					else if (what === "label") await house.timeline.label(house.wal.tip, `l${n}`);
					else if (what === "go") await house.timeline.checkout(house.wal.tip >> 1, { scope });
					else if (what === "undo") await house.timeline.undo().catch(() => undefined);
					else house[what](`t${n}`, scope);
				};
				for (const each of history) await write(each);
				await house.wal.append(did({ text: "." }), { agent: "nobody" }).durable;

				const { tip } = house.wal;
				const target = to % (tip + 1);
				const covers = { scope, ...(drop && { drop }) };
				const previewed = await house.timeline.preview(target, covers);
				const { past, future } = await house.timeline.moves();
				const move = (verb === "undo" ? past : future).at(-1);
				if (verb !== "checkout" && verb !== "label" && !move) return void met.nothing++;

				for (const each of between) await write(each);
				await house.wal.append(did({ text: "." }), { agent: "nobody" }).durable;
				const came = await collect(house.wal.read({ after: tip }));
				const moving = verb === "checkout" ? scope : verb === "label" ? {} : scopeOf(move as Move);
				const against = came.filter(({ kind, scope: at }) =>
					[reset.kind, label.kind, answered.kind].includes(kind)
						? true
						: ([said.kind, asked.kind].includes(kind) && overlap(at, moving)) ||
							(verb === "redo" && kind === asked.kind && future.some((each) => isAsked(each, at))),
				);
				const states = async (seq: Seq) => Promise.all(scopes.map((each) => house.timeline.at(seq, each)));
				const expected = await foretold();
				const before = await house.records();
				const done = await apply().catch((error: { code: string }) => error);
				const after = await house.records();
				if ("code" in done) {
					expect(done.code).toBe("TIMETRAVEL_STALE");
					expect(against).not.toEqual([]);
					expect(after).toEqual(before);
					return void met.refused++;
				}
				expect(against).toEqual([]);
				met.done++;
				if (came.length > 1) met.meanwhile++;
				if (verb === "checkout") {
					expect(done).toMatchObject({ kind: previewed.kind, target: previewed.target });
					if (previewed.kind === "none") {
						expect(after).toEqual(before);
						return;
					}
				}
				if (verb === "undo" || verb === "redo") expect(done).toMatchObject({ of: move?.seq });
				const written = after.slice(before.length).filter(({ kind }) => kind !== "reset_settled");
				expect(written).toHaveLength(1);
				expect((await states(house.wal.tip)).map((view) => view.hash())).toEqual(expected);

				function apply(): Promise<object> {
					if (verb === "checkout") return house.timeline.checkout(target, { ...covers, expect: tip });
					if (verb === "label") return house.timeline.label(target, "bound", { expect: tip }).then(() => ({}));
					return house.timeline[verb]({ of: move?.seq as Seq, expect: tip });
				}

				/** The states as the preview says that they will be, with the progress that came since. */
				async function foretold(): Promise<string[]> {
					const now = async () => (await states(house.wal.tip)).map((view) => view.hash());
					if (verb === "label" || (verb === "checkout" && previewed.kind === "none")) return now();
					if (verb !== "checkout" && move?.inverse.kind === "label") return now();
					const seq = verb === "checkout" ? previewed.target : (move as Move).seq - 1;
					const covered = verb === "checkout" ? covers : ((move as Move).inverse as { scope: Scope });
					const hypothetical = house.timeline.hypothetical(seq, covered);
					return Promise.all(scopes.map(async (each) => (await hypothetical.at(each)).hash()));
				}
			},
		),
		{ numRuns: RUNS, ...SEED },
	);
	expect(Math.min(...Object.values(met)), JSON.stringify(met)).toBeGreaterThan(RUNS / 50);
});

const scopeOf = ({ inverse }: Move): Scope => (inverse.kind === "reset" ? inverse.scope : {});

/** Written out again, so that a slip in the one of the package shows. */
function overlap(a: Scope, b: Scope): boolean {
	return (["agent", "session", "run"] as const).every(
		(part) => a[part] === undefined || b[part] === undefined || a[part] === b[part],
	);
}
