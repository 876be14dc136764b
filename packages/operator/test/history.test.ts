/** A window of the history is a part of the whole: page after page it is the same. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type HistoryEntry, readHistory } from "../src/index.ts";
import { type House, openHouse } from "./house.ts";

let house: House;
beforeEach(async () => {
	house = await openHouse();
	const { runtime } = house;
	const [first = 0] = runtime.timeline.checkpoints().map(({ seq }) => seq);
	await runtime.timeline.label(first, "at-a-checkpoint");
	await runtime.timeline.label(first - 1, "between");
	await runtime.timeline.label(0, "the-beginning");
	await house.do("rewind", { ref: String(first), mode: "summarize" });
	await runtime.prompt("what does a fox do by night?");
	await runtime.idle();
	await house.do("undo");
	await house.do("checkout", { ref: "0" });
});
afterEach(() => house[Symbol.asyncDispose]());

test.each([1, 2, 3, 100])("%i at a time", async (limit) => {
	const { runtime } = house;
	const { entries } = await readHistory(runtime);
	expect(new Set(entries.map(({ type }) => type))).toEqual(
		new Set(["checkpoint", "reset", "note", "label", "genesis"] satisfies HistoryEntry["type"][]),
	);
	expect(entries.find(({ seq }) => seq === 0)).toMatchObject({ labels: ["the-beginning"] });
	const paged: HistoryEntry[] = [];
	for (let before: number | undefined; ; before = paged.at(-1)?.seq) {
		const page = (await readHistory(runtime, { before, limit })).entries;
		expect(page.length).toBeLessThanOrEqual(limit);
		if (page.length === 0) break;
		paged.push(...page);
	}
	expect(paged).toEqual(entries);
});

test.each(["checkpoint", "reset", "note", "label", "genesis"] as const)("of one sort: %s", async (type) => {
	const all = (await readHistory(house.runtime)).entries.filter((entry) => entry.type === type);
	expect((await readHistory(house.runtime, { type })).entries).toEqual(all);
	expect((await readHistory(house.runtime, { type, limit: 1 })).entries).toEqual(all.slice(0, 1));
});

test("so many checkpoints before a seq, of a scope, are the last ones of all that come before it", () => {
	const { timeline } = house.runtime;
	const all = timeline.checkpoints();
	for (const { seq } of [...all, { seq: 0 }, { seq: Number.POSITIVE_INFINITY }])
		for (const limit of [0, 1, 2, 99])
			for (const scope of [{}, { agent: "default", session: "main" }, { agent: "nobody" }]) {
				const below = timeline.checkpoints(scope).filter((each) => each.seq < seq);
				expect(timeline.checkpoints(scope, { before: seq, limit })).toEqual(
					below.slice(Math.max(0, below.length - limit)),
				);
			}
});

test("a way back, a switch to an abandoned line, an undo and a redo are told apart", async () => {
	await using own = await openHouse();
	const [tip, back] = [own.runtime.wal.tip, 2];
	await own.do("checkout", { ref: String(back) });
	const first = own.runtime.wal.tip;
	await own.do("checkout", { ref: String(tip) });
	await own.do("undo");
	await own.do("redo");
	const { document, lines } = await own.do("log", { kind: "reset" });
	const { entries } = document as { entries: readonly { move?: string; seq: number; title: string }[] };
	expect(entries.map(({ move }) => move)).toEqual(["redo", "undo", "switch", "rewind"]);
	const [redo, undo, moved] = entries;
	expect(entries.map(({ title }) => title)).toEqual([
		`redo of #${undo?.seq} by user`,
		`undo of #${moved?.seq} by user`,
		`switch to #${tip} (both) by user`,
		`rewind to #${back} (both) by user`,
	]);
	expect(lines.join()).toContain(`#${redo?.seq}  redo of`);
	expect(first).toBeLessThan(moved?.seq ?? 0);
});

test("log has every line of history, the abandoned ones too", async () => {
	const { document, lines } = await house.do("log");
	const { entries } = document as { entries: readonly HistoryEntry[] };
	const left = entries.filter(({ active, type }) => !active && type === "checkpoint");
	expect(left.length).toBeGreaterThan(1);
	for (const { seq } of left) expect(lines.join("\n")).toMatch(new RegExp(`^○ #${seq}  .*\\(abandoned\\)`, "m"));
});
