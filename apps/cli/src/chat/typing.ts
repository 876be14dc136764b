/** What a key does to the line, whatever else is on the screen. */
import { expanded, type Line, moved, type Place, pasted, putBack, redone, removed, typed, undone } from "./editor.ts";
import type { Key } from "./keys.ts";

const moves: Readonly<Record<string, Place>> = {
	left: "left",
	"ctrl+b": "left",
	right: "right",
	"ctrl+f": "right",
	"ctrl+left": "word left",
	"alt+left": "word left",
	"alt+b": "word left",
	"ctrl+right": "word right",
	"alt+right": "word right",
	"alt+f": "word right",
	home: "start",
	"ctrl+a": "start",
	end: "end",
	"ctrl+e": "end",
};

const removals: Readonly<Record<string, readonly [Place, isCut: boolean]>> = {
	backspace: ["left", false],
	"ctrl+h": ["left", false],
	"shift+backspace": ["left", false],
	delete: ["right", false],
	"ctrl+d": ["right", false],
	"ctrl+w": ["word left", true],
	"alt+backspace": ["word left", true],
	"ctrl+backspace": ["word left", true],
	"alt+d": ["word right", true],
	"ctrl+delete": ["word right", true],
	"ctrl+u": ["start", true],
	"ctrl+k": ["end", true],
};

const newlines: ReadonlySet<string> = new Set(["ctrl+j", "alt+enter", "shift+enter", "ctrl+enter"]);

/** Undefined where it is no key of the line. */
export function edited(line: Line, { name, text = "" }: Key): Line | undefined {
	const to = moves[name];
	if (to !== undefined) return moved(line, to);
	const removal = removals[name];
	if (removal) return removed(line, ...removal);
	if (newlines.has(name)) return typed(line, "\n");
	switch (name) {
		case "text":
			return typed(line, text);
		case "paste":
			return pasted(line, text);
		case "ctrl+y":
			return putBack(line);
		case "ctrl+_":
		case "ctrl+z":
			return undone(line);
		case "alt+_":
			return redone(line);
		case "ctrl+o":
			return expanded(line);
		default:
			return undefined;
	}
}
