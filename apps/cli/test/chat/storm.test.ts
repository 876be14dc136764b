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
