/** Bytes are keys, however a terminal cuts them; a paste is one key; and nothing that is not known is typed. */
import { expect, test } from "vitest";
import { seeded } from "../../../../tests/kit/seeded.ts";
import { sample } from "../../../../tests/sample.ts";
import { type Key, KeyReader, type Reply } from "../../src/chat/keys.ts";

const ESC = "\x1b";
const paste = (text: string): string => `${ESC}[200~${text}${ESC}[201~`;
const threeHundred = Array.from({ length: 300 }, (_, n) => `line ${n}`);

/** As `name`, or the text in quotes; texts side by side are one. */
function read(...reads: readonly string[]): readonly string[] {
	const reader = new KeyReader();
	const keys = [...reads.flatMap((each) => reader.read(each)), ...reader.flush()];
	const all: string[] = [];
	for (const each of keys.map(said)) {
		const last = all.at(-1);
		if (last?.startsWith('"') && each.startsWith('"')) all[all.length - 1] = last.slice(0, -1) + each.slice(1);
		else all.push(each);
	}
	return all;
}

const said = (key: Key | Reply): string =>
	"text" in key && key.text !== undefined
		? key.name === "text"
			? `"${key.text}"`
			: `${key.name} ${key.text}`
		: key.name;

test.each<[bytes: string, keys: readonly string[]]>([
	["hello\r", ['"hello"', "enter"]],
	["\n\t\x7f\b\x03\x12\x1f", ["ctrl+j", "tab", "backspace", "ctrl+h", "ctrl+c", "ctrl+r", "ctrl+_"]],
	[`${ESC}[A${ESC}[B${ESC}OC${ESC}OD${ESC}[H${ESC}[4~`, ["up", "down", "right", "left", "home", "end"]],
	[
		`${ESC}[1;5C${ESC}[1;3D${ESC}b${ESC}\x7f${ESC}\r`,
		["ctrl+right", "alt+left", "alt+b", "alt+backspace", "alt+enter"],
	],
	[`${ESC}[3~${ESC}[5~${ESC}[6~${ESC}[Z`, ["delete", "pageup", "pagedown", "shift+tab"]],
	[`${ESC}${ESC}`, ["escape", "escape"]],
	[
		`${ESC}[13;2u${ESC}[27;2;13~${ESC}[97;5u${ESC}[97;5:3u${ESC}[27u`,
		["shift+enter", "shift+enter", "ctrl+a", "escape"],
	],
	[`${ESC}[?1;2c${ESC}[?1u${ESC}]11;rgb:0/0/0\x07${ESC}P>|tmux${ESC}\\a`, ["reply", "kitty", "reply", "reply", '"a"']],
	[`${ESC}[99z${ESC}[<0;3;4Ma`, ["reply", '"a"']],
	["日本語 zażółć 👩‍👩‍👧", ['"日本語 zażółć 👩‍👩‍👧"']],
	[`a\u202eb\u009bc${String.fromCodePoint(0xf0000)}d`, ['"abcd"']],
])("%j", (bytes, keys) => {
	expect(read(bytes)).toEqual(keys);
	expect(read(...bytes)).toEqual(keys);
});

test("a paste is one key, with its line breaks, without control codes, wherever its bytes are cut", () => {
	expect(read(paste(threeHundred.join("\r")))).toEqual([`paste ${threeHundred.join("\n")}`]);
	const hostile = paste(`${ESC}[31mred${ESC}[0m\r${ESC}]0;title\x07a\tb\x00\x08\x9b2J\r\x03\x04c\u202e`);
	expect(read(hostile)).toEqual(["paste red\na\tb\nc"]);
	const whole = `a${ESC}[A${ESC} b${paste(`1\r2\r\n${ESC}[200~3`)}c${paste("one")}${ESC}[200${paste("x\ry")}\r${ESC}[201~`;
	const expected = read(whole);
	expect(expected.filter((key) => key.startsWith("paste"))).toEqual(["paste 1\n2\n3", "paste one", "paste x\ny"]);
	for (let first = 0; first <= whole.length; first++)
		for (let second = first; second <= whole.length; second++)
			expect(read(whole.slice(0, first), whole.slice(first, second), whole.slice(second))).toEqual(expected);
});

test("one whose end is lost is given up by Ctrl-C, and what is typed is heard again", () => {
	expect(read(`${ESC}[200~lost`, "typed", "\x03", "heard")).toEqual(["ctrl+c", '"heard"']);
});

test("text that goes on after an Enter, in one read, is a paste of a terminal that marks none", () => {
	expect(read("a\rb\rc")).toEqual(["paste a\nb\nc"]);
	expect(read("a\r", "b\r")).toEqual(['"a"', "enter", '"b"', "enter"]);
	// This one marks them, so that is typed ahead.
	expect(read(paste("x"), "a\rb\r")).toEqual(["paste x", '"a"', "enter", '"b"', "enter"]);
});

test("keys do not depend on how they are cut", () => {
	const parts = [..."ab ", "é", "👍🏽", "\x03", "\r", `${ESC}[A`, `${ESC}[1;5D`, `${ESC}OH`, `${ESC}f`, `${ESC}[13;2u`];
	const more = [...parts, paste("p\rq"), `${ESC}[?62;4c`, `${ESC}]8;;x${ESC}\\`, `${ESC}[200;1z`];
	const random = seeded(7);
	for (let round = 0; round < sample(200, 2000); round++) {
		// A paste first: the terminal marks them.
		const bytes = paste("m") + Array.from({ length: 1 + random.below(12) }, () => random.pick(more)).join("");
		const at = random.below(bytes.length);
		const [letters, halves] = [read(...bytes), read(bytes.slice(0, at), bytes.slice(at))];
		expect(letters, JSON.stringify(bytes)).toEqual(read(bytes));
		expect(halves, JSON.stringify(bytes)).toEqual(letters);
		expect(letters.join("")).not.toContain(ESC);
	}
});
