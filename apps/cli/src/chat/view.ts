/** The state as the last rows of the terminal: nothing stands below the cursor but a menu. */
import { costSince } from "@reyn/journal/internal";
import { costBehind } from "../cost.ts";
import { drawDialog } from "./dialogs.ts";
import { type Shown, shown } from "./editor.ts";
import { tail } from "./markdown.ts";
import { lineRoom, mostRows, type Setting, type State, searched } from "./state.ts";
import { cut, width } from "./text.ts";
import type { ContextUsed } from "./window.ts";

export interface Frame {
	readonly rows: readonly string[];
	/** Of the cursor. */
	readonly row: number;
	readonly column: number;
}

const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
/** How long a picture of the spinner stands, in milliseconds. */
export const TURN_OF_SPINNER = 120;

/** At most so many rows of what waits, and of the line. */
const [MOST_WAITING, MOST_TYPED] = [3, 8];
const MOST_OFFERED = 8;
const TALLEST_LIST = 14;

/** @param now in milliseconds, as `since` of a turn is */
export function view(state: State, setting: Setting, now: number): Frame {
	const { columns, look } = setting;
	const most = mostRows(setting);
	const above = [...tail(state.answer, setting), "", ...busyRows(state, setting, now)];
	if (state.dialog) {
		const height = state.dialog.kind === "list" ? Math.min(TALLEST_LIST, most) : most;
		const drawn = drawDialog(state.dialog, { columns, rows: height, look });
		return stacked(above, drawn, [], most);
	}
	if (state.search)
		return stacked([...above, ...searchRow(state, setting)], searchLine(state.search.query, setting), [], most);
	const notice = state.notice === undefined ? [] : [cut(state.notice, columns)];
	const status = look.dim(cut(statusText(state), columns));
	const line = typedRows(state, setting, Math.max(1, Math.min(MOST_TYPED, Math.floor(most / 2))));
	const menu = menuRows(state, setting, Math.max(0, Math.min(MOST_OFFERED, most - line.rows.length - 1)));
	return stacked([...above, ...notice, status], line, menu, most);
}

/** What is furthest above is left out first. */
function stacked(
	above: readonly string[],
	{ rows, row, column }: Shown,
	below: readonly string[],
	most: number,
): Frame {
	const room = Math.max(0, most - rows.length - below.length);
	const seen = room === 0 ? [] : above.slice(-room);
	return { rows: [...seen, ...rows, ...below], row: seen.length + row, column };
}

function busyRows(
	{ turn, waits, status, queue, isHeld }: State,
	{ columns, look }: Setting,
	now: number,
): readonly string[] {
	const rows: string[] = [];
	if (turn) {
		const seconds = Math.floor(((turn.asksSince ?? now) - turn.since) / 1000);
		const paid = (status?.tokens ?? 0) - turn.tokens;
		const cost = status ? costBehind(costSince(turn.cost, status.cost), " · ") : "";
		const tokens = paid > 0 ? ` · ${paid} tokens${cost}` : "";
		const picture = SPINNER[Math.floor(now / TURN_OF_SPINNER) % SPINNER.length];
		const asks = turn.asksSince === undefined ? "" : " · waits for your answer";
		rows.push(`${picture} ${seconds} s${tokens}${asks} · ${turn.isStopping ? "stopping …" : "Esc stops"}`);
	}
	if (waits !== undefined) rows.push(look.red(cut(waits, columns)));
	const seen = queue.slice(-MOST_WAITING);
	if (queue.length > seen.length) rows.push(`  … ${queue.length - seen.length} more`);
	for (const [at, line] of seen.entries()) {
		const hint =
			at < seen.length - 1 ? "" : isHeld && !turn ? "  (Enter sends, ↑ takes it back)" : "  (↑ takes it back)";
		const room = columns - 3 - width(hint);
		const text = shown(line, 4000).rows.join(" ");
		// Of a text that can hardly be read, no hint is read either.
		rows.push(room < 12 ? `⏳ ${text}` : `⏳ ${cut(text, room)}${look.dim(hint)}`);
	}
	return rows.map((row) => cut(row, columns));
}

function statusText({ status }: State): string {
	if (!status) return "opening …";
	const { session, tip, branch, plan, mode, context, cost, model } = status;
	// What is furthest to the right goes first where there is no room.
	return [
		session,
		`#${tip}`,
		branch,
		plan && `plan ${plan.done}/${plan.size}`,
		mode,
		context && `context ${usedOf(context)}`,
		costBehind(cost, ""),
		model,
	]
		.filter(Boolean)
		.join(" · ");
}

const usedOf = ({ tokens, most }: ContextUsed): string =>
	most === undefined ? `${tokens} tokens` : `${Math.ceil((100 * tokens) / most)} %`;

const MARK = "› ";

function typedRows({ line, turn, status }: State, setting: Setting, most: number): Shown {
	const { rows, row, column } = shown(line, lineRoom(setting));
	const from = Math.max(0, Math.min(row - most + 1, rows.length - most));
	const hint = turn || !status ? "" : "ask something, or /help";
	const text = line.text === "" ? [setting.look.dim(hint)] : rows;
	const seen = text
		.slice(from, from + most)
		.map((each, at) => cut((from + at === 0 ? MARK : "  ") + each, setting.columns));
	return { rows: seen, row: row - from, column: column + MARK.length };
}

function menuRows({ menu }: State, { columns, look }: Setting, most: number): readonly string[] {
	if (!menu) return [];
	const from = Math.max(0, Math.min(menu.at - most + 1, menu.items.length - most));
	const seen = menu.items.slice(from, from + most);
	const widest = Math.max(0, ...seen.map(({ name }) => width(name)));
	return seen.map(({ name, summary }, at) => {
		const isChosen = from + at === menu.at;
		const row = cut(
			`${isChosen ? "❯" : " "} ${name}${" ".repeat(widest - width(name) + 2)}${summary}`.trimEnd(),
			columns,
		);
		return isChosen ? look.bold(row) : look.dim(row);
	});
}

function searchRow(state: State, { columns, look }: Setting): readonly string[] {
	const hit = searched(state, state.search?.query ?? "")[state.search?.nth ?? 0];
	return [
		hit === undefined
			? look.dim(cut("nothing like it was sent", columns))
			: cut(`› ${hit.replace(/\s+/g, " ")}`, columns),
	];
}

function searchLine(query: string, { columns }: Setting): Shown {
	const text = cut(`search: ${query}`, columns - 1);
	return { rows: [text], row: 0, column: width(text) };
}
