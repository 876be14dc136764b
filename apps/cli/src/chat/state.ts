/** What the chat knows, and what becomes of it: `step` gives the next state, and what is to be done. */
import type { Cost } from "@reyn/journal";
import type { PermissionMode } from "@reyn/runtime";
import { echoOf } from "./cards.ts";
import { completed, fileWord, type Menu, menuOf, type Offered } from "./completion.ts";
import { type Answer, type Dialog, pageOf, stepDialog } from "./dialogs.ts";
import {
	changedTo,
	cleared,
	emptyLine,
	type Line,
	lineOf,
	pasted,
	removed,
	toRow,
	typed,
	wholeText,
} from "./editor.ts";
import type { Key } from "./keys.ts";
import { ended, grown, type Markdown, noMarkdown, type Paper } from "./markdown.ts";
import { wrap } from "./text.ts";
import { edited } from "./typing.ts";
import type { ContextUsed } from "./window.ts";

export interface Status {
	readonly session: string;
	readonly tip: number;
	/** The line of history that one is on, where that is not the first one: `b7`. */
	readonly branch?: string;
	/** Of the plan that runs. */
	readonly plan?: { readonly done: number; readonly size: number };
	/** That were paid for since the start. */
	readonly tokens: number;
	/** What those cost. */
	readonly cost: Cost;
	/** What tools do without a question, where that is not what they usually do. */
	readonly mode?: PermissionMode;
	readonly context?: ContextUsed;
	readonly model?: string;
}

interface Turn {
	readonly since: number;
	/** What had been paid for before it. */
	readonly tokens: number;
	readonly cost: Cost;
	readonly isStopping: boolean;
	/** It waits for a person, and does not work. */
	readonly asksSince?: number | undefined;
}

export interface State {
	readonly line: Line;
	/** Sent while a turn ran. */
	readonly queue: readonly Line[];
	/** The turn before was stopped: what waits is sent when somebody says so. */
	readonly isHeld: boolean;
	/** What was sent before, oldest first. */
	readonly past: readonly string[];
	/** Where in it the line is from, and what was typed before. */
	readonly recalled: { readonly at: number; readonly draft: Line } | undefined;
	readonly search: { readonly query: string; readonly nth: number } | undefined;
	readonly menu: Menu | undefined;
	readonly files: readonly string[];
	readonly dialog: Dialog | undefined;
	readonly turn: Turn | undefined;
	readonly answer: Markdown;
	/** Why the model is waited for. */
	readonly waits: string | undefined;
	/** Said until the next key. */
	readonly notice: string | undefined;
	/** Undefined until the state is open. */
	readonly status: Status | undefined;
	readonly escapedAt: number;
	readonly interruptedAt: number;
}

export type ChatEvent =
	| { readonly kind: "key"; readonly key: Key; readonly at: number }
	/** A piece of the answer. */
	| { readonly kind: "text"; readonly delta: string; readonly at: number }
	/** Lines as they are drawn; `isNext`: what was answered before them is all there is. */
	| { readonly kind: "said"; readonly lines: readonly string[]; readonly isNext?: boolean }
	| { readonly kind: "began"; readonly at: number }
	| { readonly kind: "ended"; readonly isAnswered: boolean; readonly at: number }
	| { readonly kind: "waits"; readonly why: string }
	/** The turn asks a person; and it is answered. */
	| { readonly kind: "asks" | "answered"; readonly at: number }
	| { readonly kind: "status"; readonly status: Status }
	| { readonly kind: "asked"; readonly dialog: Dialog }
	/** What is asked needs no answer any more. */
	| { readonly kind: "withdrawn" }
	| { readonly kind: "filled"; readonly text: string }
	| { readonly kind: "files"; readonly files: readonly string[] };

export type Effect =
	| { readonly kind: "show"; readonly rows: readonly string[] }
	| { readonly kind: "send"; readonly text: string; readonly isCommand: boolean }
	| { readonly kind: "remember"; readonly text: string }
	| { readonly kind: "answer"; readonly answer: Answer }
	| { readonly kind: "leave"; readonly how: "end" | "interrupt" }
	| { readonly kind: "interrupt" | "suspend" | "redraw" | "find files" };

/** Where it is drawn, and what it offers. */
export interface Setting extends Paper {
	readonly rows: number;
	readonly commands: readonly Offered[];
}

export type Step = readonly [State, readonly Effect[]];

/** A second Esc or Ctrl-C after this many milliseconds is a first one. */
const TWICE = 1500;

export const begin = (past: readonly string[]): State => ({
	line: emptyLine,
	queue: [],
	isHeld: false,
	past,
	recalled: undefined,
	search: undefined,
	menu: undefined,
	files: [],
	dialog: undefined,
	turn: undefined,
	answer: noMarkdown,
	waits: undefined,
	notice: undefined,
	status: undefined,
	escapedAt: Number.NEGATIVE_INFINITY,
	interruptedAt: Number.NEGATIVE_INFINITY,
});

export function step(state: State, event: ChatEvent, setting: Setting): Step {
	switch (event.kind) {
		case "key":
			return stepKey({ ...state, notice: undefined }, event.key, event.at, setting);
		case "text": {
			const { rows, next } = grown(state.answer, event.delta, setting);
			return [{ ...state, answer: next, turn: turnOf(state, event.at), waits: undefined }, show(rows)];
		}
		case "said": {
			const rows = event.lines.flatMap((line) => wrap(line.replaceAll("\t", "    "), setting.columns, "    "));
			if (!event.isNext) return [state, show(rows)];
			return [{ ...state, answer: noMarkdown }, show([...ended(state.answer, setting), ...rows])];
		}
		case "began":
			return [{ ...state, turn: turnOf(state, event.at), waits: undefined }, []];
		case "ended":
			return stepEnded(state, event, setting);
		case "waits":
			return [{ ...state, waits: event.why }, []];
		case "asks":
			return [
				state.turn ? { ...state, turn: { ...state.turn, asksSince: state.turn.asksSince ?? event.at } } : state,
				[],
			];
		case "answered":
			return [state.turn ? { ...state, turn: workingAgain(state.turn, event.at) } : state, []];
		case "status":
			return [{ ...state, status: event.status }, []];
		case "asked":
			return [{ ...state, dialog: event.dialog, menu: undefined, search: undefined }, []];
		case "withdrawn":
			return [{ ...state, dialog: undefined }, []];
		case "filled":
			return [{ ...state, line: lineOf(event.text, state.line), menu: undefined }, []];
		case "files":
			return [offered({ ...state, files: event.files }, setting), []];
	}
}

/** The one that runs, or one that begins. */
const turnOf = ({ turn, status }: State, at: number): Turn =>
	turn ?? {
		since: at,
		tokens: status?.tokens ?? 0,
		cost: status?.cost ?? { usd: "0", unknown: 0 },
		isStopping: false,
	};

/** What a person took to answer is no time of work. */
const workingAgain = (turn: Turn, at: number): Turn => ({
	...turn,
	since: turn.since + at - (turn.asksSince ?? at),
	asksSince: undefined,
});

const show = (rows: readonly string[]): readonly Effect[] => (rows.length > 0 ? [{ kind: "show", rows }] : []);

function stepEnded(state: State, { isAnswered, at }: Extract<ChatEvent, { kind: "ended" }>, setting: Setting): Step {
	const rest = show(ended(state.answer, setting));
	const idle: State = { ...state, answer: noMarkdown, turn: undefined, waits: undefined };
	if (state.queue.length === 0) return [idle, rest];
	if (!isAnswered) return [{ ...idle, isHeld: true }, rest];
	const [next, effects] = sendNext(idle, at, setting);
	return [next, [...rest, ...effects]];
}

function sendNext(state: State, at: number, setting: Setting): Step {
	const [line, ...queue] = state.queue;
	if (!line) return [state, []];
	const text = wholeText(line).trim();
	return [
		{ ...state, queue, turn: turnOf({ ...state, turn: undefined }, at), isHeld: false },
		[...show(echoOf(text, setting)), { kind: "send", text, isCommand: false }],
	];
}

function stepKey(state: State, key: Key, at: number, setting: Setting): Step {
	if (state.dialog) return stepAsked(state, state.dialog, key, at, setting);
	if (state.search) return stepSearch(state, state.search, key, setting);
	const { line, menu, queue } = state;
	switch (key.name) {
		case "enter":
			return stepEnter(state, at, setting);
		case "escape":
			return stepEscape(state, at);
		case "ctrl+c":
			return stepInterrupt(state, at);
		case "ctrl+d":
			if (line.text === "") return [state, [{ kind: "leave", how: "end" }]];
			break;
		case "ctrl+z":
			if (line.text === "") return [state, [{ kind: "suspend" }]];
			break;
		case "ctrl+l":
			return [state, [{ kind: "redraw" }]];
		case "ctrl+t":
			return state.turn
				? [{ ...state, notice: "Esc stops the answer first" }, []]
				: [state, [{ kind: "send", text: "/edit", isCommand: true }]];
		case "ctrl+r":
			return [{ ...state, search: { query: "", nth: 0 }, menu: undefined }, []];
		case "tab":
			if (menu) return [taken(state, menu, setting), []];
			return wanting(offered(state, setting));
		case "up":
		case "down": {
			const by = key.name === "up" ? -1 : 1;
			if (menu)
				return [{ ...state, menu: { ...menu, at: (menu.at + by + menu.items.length) % menu.items.length } }, []];
			const there = toRow(line, by, lineRoom(setting));
			if (there) return [{ ...state, line: there }, []];
			const last = queue.at(-1);
			if (by === -1 && line.text === "" && last)
				return [{ ...state, line: { ...last, cursor: last.text.length }, queue: queue.slice(0, -1) }, []];
			return [recall(state, by), []];
		}
	}
	const next = edited(line, key);
	if (next === undefined) return [state, []];
	const changed = { ...state, line: next, menu: undefined, recalled: undefined };
	const isTyping = key.name === "text" || key.name === "backspace";
	return isTyping ? wanting(offered(changed, setting)) : [changed, []];
}

/** Lower than the window, or what is drawn over is no longer there. */
export const mostRows = ({ rows }: Pick<Setting, "rows">): number => Math.max(1, rows - 1);

/** The cells of a row of the line, without its mark and the cell that a cursor at its end stands on. */
export const lineRoom = ({ columns }: Pick<Setting, "columns">): number => Math.max(1, columns - 3);

const offered = (state: State, { commands }: Setting): State => ({
	...state,
	menu: menuOf(state.line, commands, state.files),
});

/** Files are looked for when the first one is wanted. */
const wanting = (state: State): Step => [
	state,
	state.files.length === 0 && fileWord(state.line) !== undefined ? [{ kind: "find files" }] : [],
];

const taken = (state: State, menu: Menu, setting: Setting): State => {
	const { text, cursor } = completed(state.line, menu);
	return offered({ ...state, line: changedTo(state.line, text, cursor) }, setting);
};

function stepAsked(state: State, dialog: Dialog, key: Key, at: number, setting: Setting): Step {
	const stepped = stepDialog(dialog, key, pageOf(setting.rows - 2), { ...setting, rows: mostRows(setting) });
	if ("dialog" in stepped) return [{ ...state, dialog: stepped.dialog }, []];
	// Who types on as a question comes up loses nothing.
	const line = stepped.stray ? pasted(state.line, stepped.stray) : state.line;
	const closed = offered({ ...state, dialog: undefined, line }, setting);
	const effects: readonly Effect[] = [{ kind: "answer", answer: stepped.answer }];
	if (key.name !== "ctrl+c") return [closed, effects];
	return [{ ...closed, interruptedAt: at, notice: AGAIN }, effects];
}

const AGAIN = "press Ctrl-C again to leave; what is unfinished is kept";

/** What was sent and holds the words that are searched for, newest first. */
export const searched = ({ past }: Pick<State, "past">, query: string): readonly string[] => [
	...new Set(past.filter((text) => text.toLowerCase().includes(query.toLowerCase())).reverse()),
];

function stepSearch(state: State, { query, nth }: NonNullable<State["search"]>, key: Key, setting: Setting): Step {
	const found = searched(state, query);
	const to = (next: string, at = 0): Step => [{ ...state, search: { query: next, nth: at } }, []];
	const without: State = { ...state, search: undefined };
	switch (key.name) {
		case "text":
		case "paste":
			return to(query + (key.text ?? "").replace(/\s+/g, " "));
		case "backspace":
			return to(query.slice(0, -1));
		case "ctrl+r":
		case "up":
			return to(query, Math.min(nth + 1, Math.max(0, found.length - 1)));
		case "down":
			return to(query, Math.max(0, nth - 1));
		case "escape":
		case "ctrl+c":
			return [without, []];
	}
	const hit = found[nth];
	const chosen = hit === undefined ? without : { ...without, line: lineOf(hit, state.line) };
	return key.name === "enter" ? [chosen, []] : stepKey(chosen, key, 0, setting);
}

function recall(state: State, by: -1 | 1): State {
	const { at, draft } = state.recalled ?? { at: state.past.length, draft: state.line };
	const to = at + by;
	if (to < 0 || to > state.past.length || (by === 1 && !state.recalled)) return state;
	if (to === state.past.length) return { ...state, line: { ...draft, cursor: draft.text.length }, recalled: undefined };
	return { ...state, line: lineOf(state.past[to] as string, state.line), recalled: { at: to, draft } };
}

function stepEnter(state: State, at: number, setting: Setting): Step {
	const { line, menu, turn } = state;
	const word = menu && line.text.slice(menu.from, line.cursor);
	if (menu && !menu.items.some(({ name }, index) => name === word && (index === menu.at || menu.at === 0)))
		return [taken(state, menu, setting), []];
	if (line.text[line.cursor - 1] === "\\") return [{ ...state, line: typed(removed(line, "left", false), "\n") }, []];
	const text = wholeText(line).trim();
	const empty: State = { ...state, line: { ...emptyLine, kept: line.kept }, menu: undefined, recalled: undefined };
	if (text === "") return turn ? [state, []] : sendNext(empty, at, setting);
	const past = state.past.at(-1) === text ? state.past : [...state.past, text];
	const remember: Effect = { kind: "remember", text };
	const sent: State = { ...empty, past };
	// What was pasted is no command, whatever it begins with.
	if (line.text.trimStart().startsWith("/"))
		return [sent, [remember, ...show(echoOf(text, setting)), { kind: "send", text, isCommand: true }]];
	const queued: State = { ...sent, queue: [...state.queue, line] };
	if (turn) return [queued, [remember]];
	const [next, effects] = sendNext(queued, at, setting);
	return [next, [remember, ...effects]];
}

function stepEscape(state: State, at: number): Step {
	const { line, menu, turn, escapedAt } = state;
	if (menu) return [{ ...state, menu: undefined }, []];
	if (turn) return turn.isStopping ? [state, []] : [stopping(state, turn), [{ kind: "interrupt" }]];
	const isSecond = at - escapedAt < TWICE;
	const once = { ...state, escapedAt: isSecond ? Number.NEGATIVE_INFINITY : at };
	if (line.text !== "")
		return [isSecond ? { ...once, line: cleared(line) } : { ...once, notice: "Esc again clears the line" }, []];
	return isSecond
		? [once, [{ kind: "send", text: "/rewind", isCommand: true }]]
		: [{ ...once, notice: "Esc again goes back in time" }, []];
}

const stopping = (state: State, turn: Turn): State => ({
	...state,
	turn: { ...turn, isStopping: true },
});

/** Once clears what was typed, or stops the turn; twice leaves. Plans are never stopped by it. */
function stepInterrupt(state: State, at: number): Step {
	const { line, turn, interruptedAt } = state;
	if (line.text !== "") return [{ ...state, line: cleared(line), menu: undefined, recalled: undefined }, []];
	// On a full disk an interrupt waits for space, and a second one need not.
	if (at - interruptedAt < TWICE) return [state, [{ kind: "leave", how: "interrupt" }]];
	const once = { ...state, interruptedAt: at };
	if (turn && !turn.isStopping) return [stopping(once, turn), [{ kind: "interrupt" }]];
	return [{ ...once, notice: AGAIN }, []];
}
