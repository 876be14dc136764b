/** The bytes of a terminal as keys, whatever they are cut into. Nothing that is not known is ever typed. */
import { stripVTControlCharacters } from "node:util";
import { clean } from "@reyn/operator/text";

/** `text` and `paste` have a text; the others a name such as `enter`, `ctrl+c`, `alt+left`, `shift+tab`. */
export interface Key {
	readonly name: string;
	readonly text?: string;
}

/** What a terminal answers when it is asked what it can do. */
export interface Reply {
	readonly name: "kitty" | "reply";
}

const PASTE = "\x1b[200~";
const PASTED = "\x1b[201~";

const [ESC, BEL] = ["\x1b", "\x07"];
const CSI = `${ESC}\\[`;
const wholeSequence = new RegExp(`^${CSI}([<=>?]?)([\\d;:]*)[ -/]*([@-~])`);
const partOfSequence = new RegExp(`^${CSI}[<=>?]?[\\d;:]*[ -/]*$`);
const endOfString = new RegExp(`${BEL}|${ESC}\\\\`);
const beginsSequence = new RegExp(`^${ESC}[[\\]OP_^X]`);
/** What is no key of its own. */
const letters = /^\P{Cc}+/u;

const plain: Readonly<Record<string, string>> = {
	"\r": "enter",
	"\n": "ctrl+j",
	"\t": "tab",
	"\x7f": "backspace",
	"\b": "ctrl+h",
	"\x1f": "ctrl+_",
	"\0": "ctrl+space",
};

/** By the letter at the end of a sequence. */
const byLetter: Readonly<Record<string, string>> = {
	A: "up",
	B: "down",
	C: "right",
	D: "left",
	H: "home",
	F: "end",
	M: "enter",
};

/** By the number before a `~`. */
const byNumber: Readonly<Record<string, string>> = {
	1: "home",
	3: "delete",
	4: "end",
	5: "pageup",
	6: "pagedown",
	7: "home",
	8: "end",
};

/** By the code point of the protocol of Kitty. */
const byPoint: Readonly<Record<number, string>> = {
	9: "tab",
	13: "enter",
	27: "escape",
	57414: "enter",
	127: "backspace",
};

export class KeyReader {
	/** What may be the beginning of a sequence. */
	#rest = "";
	/** What has come of the paste that is under way. */
	#paste: string | undefined;
	/** A terminal that marks pastes: what is not marked was typed. */
	#marks = false;

	/** Has only the beginning of a sequence come? A lone Esc is one, until `flush` says that no more will. */
	get isWaiting(): boolean {
		return this.#rest !== "" && this.#paste === undefined;
	}

	/** The keys of one read. */
	read(text: string): readonly (Key | Reply)[] {
		const keys: (Key | Reply)[] = [];
		let seen = this.#rest + text;
		this.#rest = "";
		while (seen !== "") {
			if (this.#paste !== undefined) {
				// The end of the paste was lost, or nothing would be heard any more.
				if (text === "\x03") {
					this.#paste = undefined;
					continue;
				}
				seen = this.#pasted(seen, keys);
				continue;
			}
			const [length, key] = next(seen);
			if (length === 0) {
				this.#rest = seen;
				break;
			}
			if (seen.startsWith(PASTE)) {
				this.#marks = true;
				this.#paste = "";
			} else if (key !== undefined) keys.push(key);
			seen = seen.slice(length);
		}
		return this.#marks ? keys : unmarked(keys);
	}

	/** No more came: what waits is an Esc, and no sequence. */
	flush(): readonly (Key | Reply)[] {
		if (!this.isWaiting) return [];
		const rest = this.#rest;
		this.#rest = "";
		return rest.startsWith("\x1b")
			? [{ name: "escape" }, ...this.read(beginsSequence.test(rest) ? "" : rest.slice(1))]
			: [];
	}

	/** What comes after the paste, if its end has come. */
	#pasted(seen: string, keys: (Key | Reply)[]): string {
		const before = this.#paste ?? "";
		const whole = before + seen;
		const at = whole.indexOf(PASTED, Math.max(0, before.length - PASTED.length));
		if (at < 0) {
			this.#paste = whole;
			return "";
		}
		this.#paste = undefined;
		const text = pastedText(whole.slice(0, at));
		if (text !== "") keys.push({ name: "paste", text });
		return whole.slice(at + PASTED.length);
	}
}

/** Terminals send a key for each end of a line, and whatever was copied: colours, and what would move the cursor. */
const pastedText = (pasted: string): string => clean(stripVTControlCharacters(pasted.replace(/\r\n?/g, "\n")));

/** The first key of a text and its length; 0 where more has to come, and no key where it means nothing to us. */
function next(text: string): readonly [number, (Key | Reply | undefined)?] {
	const [first = ""] = text;
	if (first !== "\x1b") return nextTyped(text, first);
	if (text.length === 1) return [0];
	const second = text[1] as string;
	if (second === "\x1b") return [1, { name: "escape" }];
	if (second === "[") return nextSequence(text);
	if (second === "O") return text.length < 3 ? [0] : [3, named(byLetter[text[2] as string])];
	if (/[\]P_^X]/.test(second)) return nextString(text);
	const [letter = ""] = text.slice(1, 3);
	const [length, key] = nextTyped(letter, letter[0] ?? "");
	if (length === 0) return [0];
	if (key === undefined) return [length + 1];
	return [length + 1, { name: `alt+${key.name === "text" ? key.text : key.name}` }];
}

/** As much text as there is, or one key. */
function nextTyped(text: string, first: string): readonly [number, (Key | undefined)?] {
	const code = first.charCodeAt(0);
	if (plain[first] !== undefined) return [1, { name: plain[first] }];
	if (code < 0x20) return [1, code === 0x1b ? undefined : { name: `ctrl+${String.fromCharCode(code + 96)}` }];
	const typed = letters.exec(text)?.[0] ?? first;
	// A letter of which only the first half has come.
	const whole = /[\ud800-\udbff]$/.test(typed) ? typed.slice(0, -1) : typed;
	if (whole === "") return text.length > 1 ? [1] : [0];
	const shown = clean(whole).replace(/[\u{f0000}-\u{ffffd}]/gu, "");
	return [whole.length, shown === "" ? undefined : { name: "text", text: shown }];
}

/** `CSI …`: ends with a byte from `@` to `~`. */
function nextSequence(text: string): readonly [number, (Key | Reply | undefined)?] {
	const found = wholeSequence.exec(text);
	if (!found) {
		if (partOfSequence.test(text)) return [0];
		return [2];
	}
	const [whole, mark, numbers = "", letter = ""] = found;
	if (mark !== "") return [whole.length, { name: letter === "u" ? "kitty" : "reply" }];
	return [whole.length, sequenceKey(numbers, letter)];
}

function sequenceKey(numbers: string, letter: string): Key | undefined {
	const [code = "", modifiers = "1", third = ""] = numbers.split(";");
	const [held = "1", kind = "1"] = modifiers.split(":");
	// It was let go.
	if (kind === "3") return undefined;
	if (letter === "Z") return { name: "shift+tab" };
	if (letter === "~" && code === "27") return pointKey(Number(third), held);
	if (letter === "~") return named(byNumber[code], held);
	if (letter === "u") return pointKey(Number.parseInt(code, 10), held);
	return named(byLetter[letter], held);
}

function pointKey(point: number, held: string): Key | undefined {
	if (byPoint[point] !== undefined) return named(byPoint[point], held);
	if (!(point > 0x20 || point === 0x20) || point > 0x10ffff || (point >= 0xe000 && point < 0xf900)) return undefined;
	const letter = String.fromCodePoint(point);
	const text = clean(letter);
	if (text === "") return undefined;
	if (held === "1") return { name: "text", text };
	if (held === "2") return { name: "text", text: text.toUpperCase() };
	return named(letter === " " ? "space" : letter, held);
}

/** With the keys that were held: shift 1, alt 2, ctrl 4. */
function named(name: string | undefined, held = "1"): Key | undefined {
	if (name === undefined) return undefined;
	const bits = Number(held || 1) - 1;
	const prefix = `${bits & 4 ? "ctrl+" : ""}${bits & 2 ? "alt+" : ""}${bits & 1 ? "shift+" : ""}`;
	return { name: prefix + name };
}

/** OSC, DCS and their like: until ST or BEL; an answer to somebody. */
function nextString(text: string): readonly [number, Reply?] {
	const end = endOfString.exec(text.slice(2));
	return end ? [2 + end.index + end[0].length, { name: "reply" }] : [text.length > 4096 ? text.length : 0];
}

/** Where nothing marks pastes: text that goes on after an Enter, in one read, was pasted, and is not sent. */
function unmarked(keys: readonly (Key | Reply)[]): readonly (Key | Reply)[] {
	const isText = ({ name }: Key | Reply): boolean => /^(text|enter|ctrl\+j|tab)$/.test(name);
	const enter = keys.findIndex(({ name }) => name === "enter");
	if (enter < 0 || enter === keys.length - 1 || !keys.every(isText)) return keys;
	if (!keys.slice(enter).some(({ name }) => name === "text")) return keys;
	const text = keys.map((key) => ("text" in key ? key.text : key.name === "tab" ? "\t" : "\n")).join("");
	return [{ name: "paste", text }];
}
