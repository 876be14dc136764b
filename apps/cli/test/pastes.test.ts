/** A paste is one piece of a line, however a terminal sends it. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { keysOf, Pastes } from "../src/pastes.ts";

const paste = (text: string): string => `\x1b[200~${text}\x1b[201~`;
/** What a line is given, without the mark that it ignores. */
const shown = (given: string): string => given.replaceAll("\x1b[200~", "");

/** What a line is given of reads, and what it stands for. */
function read(...reads: readonly string[]): { readonly line: string; readonly text: string } {
	const pastes = new Pastes();
	const line = shown(reads.map((each) => pastes.read(each)).join(""));
	return { line, text: pastes.expand(line) };
}

const threeHundred = Array.from({ length: 300 }, (_, n) => `line ${n}`);

test("many lines are one piece, which stands for them with their breaks, and nothing is sent", () => {
	const { line, text } = read(paste(threeHundred.join("\r")));
	expect(line).toBe("[paste 1: 300 lines]");
	expect(text).toBe(threeHundred.join("\n"));
});

test("it is typed around, and several are told apart", () => {
	const { line, text } = read(`see ${paste("a\rb")} and ${paste("c\r\n\r\nd\n")}!\r`);
	expect(line).toBe("see [paste 1: 2 lines] and [paste 2: 3 lines]!\r");
	expect(text).toBe("see a\nb and c\n\nd\n!\r");
});

test("a line that is pasted is typed, without the end that was copied with it; a long one is a piece", () => {
	expect(read(paste("hello\r"))).toEqual({ line: "hello", text: "hello" });
	expect(read(paste("/exit\r\n"))).toEqual({ line: "/exit", text: "/exit" });
	expect(read(paste(""))).toEqual({ line: "", text: "" });
	const long = "x".repeat(20_000);
	expect(read(paste(long))).toEqual({ line: "[paste 1: 20000 characters]", text: long });
});

test("control codes in it do nothing: they are not there", () => {
	const { text } = read(paste("\x1b[31mred\x1b[0m\r\x1b]0;title\x07a\tb\x00\x08\x9b2J\r\x03\x04c\u202e"));
	expect(text).toBe("red\na\tb\nc");
});

test("where a read ends makes no difference", () => {
	const whole = `a\x1b[A\x1b b${paste("1\r2\r\n\x1b[200~3")}c\x1b[20~\x1b${paste("one")}\x1b[200${paste("x\ry")}\r\x1b[201~`;
	const expected = read(whole);
	expect(expected.line).toBe("a\x1b[A\x1b b[paste 1: 3 lines]c\x1b[20~\x1bone\x1b[200[paste 2: 2 lines]\r\x1b[201~");
	expect(expected.text).toContain("b1\n2\n3c");
	expect(read(...whole)).toEqual(expected);
	for (let first = 0; first <= whole.length; first++)
		for (let second = first; second <= whole.length; second++)
			expect(read(whole.slice(0, first), whole.slice(first, second), whole.slice(second))).toEqual(expected);
});

test("an Esc is passed on at once", () => {
	const pastes = new Pastes();
	expect(["\x1b", "[20", "x"].map((each) => pastes.read(each))).toEqual(["\x1b", "[20", "x"]);
});

test("one whose end is lost is given up by Ctrl-C, and what is typed is heard again", () => {
	expect(read("\x1b[200~lost", "typed", "\x03", "heard")).toEqual({ line: "\x03heard", text: "\x03heard" });
});

test("what looks like a piece, and is none, is what it says", () => {
	expect(read("[paste 7: 2 lines]").text).toBe("[paste 7: 2 lines]");
	const { text } = read(paste("a\r[paste 1: 2 lines]"));
	expect(text).toBe("a\n[paste 1: 2 lines]");
});

/** A terminal that notes what is done to it. */
function terminal() {
	const notes: string[] = [];
	const input = Object.assign(new PassThrough(), { setRawMode: (isRaw: boolean) => void notes.push(`raw ${isRaw}`) });
	const screen = { isTTY: true, write: (text: string) => notes.push(JSON.stringify(text)) };
	return { input: input as unknown as NodeJS.ReadStream & PassThrough, screen, notes };
}

test("the terminal is told to mark pastes while its keys are read, and no longer", () => {
	const { input, screen, notes } = terminal();
	const keys = keysOf(input, screen, new Pastes());
	for (const isRaw of [true, true, false, true, false]) keys.setRawMode(isRaw);
	expect(notes.filter((note) => !note.startsWith("raw"))).toEqual([
		'"\\u001b[?2004h"',
		'"\\u001b[?2004l"',
		'"\\u001b[?2004h"',
		'"\\u001b[?2004l"',
	]);
	expect(notes.filter((note) => note.startsWith("raw"))).toHaveLength(5);
});

test("letters of several bytes may be cut anywhere; the error and the end of the terminal are those of its keys", async () => {
	const { input, screen } = terminal();
	const pastes = new Pastes();
	const keys = keysOf(input, screen, pastes);
	for (const byte of Buffer.from(`ä${paste("あ\ré")}`)) input.write(Buffer.of(byte));
	input.end();
	const given = (await keys.toArray()).join("");
	expect(pastes.expand(shown(given))).toBe("äあ\né");

	const gone = terminal();
	const cut = keysOf(gone.input, gone.screen, pastes);
	const told = new Promise((resolve) => cut.once("error", resolve));
	gone.input.emit("error", new Error("EIO"));
	expect(await told).toMatchObject({ message: "EIO" });
});
