/** What is known on other lines of history of what was begun on this one: done, else the newest word, and nothing that this line has heard. */
import type { Draft, Seq } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Outcomes, outcomesBeyond, scopesBeyond } from "../src/outcomes.ts";
import { did, House, main, side } from "./house.ts";

type Word = NonNullable<ReturnType<Outcomes["read"]>>;

/** A record says its word as JSON in its text. */
const outcomes: Outcomes = {
	kinds: [did.kind],
	read: ({ kind, data }) => (kind === did.kind ? (JSON.parse((data as { text: string }).text) as Word) : undefined),
	openStarts: () => [],
	isAwaited: () => true,
	adopting: ({ kind, data }, from): Draft => ({ kind, data: { ...(data as object), adopts: from } }),
};

class Lines {
	readonly house: House;

	constructor(house: House) {
		this.house = house;
	}

	begin(of: string): Seq {
		return this.house.do(JSON.stringify({ of, what: "begun" }));
	}

	say(word: Word, scope = main): Seq {
		return this.house.do(JSON.stringify(word), scope);
	}

	back(seq: Seq): Promise<unknown> {
		return this.house.timeline.checkout(seq, { scope: main });
	}

	/** For each start that something is known of: what, and the record that says so. */
	async known(starts: readonly Seq[], after = 0): Promise<readonly (readonly [Seq, string, Seq])[]> {
		const { wal, timeline } = this.house;
		const ports = { wal, lineage: timeline.lineage, outcomes };
		const found = await outcomesBeyond(after, (start) => starts.includes(start), ports);
		return found.map(({ start, said, draft }) => [start, said.what, (draft.data as { adopts: Seq }).adopts] as const);
	}
}

const opened = async (): Promise<Lines> => new Lines(await House.open());

test("an outcome on a line that was left is found, one on this line is not", async () => {
	const lines = await opened();
	const [a, b] = [lines.begin("a"), lines.begin("b")];
	const done = lines.say({ of: "a", what: "done", start: a });
	await lines.back(b);
	lines.say({ of: "b", what: "done", start: b });
	expect(await lines.known([a, b])).toEqual([[a, "done", done]]);
	expect(await lines.known([b])).toEqual([]);
	expect(await lines.known([a], done)).toEqual([]);
});

test("that it was done counts more than any later word; else the newest counts", async () => {
	const lines = await opened();
	const a = lines.begin("a");
	const failed = lines.say({ of: "a", what: "failed", start: a });
	await lines.back(a);
	expect(await lines.known([a])).toEqual([[a, "failed", failed]]);
	const again = lines.say({ of: "a", what: "begun", start: a });
	await lines.back(a);
	expect(await lines.known([a])).toEqual([[a, "begun", again]]);
	const done = lines.say({ of: "a", what: "done", start: a });
	await lines.back(a);
	lines.say({ of: "a", what: "failed", start: a });
	await lines.back(a);
	expect(await lines.known([a])).toEqual([[a, "done", done]]);
});

test("what only repeats a word that this line has heard is no news, however late it was said", async () => {
	const lines = await opened();
	const a = lines.begin("a");
	const first = lines.say({ of: "a", what: "failed", start: a });
	await lines.back(a);
	const second = lines.say({ of: "a", what: "failed", start: a, repeats: first });
	await lines.back(a);
	lines.say({ of: "a", what: "failed", start: a, repeats: second });
	expect(await lines.known([a])).toEqual([]);
	// What repeats a repeat says what was said first.
	await lines.back(a);
	const tip = lines.say({ of: "a", what: "failed", start: a, repeats: first });
	await lines.back(a);
	lines.say({ of: "a", what: "failed", start: a, repeats: second });
	await lines.back(tip);
	expect(await lines.known([a])).toEqual([]);
	await lines.back(a);
	const news = lines.say({ of: "a", what: "failed", start: a });
	await lines.back(tip);
	expect(await lines.known([a])).toEqual([[a, "failed", news]]);
});

test("a failure is forgotten where its step was begun again by a record that does not say of which start", async () => {
	const lines = await opened();
	const a = lines.begin("a");
	lines.say({ of: "a", what: "failed", start: a });
	lines.say({ of: "a", what: "begun", again: true });
	await lines.back(a);
	expect(await lines.known([a])).toEqual([]);
	lines.say({ of: "a", what: "failed", start: a });
	lines.say({ of: "b", what: "begun", again: true });
	await lines.back(a);
	expect(await lines.known([a])).toMatchObject([[a, "failed", expect.any(Number)]]);
});

test("the scopes are those in which something began before a moment and ended behind it", async () => {
	const lines = await opened();
	const { house } = lines;
	const [a, b] = [lines.begin("a"), house.do(JSON.stringify({ of: "b", what: "begun" }), side)];
	const { tip } = house.wal;
	lines.say({ of: "a", what: "done", start: a }, { ...main, run: "p1" });
	const late = lines.begin("late");
	lines.say({ of: "late", what: "done", start: late });
	await lines.back(tip);
	const scopes = () => scopesBeyond(tip, { wal: house.wal, lineage: house.timeline.lineage, outcomes });
	expect(await scopes()).toEqual([main]);
	lines.say({ of: "b", what: "done", start: b }, side);
	expect(await scopes()).toEqual([main]);
	await house.timeline.checkout(b, { scope: side });
	expect(await scopes()).toEqual([main, side]);
});
