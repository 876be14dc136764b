/** Resizes, an answer that streams and somebody who types, in any order: each line once, in order, and what is typed once. */
import { expect, test } from "vitest";
import { HOSTILE } from "../../../../tests/kit/hostile.ts";
import { seeded } from "../../../../tests/kit/seeded.ts";
import { sample } from "../../../../tests/sample.ts";
import { width } from "../../src/chat/text.ts";
import { view } from "../../src/chat/view.ts";
import { Rig } from "./rig.ts";

/** All that a terminal may be told besides text: where to draw, that it is drawn at once, and nothing that a text has brought. */
const ESC = "\x1b";
const ours = new RegExp(`${ESC}\\[(?:\\?2026[hl]|\\d*[ABCGJK]|[\\d;]*m)`, "g");

test("each line is there once and in order, what is typed stays, and no text acts on the terminal", async () => {
	for (let round = 0; round < sample(10, 200); round++) {
		const random = seeded(round + 1);
		const rig = new Rig(40 + random.below(101), 15 + random.below(41));
		rig.type("ask\r");
		let typed = "";
		let [line, report] = [0, 0];
		let rest = "";
		for (let act = 0; act < 60; act++) {
			rig.now += random.below(60);
			const dice = random();
			if (dice < 0.5) {
				if (rest === "") rest = `~${line++}~ ${HOSTILE}${"word ".repeat(random.below(24))}end\n`;
				const length = 1 + random.below(rest.length);
				rig.tell({ kind: "text", delta: rest.slice(0, length), at: rig.now });
				rest = rest.slice(length);
			} else if (dice < 0.65)
				rig.tell({ kind: "said", lines: [`^${report++}^ a plan reports ${"much ".repeat(random.below(30))}`] });
			else if (dice < 0.85) {
				const letters = random.pick(["a", "bc ", "日本", "é", "👍🏽"]);
				typed += letters;
				rig.type(letters);
			} else await rig.resize(40 + random.below(101), 15 + random.below(41));
			const { rows, columns } = rig.setting;
			const frame = view(rig.state, rig.setting, rig.now);
			expect(frame.rows.length).toBeLessThanOrEqual(rows - 1);
			for (const row of frame.rows) expect(width(row)).toBeLessThanOrEqual(columns);
			if (random.chance(0.6)) rig.draw();
		}
		rig.tell({ kind: "text", delta: rest, at: rig.now });
		rig.tell({ kind: "ended", isAnswered: true, at: rig.now });
		rig.draw();
		const lines = await rig.lines();
		const numbers = (mark: RegExp): readonly number[] =>
			lines.flatMap((each) => [...each.matchAll(mark)].map(([, number]) => Number(number)));
		const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
		expect(numbers(/~(\d+)~/g), `seed ${round + 1}`).toEqual(upTo(line));
		expect(numbers(/\^(\d+)\^/g), `seed ${round + 1}`).toEqual(upTo(report));
		expect(rig.state.line.text).toBe(typed);
		expect(lines.join("").replaceAll(" ", "")).toContain(typed.replaceAll(" ", "").slice(0, 20));
		expect(lines.filter((each) => each.startsWith("› ")).length).toBe(2);
		expect(rig.written.replace(ours, "").replace(/[\r\n]/g, "")).not.toMatch(/\p{Cc}/u);
	}
});

test("a window that shrinks under a line of ten rows: all of it stays, and what was said above stands once", async () => {
	const rig = new Rig(80, 24);
	rig.tell({ kind: "said", lines: Array.from({ length: 6 }, (_, n) => `^${n}^ said before`) });
	const rows = Array.from({ length: 10 }, (_, n) => `row ${n} of what is typed`);
	for (const [at, row] of rows.entries()) {
		if (at > 0) rig.type("\n");
		rig.type(row);
	}
	expect(rig.state.line.text).toBe(rows.join("\n"));
	for (const [columns, height] of [
		[60, 12],
		[40, 6],
		[40, 3],
		[80, 24],
	] as const) {
		await rig.resize(columns, height);
		const frame = view(rig.state, rig.setting, rig.now);
		expect(frame.rows.length).toBeLessThanOrEqual(height - 1);
		expect(frame.rows[frame.row]).toContain("row 9 of what is typed");
		rig.draw();
	}
	rig.type("!");
	const lines = await rig.lines();
	expect(lines.flatMap((line) => /\^(\d)\^/.exec(line)?.[1] ?? []).join("")).toBe("012345");
	expect(rig.state.line.text).toBe(`${rows.join("\n")}!`);
});

test("a megabyte that is pasted, in many reads, is one message and stands in few rows", async () => {
	const rig = new Rig();
	const text = Array.from({ length: 16_384 }, (_, n) => `${n} `.padEnd(63, "x")).join("\n");
	const bytes = `\x1b[200~${text.replaceAll("\n", "\r")}\x1b[201~`;
	for (let at = 0; at < bytes.length; at += 65_536) rig.type(bytes.slice(at, at + 65_536));
	expect(await rig.seen()).toContain("› [16384 lines pasted]▏");
	rig.type("\r");
	expect(rig.effects.filter(({ kind }) => kind === "send")).toEqual([{ kind: "send", text, isCommand: false }]);
	expect((await rig.lines()).length).toBeLessThan(30);
});

test("what a terminal answers ten seconds late, in the middle of a word, is not typed", () => {
	const rig = new Rig();
	rig.type("hel");
	rig.now += 10_000;
	rig.type("\x1b[?62;4c\x1b[?1u\x1b]11;rgb:0/0/0\x07");
	rig.type("lo");
	expect(rig.state.line.text).toBe("hello");
	expect(rig.effects).toEqual([]);
});
