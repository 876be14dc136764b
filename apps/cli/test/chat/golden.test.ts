/** The screens of a chat, as a terminal draws them: at the usual width, a narrower one, and where hardly anything fits. */
import { expect, test } from "vitest";
import { planLines, startLines } from "../../src/chat/cards.ts";
import { pickerOf, questionOf } from "../../src/chat/dialogs.ts";
import { coloured } from "../../src/chat/text.ts";
import { Rig } from "./rig.ts";

const ESC = "\x1b";
const ANSWER =
	"## Where\n\nIt is **defined** in `src/v4/classic/errors.ts:19`, and *thrown* by `parse` when the result is no value:\n\n```ts\nexport class ZodError<T = unknown> extends Error {\n\tissues: T[];\n}\n```\n\n- one\n- two, which is so long that it does not fit in a row of a terminal that has eighty columns\n\n| file | line |\n|---|---|\n| a.ts | 19 |\n| b.ts | 4 |\n\nand so on, for as lo";

function asked(columns: number, rows: number): Rig {
	const rig = new Rig(columns, rows);
	rig.type("where is ZodError defined?\r");
	rig.now = 12_300;
	rig.tell({
		kind: "status",
		status: { session: "main", tip: 219, plan: { done: 2, size: 5 }, tokens: 840, cost: { usd: "0.0123", unknown: 0 } },
	});
	for (let at = 0; at < ANSWER.length; at += 7)
		rig.tell({ kind: "text", delta: ANSWER.slice(at, at + 7), at: rig.now });
	rig.type("then summarise it\r");
	rig.type("what fails");
	return rig;
}

const rowOf = (index: number): string =>
	`#${100_000 - index}  turn  ask “${index % 7 === 3 ? "where is Zod" : "anything"} ${index}”  2 h`;

const list = {
	title: "Go back to",
	count: 100_000,
	row: rowOf,
	text: rowOf,
	none: "(now)",
	note: "Files in your workspace are not touched.",
};

const preview = {
	title: "rewind to #142",
	lines: [
		"leaves behind 6 records, 1 turn in default/main: plan p2",
		"keeps, of what came after #142, 2 records, 0 turns",
	],
	answers: ["cancel", "rewind"] as const,
	files: "files: stay (Ctrl-F: take along; 3 were written since)",
	other: "mode: both (Tab: another one)",
	note: "Files in your workspace are not touched.",
};

const started = startLines({
	version: "0.4.0",
	cwd: "/home/ada/work/zod",
	home: "/home/ada",
	model: "offline model",
	session: "main",
	tip: 214,
	turns: 3,
	last: 0,
	now: 26 * 3_600_000,
	exchange: { asked: "where is ZodError defined?", answered: "src/v4/classic/errors.ts:19 …" },
	found: [
		"restored: plan p2, 3 of 5 steps done (9 calls, 4100 tokens, not paid again), 2 to run: compare four parsers",
	],
});

const sizes: readonly (readonly [number, number])[] = [
	[80, 24],
	[60, 16],
	[30, 12],
	[10, 8],
];

test.each(sizes)(
	"an answer that streams, with a message that waits and one that is typed, at %i × %i",
	async (...size) => {
		expect(await asked(...size).seen()).toMatchSnapshot();
	},
);

test.each(sizes)(
	"the status says where one is and what it has cost, as far as there is room, at %i × %i",
	async (...size) => {
		const rig = new Rig(...size);
		const status = {
			session: "main",
			tip: 214,
			branch: "b198",
			plan: { done: 2, size: 5 },
			mode: "edits",
			context: { tokens: 17_800, most: 200_000 },
			tokens: 840,
			cost: { usd: "0.0123", unknown: 0 },
			model: "offline",
		} as const;
		rig.tell({ kind: "status", status });
		expect(await rig.seen()).toMatchSnapshot();
		rig.tell({ kind: "status", status: { ...status, context: { tokens: 840 } } });
		expect(await rig.seen()).toMatchSnapshot();
	},
);

test.each(sizes)("a list of 100,000 rows, and what is searched in it, at %i × %i", async (...size) => {
	const rig = new Rig(...size);
	rig.tell({ kind: "asked", dialog: pickerOf(list) });
	expect(await rig.seen()).toMatchSnapshot();
	rig.type("/zod 42");
	rig.type("\x1b[B");
	expect(await rig.seen()).toMatchSnapshot();
	expect(rig.effects).toEqual([]);
});

test.each(sizes)("a preview, whose answer is no, at %i × %i", async (...size) => {
	const rig = new Rig(...size);
	rig.tell({ kind: "asked", dialog: questionOf(preview) });
	expect(await rig.seen()).toMatchSnapshot();
	rig.type("\x1b[C");
	expect(await rig.seen()).toMatchSnapshot();
});

/** As long as one of a move that takes files along: the price is its last line. */
const long = {
	...preview,
	lines: [
		"both: the conversation and the agent state go back",
		"12 files go back to what they held at #142:",
		...Array.from({ length: 12 }, (_, n) => `  ~ src/part-${n}.ts  changed back`),
		"stays: notes.md: somebody else has changed it since",
		"to take what somebody else has changed too, which undo brings back: /rewind 142 --files --theirs",
		"leaves behind 42 records, 3 turns in default/main",
		"does not take back: 9 model calls, 4100 tokens ($0.0123) stay paid",
	],
};

test.each([
	[60, 18],
	[80, 24],
] as const)(
	"a preview that is longer than the window says so, and all of it can be seen, at %i × %i",
	async (...size) => {
		const rig = new Rig(...size);
		rig.tell({ kind: "asked", dialog: questionOf(long) });
		const seen = [await rig.seen()];
		for (const key of ["\x1b[B", "\x1b[6~", "\x1b[F"]) {
			rig.type(key);
			seen.push(await rig.seen());
		}
		expect(seen.join("")).toMatchSnapshot();
		const rows = seen.join("\n").replaceAll(/\n {2}(?=\S)/g, " ");
		for (const line of long.lines) expect(rows).toContain(line.trim());
		// It changes no answer: what an Enter takes is the first one still.
		expect(seen.at(-1)).toContain("❯ cancel    rewind");
		rig.type("\x1b[H\x1b[A");
		expect(await rig.seen()).toBe(seen[0]);
		// Beyond an end there is nothing to come back from.
		rig.type("\x1b[B".repeat(200));
		const end = await rig.seen();
		expect(end).toBe(seen.at(-1));
		rig.type("\x1b[C\r");
		expect(rig.effects).toEqual([{ kind: "answer", answer: 1 }]);
	},
);

test("one that fits is seen as a whole, at 100 × 32", async () => {
	const rig = new Rig(100, 32);
	rig.tell({ kind: "asked", dialog: questionOf(long) });
	const whole = await rig.seen();
	for (const line of long.lines) expect(whole).toContain(line);
	expect(whole).not.toContain("…");
	rig.type("\x1b[6~");
	expect(await rig.seen()).toBe(whole);
});

test.each(sizes)("the start, and what a command can be, at %i × %i", async (...size) => {
	const rig = new Rig(...size);
	rig.tell({ kind: "said", lines: started });
	expect(await rig.seen()).toMatchSnapshot();
	rig.type("/re");
	expect(await rig.seen()).toMatchSnapshot();
});

test("a paste is a chip, and several rows are typed", async () => {
	const rig = new Rig();
	const lines = Array.from({ length: 300 }, (_, n) => `line ${n}`);
	rig.type(`\x1b[200~${lines.join("\r")}\x1b[201~ what fails here,\nand why?`);
	expect(await rig.seen()).toMatchSnapshot();
	rig.type("\r");
	expect(rig.effects.at(-1)).toEqual({
		kind: "send",
		text: `${lines.join("\n")} what fails here,\nand why?`,
		isCommand: false,
	});
	expect(await rig.seen()).toMatchSnapshot();
});

test("what was sent is searched", async () => {
	const rig = new Rig(80, 24, { past: ["where is Zod?", "and yup?", "where is io-ts?"] });
	rig.type("\x12where");
	expect(await rig.seen()).toMatchSnapshot();
	rig.type("\x12");
	rig.type("\r");
	expect(rig.state.line.text).toBe("where is Zod?");
});

test("a plan has a sign and a word for each step, and an error says what to do", async () => {
	const rig = new Rig();
	const steps = [
		{ id: "s1", description: "list files", status: "completed", note: "1 calls" },
		{ id: "s2", description: "read the scanner", status: "running", note: "retry 1 of 3" },
		{ id: "s3", description: "find tests", status: "failed", note: "HTTP 500" },
		{ id: "s4", description: "compare", status: "waits", note: "" },
	] as const;
	rig.tell({ kind: "said", lines: planLines({ plan: "p2", goal: "compare four parsers", done: 2, steps }) });
	rig.type("go on\r");
	rig.tell({ kind: "waits", why: "✗ the model gave no answer: 429. Try 3 of 5 failed; the next is in 8 s" });
	expect(await rig.seen()).toMatchSnapshot();
});

test("without colours it is the same screen", async () => {
	const [plain, rich] = [new Rig(60, 20), new Rig(60, 20, { look: coloured })];
	for (const rig of [plain, rich]) {
		rig.type("hello\r");
		for (const delta of ANSWER) rig.tell({ kind: "text", delta, at: 0 });
		rig.tell({ kind: "asked", dialog: pickerOf(list) });
	}
	expect(await rich.seen()).toBe(await plain.seen());
	expect(plain.written.replace(new RegExp(`${ESC}\\[(?:\\?2026[hl]|\\d*[ABCGJK])`, "g"), "")).not.toContain(ESC);
	expect(rich.written).toContain("\x1b[1m");
	expect(rich.written).toContain("\x1b[35mexport\x1b[39m");
});

test("what a person takes to answer is no time of work", async () => {
	const rig = asked(80, 24);
	const busy = async () => (await rig.seen()).split("\n").find((row) => / s · /.test(row));
	rig.tell({ kind: "asks", at: 12_300 });
	rig.now = 600_000;
	rig.tell({ kind: "status", status: { session: "main", tip: 220, tokens: 840, cost: { usd: "0", unknown: 0 } } });
	expect(await busy()).toMatch(/ 12 s · .*waits for your answer · Esc stops/);
	rig.tell({ kind: "answered", at: 600_000 });
	rig.now = 603_000;
	rig.tell({ kind: "status", status: { session: "main", tip: 221, tokens: 840, cost: { usd: "0", unknown: 0 } } });
	expect(await busy()).toMatch(/ 15 s · (?!.*waits)/);
});
