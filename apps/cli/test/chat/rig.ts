/** A chat on a terminal that is only modelled: what it is given is drawn by xterm, and looked at. */
import { createRequire } from "node:module";
import { highlight } from "../../src/chat/highlight.ts";
import { KeyReader } from "../../src/chat/keys.ts";
import { Screen } from "../../src/chat/screen.ts";
import { begin, type ChatEvent, type Effect, type Setting, type State, step } from "../../src/chat/state.ts";
import { type Look, uncoloured } from "../../src/chat/text.ts";
import { view } from "../../src/chat/view.ts";

const require = createRequire(import.meta.url);
const { Terminal } = require("@xterm/headless") as typeof import("@xterm/headless");
const { UnicodeGraphemesAddon } =
	require("@xterm/addon-unicode-graphemes") as typeof import("@xterm/addon-unicode-graphemes");

export const commands = [
	{ name: "rewind", summary: "go back" },
	{ name: "redo", summary: "make it again" },
	{ name: "help", summary: "what there is" },
];

export class Rig {
	readonly terminal: InstanceType<typeof Terminal>;
	/** All that was written. */
	written = "";
	writes = 0;
	/** What was to be done besides drawing. */
	readonly effects: Effect[] = [];
	state: State;
	/** In milliseconds. */
	now = 0;
	readonly #look: Look;
	readonly #reader = new KeyReader();
	readonly #screen = new Screen((text) => {
		this.written += text;
		this.writes++;
		this.terminal.write(text);
	});

	constructor(columns = 80, rows = 24, { look = uncoloured, past = [] as readonly string[] } = {}) {
		this.#look = look;
		this.terminal = new Terminal({ cols: columns, rows, scrollback: 100_000, allowProposedApi: true });
		this.terminal.loadAddon(new UnicodeGraphemesAddon());
		this.state = begin(past);
		this.tell({ kind: "status", status: { session: "main", tip: 219, tokens: 0, cost: { usd: "0", unknown: 0 } } });
	}

	get setting(): Setting {
		return { columns: this.terminal.cols - 1, rows: this.terminal.rows, look: this.#look, highlight, commands };
	}

	tell(event: ChatEvent): void {
		const [state, effects] = step(this.state, event, this.setting);
		this.state = state;
		for (const effect of effects) {
			if (effect.kind === "show") this.#screen.show(effect.rows);
			else this.effects.push(effect);
		}
	}

	/** Bytes of a terminal, in one read. */
	type(text: string): void {
		for (const key of [...this.#reader.read(text), ...this.#reader.flush()])
			if (key.name !== "reply" && key.name !== "kitty") this.tell({ kind: "key", key, at: this.now });
		this.draw();
	}

	draw(): void {
		this.#screen.draw(view(this.state, this.setting, this.now), this.terminal.cols);
	}

	/** Also to a size of which the chat hears only when it draws next. */
	async resize(columns: number, rows: number): Promise<void> {
		await this.#flushed();
		this.terminal.resize(columns, rows);
	}

	/** Every row from the beginning, each line as long as it was written. */
	async lines(): Promise<readonly string[]> {
		await this.#flushed();
		const { active } = this.terminal.buffer;
		const lines: string[] = [];
		for (let at = 0; at < active.length; at++) {
			const row = active.getLine(at);
			const text = row?.translateToString(!active.getLine(at + 1)?.isWrapped) ?? "";
			if (row?.isWrapped) lines.push((lines.pop() ?? "") + text);
			else lines.push(text);
		}
		return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
	}

	/** The rows of the window as they are seen, with `▏` where the cursor is. */
	async seen(): Promise<string> {
		this.draw();
		await this.#flushed();
		const { active } = this.terminal.buffer;
		const rows = Array.from({ length: active.baseY + this.terminal.rows }, (_, at) => {
			const row = active.getLine(at);
			if (at !== active.baseY + active.cursorY) return row?.translateToString(true) ?? "";
			const before = row?.translateToString(false, 0, active.cursorX) ?? "";
			return `${before}▏${row?.translateToString(true, active.cursorX) ?? ""}`;
		});
		const last = rows.findLastIndex((row) => row !== "");
		return `\n${rows.slice(0, last + 1).join("\n")}\n`;
	}

	#flushed(): Promise<void> {
		return new Promise((resolve) => this.terminal.write("", resolve));
	}
}
