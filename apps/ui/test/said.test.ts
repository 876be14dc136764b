/** Pieces of answers, as pages are told them: whatever a page has missed, it has the whole of it after the next one. */
import { expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { Said, type Told } from "../src/server/said.ts";

const scope = { agent: "default", session: "main" };

test("each page has the text as it is, however often it looks; what is over, or asked again, is forgotten", () => {
	const random = seeded(SEED);
	const said = new Said();
	const texts = new Map<number, string>();
	const pages = [0, 1, 2].map(() => ({ told: new Map() as Told, has: new Map<number, string>() }));
	for (let i = 0; i < 2000; i++) {
		const turn = 1 + random.below(3);
		const what = random.below(20);
		if (what === 0) {
			said.take({ type: "turn_end", scope, turn, outcome: "completed" });
			texts.delete(turn);
		} else if (what === 1) {
			said.take({
				type: "model_retry",
				scope,
				lane: "t",
				model: "m",
				attempt: 1,
				limit: 3,
				reason: "busy",
				pauseMs: 1,
			});
			texts.clear();
		} else {
			const delta = "abc".slice(0, 1 + random.below(3));
			said.take({ type: "text", scope, turn, round: 0, delta });
			texts.set(turn, (texts.get(turn) ?? "") + delta);
		}
		for (const { told, has } of pages) {
			if (random.below(3) > 0) continue;
			for (const { turn, from, text } of said.since(told)) {
				const before = has.get(turn) ?? "";
				expect(from).toBeLessThanOrEqual(before.length);
				has.set(turn, before.slice(0, from) + text);
			}
			for (const [turn, text] of texts) expect(has.get(turn)).toBe(text);
			for (const turn of has.keys()) if (!texts.has(turn)) has.delete(turn);
		}
	}
});

test("who listens is told of each, until they listen no more", () => {
	const said = new Said();
	let told = 0;
	const end = said.listen(() => void told++);
	said.take({ type: "text", scope, turn: 1, round: 0, delta: "a" });
	said.take({ type: "tool", scope, name: "look", args: {} });
	end();
	said.take({ type: "text", scope, turn: 1, round: 0, delta: "b" });
	expect(told).toBe(1);
});

test("what is said in another round begins a paragraph of its own", () => {
	const said = new Said();
	for (const [round, delta] of [
		[0, "I lo"],
		[0, "ok."],
		[1, "By day."],
	] as const)
		said.take({ type: "text", scope: {}, turn: 1, round, delta });
	expect(said.since(new Map())).toEqual([{ turn: 1, from: 0, text: "I look.\n\nBy day." }]);
});
