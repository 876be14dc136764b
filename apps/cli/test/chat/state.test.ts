/** What a key does, in each state that the chat can be in. */
import { describe, expect, test } from "vitest";
import { pickerOf, questionOf } from "../../src/chat/dialogs.ts";
import { emptyLine } from "../../src/chat/editor.ts";
import type { State } from "../../src/chat/state.ts";
import { Rig } from "./rig.ts";

const [ESC, UP, DOWN, TAB] = ["\x1b", "\x1b[A", "\x1b[B", "\t"];
const [CTRL_C, CTRL_D, CTRL_Z, CTRL_L] = ["\x03", "\x04", "\x1a", "\x0c"];
const [CTRL_F, CTRL_T] = ["\x06", "\x14"];
const [AGAIN] = ["press Ctrl-C again to leave; what is unfinished is kept"];

const past = ["first", "second\nof two rows", "/help"];

const states: Readonly<Record<string, (rig: Rig) => void>> = {
	idle: () => {},
	text: (rig) => rig.type("some text"),
	busy: (rig) => rig.type("asked\r"),
	queue: (rig) => {
		rig.type("asked\r");
		rig.type("one more\r");
	},
	menu: (rig) => rig.type("/re"),
	list: (rig) =>
		rig.tell({
			kind: "asked",
			dialog: pickerOf({ title: "t", count: 3, row: (at) => `row ${at}`, text: (at) => `row ${at}`, none: "(now)" }),
		}),
	move: (rig) =>
		rig.tell({
			kind: "asked",
			dialog: questionOf({ title: "t", lines: [], answers: ["cancel", "go"], files: "files: stay", other: "mode" }),
		}),
	question: (rig) =>
		rig.tell({ kind: "asked", dialog: questionOf({ title: "t", lines: [], answers: ["cancel", "go"] }) }),
};

/** What was done, and what is in the line, beside the state. */
function after(state: string, ...reads: readonly string[]) {
	const rig = new Rig(80, 24, { past });
	states[state]?.(rig);
	rig.effects.length = 0;
	for (const each of reads) rig.type(each);
	const { line, queue, notice, menu, dialog, turn } = rig.state;
	const done = rig.effects.map((effect) => Object.values(effect).join(" "));
	return {
		done,
		text: line.text,
		queue: queue.length,
		notice,
		menu: menu?.items.length,
		dialog: dialog?.kind,
		turn: turn?.isStopping,
	};
}

test.each<[state: string, reads: readonly string[], result: Partial<ReturnType<typeof after>>]>([
	["idle", ["hello\r"], { done: ["remember hello", "send hello false"], text: "", turn: false }],
	["idle", ["\r"], { done: [], turn: undefined }],
	["idle", ["/help\r"], { done: ["remember /help", "send /help true"], turn: undefined }],
	["idle", ["a\\", "\r", "b"], { done: [], text: "a\nb" }],
	["idle", ["a", "\x1b\r", "b", "\n", "c"], { done: [], text: "a\nb\nc" }],
	["idle", [UP], { text: "/help", menu: undefined }],
	["idle", [UP, UP, UP, UP, UP], { text: "first" }],
	["idle", ["dra", UP, DOWN], { text: "dra" }],
	["idle", [UP, UP, UP, DOWN, DOWN], { text: "/help" }],
	["idle", [ESC], { done: [], notice: "Esc again goes back in time" }],
	["idle", [ESC, ESC], { done: ["send /rewind true"] }],
	["idle", [ESC + ESC], { done: ["send /rewind true"] }],
	["idle", [CTRL_C], { done: [], notice: AGAIN }],
	["idle", [CTRL_C, CTRL_C], { done: ["leave interrupt"] }],
	["idle", [CTRL_D], { done: ["leave end"] }],
	["idle", [CTRL_Z], { done: ["suspend"] }],
	["idle", [CTRL_L], { done: ["redraw"] }],
	["idle", [CTRL_T], { done: ["send /edit true"] }],
	["text", [CTRL_T], { done: ["send /edit true"], text: "some text" }],
	["busy", [CTRL_T], { done: [], notice: "Esc stops the answer first", turn: false }],
	["idle", ["see @"], { done: ["find files"], menu: undefined }],
	["text", [CTRL_C], { done: [], text: "", notice: undefined }],
	["text", [CTRL_C, CTRL_C], { done: [], notice: AGAIN }],
	["text", [CTRL_D], { done: [], text: "some text" }],
	["text", [CTRL_Z], { done: [], text: "" }],
	["text", [ESC], { text: "some text", notice: "Esc again clears the line" }],
	["text", [ESC, ESC], { done: [], text: "" }],
	["text", [ESC, ESC, "\x1f"], { text: "some text" }],
	["busy", ["next\r"], { done: ["remember next"], queue: 1, turn: false }],
	["busy", ["/meter\r"], { done: ["remember /meter", "send /meter true"], queue: 0 }],
	["busy", [ESC], { done: ["interrupt"], turn: true }],
	["busy", [ESC, ESC, ESC], { done: ["interrupt"], turn: true }],
	["busy", [CTRL_C], { done: ["interrupt"], turn: true }],
	["busy", [CTRL_C, CTRL_C], { done: ["interrupt", "leave interrupt"] }],
	["busy", ["text", ESC], { done: ["interrupt"], text: "text" }],
	["queue", [UP], { text: "one more", queue: 0 }],
	["queue", ["x", UP], { text: "one more", queue: 1 }],
	["menu", [TAB], { done: [], text: "/rewind " }],
	["menu", [DOWN, "\r"], { done: [], text: "/redo " }],
	["menu", [DOWN, DOWN, TAB], { text: "/rewind " }],
	["menu", [ESC], { text: "/re", menu: undefined }],
	["menu", ["do\r"], { done: ["remember /redo", "send /redo true"] }],
	["list", ["\r"], { done: ["answer "], dialog: undefined }],
	["list", [DOWN, "\r"], { done: ["answer 0"] }],
	["list", ["j", "j", "k", "\r"], { done: ["answer 0"] }],
	["list", ["G", "\r"], { done: ["answer 2"] }],
	["list", ["/row 1", "\r"], { done: ["answer 1"] }],
	["list", ["w 2", "\r"], { done: ["answer 2"] }],
	["list", ["/nothing", "\r"], { done: ["answer "] }],
	["list", [ESC], { done: ["answer "], dialog: undefined, text: "" }],
	["list", [CTRL_C], { done: ["answer "], dialog: undefined, notice: AGAIN }],
	["list", [CTRL_C, CTRL_C], { done: ["answer ", "leave interrupt"] }],
	["move", [CTRL_F], { done: ["answer files"], dialog: undefined }],
	["move", [TAB], { done: ["answer other"], dialog: undefined }],
	["move", ["\r"], { done: ["answer 0"] }],
	["question", [CTRL_F], { done: [], dialog: "question" }],
	["question", ["\r"], { done: ["answer 0"] }],
	["question", ["g", "\r"], { done: ["answer 1"] }],
	["question", [TAB, "\r"], { done: ["answer 1"] }],
	["question", ["\x1b[C", "\x1b[D", "\r"], { done: ["answer 0"] }],
	["question", ["y"], { done: [], dialog: "question" }],
	["question", [ESC], { done: ["answer "], dialog: undefined }],
	["question", [CTRL_C, CTRL_C], { done: ["answer ", "leave interrupt"] }],
])("%s, %j", (state, reads, result) => {
	expect(after(state, ...reads)).toMatchObject(result);
});

test("a second Ctrl-C or Esc that comes late is a first one", () => {
	for (const [key, done] of [
		[CTRL_C, []],
		[ESC, []],
	] as const) {
		const rig = new Rig();
		rig.type(key);
		rig.now += 1500;
		rig.type(key);
		expect(rig.effects).toEqual(done);
	}
});

const answered = (rig: Rig, isAnswered: boolean): readonly unknown[] => {
	rig.effects.length = 0;
	rig.tell({ kind: "ended", isAnswered, at: rig.now });
	return rig.effects;
};

test("what waits is sent one by one as answers end, and after a stop when somebody says so", () => {
	const rig = new Rig();
	for (const text of ["a", "b", "c", "d"]) rig.type(`${text}\r`);
	expect(answered(rig, true)).toEqual([{ kind: "send", text: "b", isCommand: false }]);
	expect(answered(rig, false)).toEqual([]);
	expect([rig.state.isHeld, rig.state.queue.length]).toEqual([true, 2]);
	rig.type("\r");
	expect(rig.effects).toEqual([{ kind: "send", text: "c", isCommand: false }]);
	expect(answered(rig, false)).toEqual([]);
	rig.type("e\r");
	expect(rig.effects.slice(1)).toEqual([{ kind: "send", text: "d", isCommand: false }]);
	expect(answered(rig, true)).toEqual([{ kind: "send", text: "e", isCommand: false }]);
	expect(answered(rig, true)).toEqual([]);
	expect(rig.state.turn).toBeUndefined();
});

test("a paste is no command, whatever it begins with; one of a single line is as if typed", () => {
	const rig = new Rig();
	rig.type("\x1b[200~/exit\rand more\x1b[201~\r");
	rig.type("\x1b[200~/exit\r\x1b[201~\r");
	expect(rig.effects.filter(({ kind }) => kind === "send")).toEqual([
		{ kind: "send", text: "/exit\nand more", isCommand: false },
		{ kind: "send", text: "/exit", isCommand: true },
	]);
});

test("files are offered once they are found, and taken with Tab", () => {
	const rig = new Rig();
	rig.type("see @er");
	rig.tell({ kind: "files", files: ["src/v4/errors.ts", "lib/parser.ts", "readme.md"] });
	expect(rig.state.menu?.items.map(({ name }) => name)).toEqual(["@src/v4/errors.ts", "@lib/parser.ts"]);
	rig.type(TAB);
	expect(rig.state.line.text).toBe("see @src/v4/errors.ts ");
});

test("what goes back in time comes back into the line, and can be taken back", () => {
	const rig = new Rig();
	rig.type("half");
	rig.tell({ kind: "filled", text: "the old question" });
	expect(rig.state.line.text).toBe("the old question");
	rig.type("\x1f");
	expect(rig.state.line.text).toBe("half");
});

test("no key throws, whatever is open", () => {
	const keys = [
		ESC,
		UP,
		DOWN,
		TAB,
		CTRL_L,
		"\x12",
		"\r",
		"\n",
		"x",
		"/",
		"@",
		"\x7f",
		"\x17",
		"\x1b[5~",
		"\x1b[6~",
		"\x1b[F",
	];
	for (const open of Object.values(states))
		for (const first of keys) {
			const rig = new Rig(20, 6, { past });
			open(rig);
			for (const second of keys)
				for (const each of [first, second]) {
					rig.type(each);
					expect(whole(rig.state)).toBe(true);
				}
		}
});

const whole = ({ line }: State): boolean =>
	line.cursor >= 0 && line.cursor <= line.text.length && line.chips === emptyLine.chips;

describe("a question that nobody here has called for", () => {
	const answers = ["not now", "once", "session", "always", "no", "no, and why"] as const;
	const asked = (): Rig => {
		const rig = new Rig();
		rig.tell({ kind: "asked", dialog: questionOf({ title: "write a?", lines: [], answers }) });
		return rig;
	};
	const answer = (rig: Rig): unknown => {
		const given = rig.effects.find(({ kind }) => kind === "answer");
		return given?.kind === "answer" ? answers[given.answer as number] : undefined;
	};

	test.each([
		["\r", "not now"],
		["o\r", "once"],
		["no\r", "no"],
		["no,\r", "no, and why"],
		["ALWAYS\r", "always"],
		// Whoever was typing, and did not see it, has said nothing.
		["once more, please\r", "not now"],
		["always use tabs\r", "not now"],
		["yes\r", "not now"],
		["ox\x7fo\r", "once"],
	])("answered by %j is %s", (typed, said) => {
		const rig = asked();
		rig.type(typed);
		expect(answer(rig)).toBe(said);
	});

	test.each([
		["once more, please\r", "now once more, please"],
		["/answer 7 Extend\x1b", "now /answer 7 Extend"],
		["sess\x1b", "now "],
		["once\r", "now "],
	])("leaves in the line what was typed and is no answer: %j", (typed, line) => {
		const rig = new Rig();
		rig.type("now ");
		rig.tell({ kind: "asked", dialog: questionOf({ title: "write a?", lines: [], answers }) });
		rig.type(typed);
		expect([rig.state.line.text, rig.state.dialog]).toEqual([line, undefined]);
	});

	test("is read as a whole where there is room, and says where stray text goes", async () => {
		const rig = new Rig(40, 12);
		const title = "Step b of plan p2 has no result after 5 rounds of model and tools. Extend it?";
		rig.tell({ kind: "asked", dialog: questionOf({ title, lines: [], answers: ["not now", "extend"] }) });
		rig.type("hello");
		const seen = (await rig.seen()).replace(/\s+/g, " ");
		expect(seen).toContain(title);
		expect(seen).toContain("Enter or Esc puts it into the line: he");
		const small = new Rig(20, 4);
		small.tell({ kind: "asked", dialog: questionOf({ title, lines: [], answers: ["not now", "extend"] }) });
		expect(await small.seen()).toMatch(/…[\s\S]*❯ not now/);
	});

	test("that is withdrawn is gone, and the line takes what is typed", () => {
		const rig = asked();
		rig.tell({ kind: "withdrawn" });
		rig.type("hello\r");
		expect(answer(rig)).toBeUndefined();
		expect(rig.effects).toContainEqual({ kind: "send", text: "hello", isCommand: false });
	});
});
