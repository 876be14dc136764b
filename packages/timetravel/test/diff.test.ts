/** The difference of two states: of branches, of any JSON, and of long lists. */
import { defineProjection, List, View } from "@reyn/snapshot";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { histories } from "../../../tests/sample.ts";
import { diffViews } from "../src/diff.ts";
import { type Change, diffLines } from "../src/index.ts";
import { bob, House, main, side, story, waiting } from "./house.ts";

const box = defineProjection<unknown>({
	name: "box",
	version: 1,
	schema: z.unknown(),
	init: () => null,
	handle: () => [],
});

const viewOf = (state: unknown, seq = 1): View => View.of(main, seq, [box], new Map([[box.name, state]]), 0);

const changesOf = (a: unknown, b: unknown): readonly Change[] =>
	diffViews(viewOf(a), viewOf(b)).projections.box as readonly Change[];

describe("two moments of a timeline", () => {
	test("on two branches differ in their tails, and share what came before the fork", async () => {
		await using house = await House.open();
		house.say("once");
		const fork = house.say("upon");
		const left = house.say("a time");
		await house.timeline.checkout(fork);
		house.say("a");
		const right = house.say("mattress");
		expect(await house.timeline.diff(left, right, main)).toEqual({
			from: left,
			to: right,
			scope: main,
			projections: {
				story: [{ kind: "spliced", path: [], at: 2, before: ["a time"], after: ["a", "mattress"] }],
				waiting: [],
			},
		});
	});

	test("are compared in one scope, and in the projections that were asked for", async () => {
		await using house = await House.open();
		house.say("in main");
		const seq = house.ask("too", side);
		const { timeline } = house;
		expect((await timeline.diff(0, seq, side)).projections).toEqual({
			story: [],
			waiting: [{ kind: "spliced", path: [], at: 0, before: [], after: ["too"] }],
		});
		expect(Object.keys((await timeline.diff(0, seq, {}, [story])).projections)).toEqual(["story"]);
		expect((await timeline.diff(0, seq, bob)).projections).toEqual({ story: [], waiting: [] });
	});

	test("that are no seqs, and a projection that nobody registered, are errors", async () => {
		await using house = await House.open({ projections: [story] });
		const { timeline } = house;
		await expect(timeline.diff(0, 9, main)).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
		await expect(timeline.diff(-1, 0, main)).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
		await expect(timeline.diff(0, 0, main, [waiting])).rejects.toMatchObject({ code: "SNAPSHOT_UNREGISTERED" });
	});
});

describe("a change", () => {
	test("names its place by the keys that lead there", () => {
		const a = { plans: { p1: { status: "running", steps: 2 }, p2: 1 }, same: [1, { x: 1 }] };
		const b = { plans: { p1: { status: "done", steps: 2 }, p3: 1 }, same: [1, { x: 1 }] };
		expect(changesOf(a, b)).toEqual([
			{ kind: "changed", path: ["plans", "p1", "status"], before: "running", after: "done" },
			{ kind: "removed", path: ["plans", "p2"], before: 1 },
			{ kind: "added", path: ["plans", "p3"], after: 1 },
		]);
	});

	test("is none where only the order of keys differs, or a key is undefined", () => {
		expect(changesOf({ x: 1, y: { a: 1, b: 2 } }, { y: { b: 2, a: 1 }, x: 1, z: undefined })).toEqual([]);
		expect(changesOf([{ x: 1, y: 2 }], [{ y: 2, x: 1 }])).toEqual([]);
	});

	test("of a list says what stands between its common beginning and its common end", () => {
		expect(changesOf({ open: [3, 5] }, { open: [5] })).toEqual([
			{ kind: "spliced", path: ["open"], at: 0, before: [3], after: [] },
		]);
		expect(changesOf([1, 1], [1, 1, 1])).toEqual([{ kind: "spliced", path: [], at: 2, before: [], after: [1] }]);
	});
});

test("lines name each change once, with values that cannot break a line", () => {
	const a = { plans: { p1: "running", p2: 1 }, items: [1, "old\n"], "a.b": 1 };
	const b = { plans: { p1: "done" }, items: [1, "new", 3], "a.b": 1, c: { "d e": null } };
	expect(diffLines(diffViews(viewOf(a), viewOf(b)))).toEqual([
		"box",
		'  + c: {"d e":null}',
		"  ~ items[1]: 1 taken away, 2 added",
		'    - "old\\n"',
		'    + "new"',
		"    + 3",
		'  ~ plans.p1: "running" → "done"',
		"  - plans.p2: 1",
	]);
	expect(diffLines(diffViews(viewOf({ "a.b": { c: 1 } }), viewOf({ "a.b": {} })))).toEqual(["box", '  - ["a.b"].c: 1']);
	expect(diffLines(diffViews(viewOf(3), viewOf("x")))).toEqual(["box", '  ~ 3 → "x"']);
	expect(diffLines(diffViews(viewOf(a), viewOf(structuredClone(a))))).toEqual([]);
});

const anyKey = fc.constantFrom("a", "b", "c.d", "constructor", "__proto__");
/** Few keys and few values, so that two states have much in common. */
const { json: anyJson } = fc.letrec<{ json: unknown }>((tie) => ({
	json: fc.oneof(
		{ maxDepth: 3, withCrossShrink: true },
		fc.constantFrom<unknown>(null, 0, 1, "x", true),
		fc.array(tie("json"), { maxLength: 5 }),
		fc.array(fc.tuple(anyKey, tie("json")), { maxLength: 4 }).map((fields) => Object.fromEntries(fields)),
	),
}));

test("the changes take the one state to the other, and each is needed", () => {
	fc.assert(
		fc.property(anyJson, anyJson, (a, b) => {
			const changes = changesOf(a, b);
			expect(applied(a, changes)).toEqual(JSON.stringify(sorted(b)));
			for (const left of changes.keys()) {
				const rest = changes.filter((_, i) => i !== left);
				expect(applied(a, rest)).not.toEqual(JSON.stringify(sorted(b)));
			}
		}),
		histories(2_000),
	);
});

const anyEdit = fc.oneof(
	fc.record({ at: fc.nat(400), gone: fc.nat(3), items: fc.array(fc.nat(3), { maxLength: 3 }) }),
	fc.record({ at: fc.constant(1e9), gone: fc.constant(0), items: fc.array(fc.nat(3), { maxLength: 90 }) }),
);

test("a List differs as an array with its items does, however much of it is shared", () => {
	fc.assert(
		fc.property(fc.nat(400), fc.array(anyEdit, { maxLength: 3 }), fc.array(anyEdit, { maxLength: 3 }), (n, a, b) => {
			const start = List.from(Array.from({ length: n }, (_, i) => i % 3));
			const edited = (edits: typeof a): List<number> =>
				edits.reduce((list, { at, gone, items }) => list.splice(at, gone, ...items), start);
			const [one, other] = [edited(a), edited(b)];
			expect(changesOf(one, other)).toEqual(changesOf(one.toArray(), other.toArray()));
		}),
		histories(500),
	);
});

test("two tails of a long history cost what lies in them", () => {
	const start = List.from(Array.from({ length: 100_000 }, (_, i) => ({ i })));
	const [one, other] = [start.append({ i: -1 }, { i: -2 }), start.append({ i: -3 })];
	const at = vi.spyOn(List.prototype, "at");
	const changes = changesOf(one, other);
	const looks = at.mock.calls.length;
	at.mockRestore();
	expect(changes).toEqual([
		{ kind: "spliced", path: [], at: 100_000, before: [{ i: -1 }, { i: -2 }], after: [{ i: -3 }] },
	]);
	expect(looks).toBeLessThan(200);
});

type Fields = Record<string, unknown>;

/** What the changes say, done to a copy, as JSON with sorted keys. */
function applied(state: unknown, changes: readonly Change[]): string {
	const holder = JSON.parse(JSON.stringify({ state })) as Fields;
	for (const change of changes) {
		const keys = ["state", ...change.path];
		const last = keys.pop() as string;
		const owner = keys.reduce<Fields>((value, key) => value[key] as Fields, holder);
		if (change.kind === "removed") delete owner[last];
		else if (change.kind === "spliced")
			(owner[last] as unknown[]).splice(change.at, change.before.length, ...change.after);
		else
			Object.defineProperty(owner, last, { value: change.after, enumerable: true, configurable: true, writable: true });
	}
	return JSON.stringify(sorted(holder.state));
}

function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (typeof value !== "object" || value === null) return value;
	const fields = Object.entries(value).map(([key, field]) => [key, sorted(field)] as const);
	return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
}
