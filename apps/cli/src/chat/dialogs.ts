/** What is asked in place of the line: a list to choose from, whose rows are made when they are drawn, or a question with its answers. */
import type { Key } from "./keys.ts";
import { Labels } from "./labels.ts";
import { cut, type Look, width, wrap } from "./text.ts";

export interface List {
	readonly title: string;
	readonly count: number;
	/** What stands in a row that is drawn. */
	row(index: number): string;
	/** What is searched of a row: asked of all of them, and so nothing that takes long. */
	text(index: number): string;
	/** The row before the first one, which changes nothing, and where the cursor begins. */
	readonly none?: string;
	/** What has to be known. */
	readonly note?: string;
}

export interface Question {
	readonly title: string;
	readonly lines: readonly string[];
	/** The first one changes nothing, and is what an Enter says. */
	readonly answers: readonly [string, ...string[]];
	/** What Tab does. */
	readonly other?: string;
	/** What Ctrl-F does. */
	readonly files?: string;
	readonly note?: string;
}

interface Picker {
	readonly kind: "list";
	readonly list: List;
	/** Of what is shown; -1 is `none`. */
	readonly at: number;
	/** What is searched for, once somebody does. */
	readonly query: string | undefined;
	/** The rows that have all its words. */
	readonly hits: readonly number[] | undefined;
	readonly labels: Labels;
}

interface Choice {
	readonly kind: "question";
	readonly question: Question;
	readonly at: number;
	/** What was typed: the answer that begins so is chosen, and for any other text the first one. */
	readonly typed: string;
	/** So many rows of the lines are above what is seen. */
	readonly above: number;
}

/** What was typed and begins no answer: it was meant for the line. */
const strayOf = ({ typed, question }: Choice): string =>
	question.answers.some((answer) => begins(answer, typed)) ? "" : typed;

const begins = (answer: string, typed: string): boolean => answer.toLowerCase().startsWith(typed.toLowerCase());

export type Dialog = Picker | Choice;

/** The row or the answer that was chosen; `other` is Tab at a question, `files` Ctrl-F. */
export type Answer = number | "other" | "files" | undefined;

export const pickerOf = (list: List): Picker => ({
	kind: "list",
	list,
	at: list.none === undefined ? 0 : -1,
	query: undefined,
	hits: undefined,
	labels: new Labels(list),
});

export const questionOf = (question: Question): Dialog => ({ kind: "question", question, at: 0, typed: "", above: 0 });

/** `stray`: what was typed and is no answer. */
export type Stepped = { readonly dialog: Dialog } | { readonly answer: Answer; readonly stray?: string };

/** @param page of a list @param room of a question */
export function stepDialog(dialog: Dialog, key: Key, page: number, room: Room): Stepped {
	if (key.name === "escape" || key.name === "ctrl+c" || key.name === "ctrl+d")
		return { answer: undefined, ...(dialog.kind === "question" && { stray: strayOf(dialog) }) };
	return dialog.kind === "list" ? stepPicker(dialog, key, page) : stepChoice(dialog, key, room);
}

function stepChoice(choice: Choice, { name, text = "" }: Key, room: Room): Stepped {
	const { answers, other, files } = choice.question;
	const to = (at: number, typed = ""): Stepped => ({
		dialog: { ...choice, at: Math.max(0, Math.min(answers.length - 1, at)), typed },
	});
	const { most, height } = laidOut(choice, room);
	const scrolled = (rows: number): Stepped => ({
		dialog: { ...choice, above: Math.max(0, Math.min(most, Math.min(most, choice.above) + rows)) },
	});
	switch (name) {
		case "enter":
			return { answer: choice.at, stray: strayOf(choice) };
		case "up":
			return most > 0 ? scrolled(-1) : to(choice.at - 1);
		case "down":
			return most > 0 ? scrolled(1) : to(choice.at + 1);
		case "pageup":
			return scrolled(-height);
		case "pagedown":
			return scrolled(height);
		case "home":
			return scrolled(-most);
		case "end":
			return scrolled(most);
		case "left":
		case "shift+tab":
			return to(choice.at - 1);
		case "right":
			return to(choice.at + 1);
		case "tab":
			return other === undefined ? to((choice.at + 1) % answers.length) : { answer: "other" };
		case "ctrl+f":
			return files === undefined ? { dialog: choice } : { answer: "files" };
		case "text":
		case "paste": {
			const typed = choice.typed + text;
			const whole = answers.findIndex((answer) => answer.toLowerCase() === typed.toLowerCase());
			return to(whole < 0 ? answers.findIndex((answer) => begins(answer, typed)) : whole, typed);
		}
		case "backspace":
			return to(0);
		default:
			return { dialog: choice };
	}
}

function stepPicker(picker: Picker, { name, text = "" }: Key, page: number): Stepped {
	const count = picker.hits?.length ?? picker.list.count;
	const first = picker.list.none === undefined || picker.query ? 0 : -1;
	const to = (at: number): Stepped => ({ dialog: { ...picker, at: Math.max(first, Math.min(count - 1, at)) } });
	switch (name) {
		case "enter":
			if (picker.at < 0 || picker.at >= count) return { answer: undefined };
			return { answer: picker.hits?.[picker.at] ?? picker.at };
		case "up":
		case "ctrl+p":
			return to(picker.at - 1);
		case "down":
		case "ctrl+n":
			return to(picker.at + 1);
		case "pageup":
			return to(picker.at - page);
		case "pagedown":
			return to(picker.at + page);
		case "home":
			return to(first);
		case "end":
			return to(count - 1);
		case "backspace":
			return { dialog: picker.query === undefined ? picker : searched(picker, picker.query.slice(0, -1)) };
		case "ctrl+u":
			return { dialog: picker.query === undefined ? picker : searched(picker, "") };
		case "paste":
		case "text":
			break;
		default:
			return { dialog: picker };
	}
	if (picker.query === undefined && text.startsWith("/")) return { dialog: searched(picker, text.slice(1)) };
	if (picker.query === undefined) {
		if (text === "j") return to(picker.at + 1);
		if (text === "k") return to(picker.at - 1);
		if (text === "g") return to(first);
		if (text === "G") return to(count - 1);
	}
	return { dialog: searched(picker, (picker.query ?? "") + text.replace(/\s+/g, " ")) };
}

/** The rows that have every word, wherever it stands: those of before are looked through again if there are more letters. */
function searched(picker: Picker, query: string): Picker {
	const { list } = picker;
	const words = query
		.toLowerCase()
		.split(" ")
		.filter((word) => word !== "");
	const among = picker.query && query.startsWith(picker.query) ? picker.hits : undefined;
	const hits = words.length === 0 ? undefined : hitsOf(words, picker, among);
	const first = list.none === undefined || query !== "" ? 0 : -1;
	return { ...picker, query, hits, at: first };
}

/** A loop, since it is a key of somebody who types. */
function hitsOf(words: readonly string[], { list, labels }: Picker, among?: readonly number[]): readonly number[] {
	const hits: number[] = [];
	const count = among?.length ?? list.count;
	for (let at = 0; at < count; at++) {
		const index = among?.[at] ?? at;
		if (hasAll(labels.at(index), words)) hits.push(index);
	}
	return hits;
}

function hasAll(label: string, words: readonly string[]): boolean {
	for (const word of words) if (!label.includes(word)) return false;
	return true;
}

export interface Drawn {
	readonly rows: readonly string[];
	/** Of the cursor. */
	readonly row: number;
	readonly column: number;
}

export interface Room {
	readonly columns: number;
	readonly rows: number;
	readonly look: Look;
}

export const drawDialog = (dialog: Dialog, room: Room): Drawn =>
	dialog.kind === "list" ? drawPicker(dialog, room) : drawChoice(dialog, room);

/** The rows of a list that there is room for, around the chosen one. */
export const pageOf = (rows: number): number => Math.max(1, rows - 3);

function drawPicker({ list, at, query, hits }: Picker, { columns, rows, look }: Room): Drawn {
	const count = hits?.length ?? list.count;
	const first = list.none === undefined || query ? 0 : -1;
	const note = noteRows(list.note, columns, look);
	const shown = Math.min(Math.max(1, rows - 2 - note.length), count - first);
	const from = Math.max(first, Math.min(at - Math.floor(shown / 2), count - shown));
	const body = Array.from({ length: shown }, (_, offset) => {
		const index = from + offset;
		const label = index < 0 ? (list.none ?? "") : list.row(hits?.[index] ?? index);
		const row = cut(`${index === at ? "❯" : " "} ${label.replaceAll("\t", " ")}`, columns);
		return index === at ? look.bold(row) : row;
	});
	const many = hits === undefined ? `${list.count}` : `${count} of ${list.count}`;
	const gap = columns - width(list.title) - width(many);
	const title = gap > 0 ? `${list.title}${" ".repeat(gap)}${many}` : cut(list.title, columns);
	const last = cut(
		query === undefined ? "Enter takes it · / searches · Esc: nothing changes" : `/ ${query}`,
		columns - 1,
	);
	const all = [title, ...body, ...note, query === undefined ? look.dim(last) : last].slice(-Math.max(1, rows));
	return { rows: all, row: all.length - 1, column: query === undefined ? 0 : width(last) };
}

/** However narrow it is, all of it is said. */
const noteRows = (note: string | undefined, columns: number, look: Look): readonly string[] =>
	note === undefined ? [] : wrap(note, columns).map((row) => look.dim(row));

/** A title of so many rows at most. */
function headRows(title: string, columns: number, most: number): readonly string[] {
	const rows = wrap(title, columns);
	return rows.length <= most
		? rows
		: [...rows.slice(0, Math.max(0, most - 1)), cut(rows.slice(Math.max(0, most - 1)).join(" "), columns)];
}

/** The rows of a question, and which of them its lines have. */
function laidOut(choice: Choice, { columns, rows, look }: Room) {
	const { question, at } = choice;
	const { title, lines, answers, other, files, note } = question;
	const stray = strayOf(choice);
	const body = lines.flatMap((line) => wrap(line.replaceAll("\t", " "), columns, "  "));
	const below = [
		...noteRows(note, columns, look),
		...[files, other].flatMap((row) => (row === undefined ? [] : [look.dim(cut(row, columns))])),
		...(stray === "" ? [] : [cut(`Enter or Esc puts it into the line: ${stray.replace(/\s+/g, " ")}`, columns)]),
	];
	const shown = answers.map((answer, index) => (index === at ? `❯ ${answer}` : `  ${answer}`));
	const head = headRows(title, columns, Math.ceil((rows - below.length - 1) / 2)).map(look.bold);
	const room = Math.max(0, rows - below.length - head.length - 1);
	// Where not all is seen, a row says so, if there is one besides.
	const height = body.length > room ? Math.max(Math.min(1, room), room - 1) : body.length;
	return { head, body, below, shown, height, most: height === 0 ? 0 : body.length - height, hasMark: height < room };
}

function drawChoice(choice: Choice, room: Room): Drawn {
	const { columns, rows, look } = room;
	const { at } = choice;
	const { head, body, below, shown, height, most, hasMark } = laidOut(choice, room);
	const whole = shown.join("  ");
	// However narrow it is, the one that Enter takes is seen.
	const fits = width(whole) <= columns;
	const last = fits ? whole : cut(shown[at] ?? "", columns);
	const above = Math.min(choice.above, most);
	const seen = body.slice(above, above + height);
	const more =
		height < body.length && hasMark ? [look.dim(cut(moreText(above, body.length - above - height), columns))] : [];
	const all = [...head, ...seen, ...more, ...below, last].slice(-Math.max(1, rows));
	const column = fits ? shown.slice(0, at).reduce((sum, each) => sum + width(each) + 2, 0) : 0;
	return { rows: all, row: all.length - 1, column };
}

/** Of rows that are not seen. */
function moreText(above: number, below: number): string {
	const rows = (count: number): string => (count === 1 ? "1 row" : `${count} rows`);
	if (below === 0) return `… ${rows(above)} above (↑)`;
	return above === 0 ? `… ${rows(below)} more (↓, PageDown)` : `… ${rows(below)} more (↓), ${above} above (↑)`;
}
