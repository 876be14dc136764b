/** Markdown as it comes, as a value: what is final is given once, as rows; what is not yet is its tail. */
import { clean } from "@reyn/operator/text";
import { type Code, codeOf, codeRow, type Highlight } from "./code.ts";
import { cut, type Look, width, wrap } from "./text.ts";

export interface Markdown {
	/** The line whose end has not come. */
	readonly rest: string;
	/** Between fences, with what opened them. */
	readonly fence: { readonly mark: string; readonly code: Code } | undefined;
	/** The rows of a table whose end has not come. */
	readonly table: readonly string[];
}

/** Where a text is drawn. */
export interface Paper {
	readonly columns: number;
	readonly look: Look;
	/** Without it code has no colours. */
	readonly highlight?: Highlight | undefined;
}

export const noMarkdown: Markdown = { rest: "", fence: undefined, table: [] };

export interface Grown {
	readonly rows: readonly string[];
	readonly next: Markdown;
}

/** A piece more: each line is final when its end has come, a table when something else does. */
export function grown(markdown: Markdown, piece: string, paper: Paper): Grown {
	if (!piece.includes("\n")) return { rows: [], next: { ...markdown, rest: markdown.rest + piece } };
	const lines = (markdown.rest + piece).split("\n");
	const rest = lines.pop() ?? "";
	const rows: string[] = [];
	let { fence, table } = markdown;
	for (const raw of lines) {
		const line = clean(raw.replace(/\r$/, ""));
		if (fence === undefined && isTableRow(line)) {
			table = [...table, line];
			continue;
		}
		rows.push(...tableRows(table, paper));
		table = [];
		const [, mark, info = ""] = /^\s*(```+|~~~+)(.*)$/.exec(line) ?? [];
		if (fence === undefined && mark !== undefined) {
			fence = { mark, code: codeOf(info) };
			rows.push(paper.look.dim(line.trim()));
		} else if (fence === undefined) rows.push(...proseRows(line, paper));
		else if (mark?.startsWith(fence.mark) && /^[`~\s]*$/.test(info)) {
			fence = undefined;
			rows.push(paper.look.dim(line.trim()));
		} else {
			const { row, next } = codeRow(fence.code, line, paper);
			fence = { ...fence, code: next };
			rows.push(row);
		}
	}
	return { rows, next: { rest, fence, table } };
}

/** No more comes: all of it is final. */
export function ended(markdown: Markdown, paper: Paper): readonly string[] {
	const { rows, next } = markdown.rest === "" ? { rows: [], next: markdown } : grown(markdown, "\n", paper);
	return [...rows, ...tableRows(next.table, paper)];
}

/** What is not final, as it would be if no more came; each row fits. */
export function tail({ rest, fence, table }: Markdown, paper: Paper): readonly string[] {
	// Of a line without an end only the last rows are seen.
	const line = clean(rest.slice(-LONG_LINE));
	const open = fence === undefined && isTableRow(line) ? [...table, line] : table;
	const rows = tableRows(open, paper);
	if (line === "" || open !== table) return rows;
	if (fence !== undefined)
		return [...rows, ...wrap(codeRow(fence.code, line.replaceAll("\t", "    "), paper).row, paper.columns)];
	return [...rows, ...proseRows(line, paper)];
}

const LONG_LINE = 10_000;

const isTableRow = (line: string): boolean => /^\s*\|.*\S/.test(line);

function proseRows(line: string, { columns, look }: Paper): readonly string[] {
	const text = line.replaceAll("\t", "    ").trimEnd();
	const [, heading] = /^#{1,6} +(.*?)(?: +#+)?$/.exec(text) ?? [];
	if (heading !== undefined) return wrap(look.bold(heading), columns);
	if (/^ {0,3}([-*_])( *\1){2,}$/.test(text)) return [look.dim("─".repeat(Math.min(columns, 40)))];
	const [, quote] = /^ {0,3}> ?(.*)$/.exec(text) ?? [];
	if (quote !== undefined) return wrap(`│ ${inline(quote, look)}`, columns, "│ ").map((row) => look.dim(row));
	const [, space = "", mark, body = ""] = /^( *)([-*+]|\d+[.)]) +(.*)$/.exec(text) ?? [];
	if (mark === undefined) return wrap(inline(text, look), columns, /^ */.exec(text)?.[0]);
	const bullet = `${space}${/\d/.test(mark) ? mark : "•"} `;
	return wrap(bullet + inline(body, look), columns, " ".repeat(bullet.length));
}

/** Bold, italic and struck words, code, links. Backticks stay: without a colour they are all that tells code. */
function inline(text: string, look: Look): string {
	return text
		.split(/(`+[^`]+`+)/)
		.map((part, at) => (at % 2 === 1 ? look.cyan(part) : emphasis(part, look)))
		.join("");
}

const emphasis = (text: string, look: Look): string =>
	text
		.replace(/!?\[([^\]]+)\]\(([^()\s]+)\)/g, (_, label: string, url: string) =>
			label === url ? url : `${label} (${url})`,
		)
		.replace(/\*\*(?=\S)([^*]+?)\*\*/g, (_, bold: string) => look.bold(bold))
		.replace(/(?<![\w*])\*(?=\S)([^*]+?)\*(?![\w*])/g, (_, italic: string) => look.italic(italic));

/** Columns of equal width; where they do not fit, a line for each cell. */
function tableRows(lines: readonly string[], { columns, look }: Paper): readonly string[] {
	if (lines.length === 0) return [];
	const rows = lines.map((line) =>
		line
			.trim()
			.replace(/^\||\|$/g, "")
			.split("|")
			.map((cell) => inline(cell.trim().replaceAll("\t", " "), look)),
	);
	const isRule = (line: string): boolean => /^[\s|:-]+$/.test(line);
	const body = rows.filter((_, at) => !isRule(lines[at] as string));
	const hasHead = lines.length > 1 && isRule(lines[1] as string);
	const count = Math.max(...body.map((row) => row.length));
	const widths = Array.from({ length: count }, (_, at) => Math.max(0, ...body.map((row) => width(row[at] ?? ""))));
	const total = widths.reduce((sum, each) => sum + each + 3, -3);
	if (total <= columns)
		return body.map((row, at) => {
			const text = widths
				.map((wide, cell) => (row[cell] ?? "") + " ".repeat(wide - width(row[cell] ?? "")))
				.join(" │ ")
				.trimEnd();
			return hasHead && at === 0 ? look.bold(text) : text;
		});
	const [head = [], ...rest] = hasHead ? body : [[], ...body];
	return rest.flatMap((row) =>
		row.flatMap((cell, at) =>
			wrap(head[at] === undefined ? cell : `${cut(head[at], columns)}: ${cell}`, columns, "  "),
		),
	);
}
