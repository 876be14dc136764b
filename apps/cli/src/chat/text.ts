/** What a text is on a terminal: how wide it is, where it may break, where it is cut, how it looks. */
import { eastAsianWidth } from "get-east-asian-width";

/** How pieces of a line look. Each is as wide as it was. */
export interface Look {
	bold(text: string): string;
	dim(text: string): string;
	italic(text: string): string;
	cyan(text: string): string;
	green(text: string): string;
	magenta(text: string): string;
	red(text: string): string;
	yellow(text: string): string;
}

const styled =
	(on: number, off: number) =>
	(text: string): string =>
		text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;

export const coloured: Look = {
	bold: styled(1, 22),
	dim: styled(2, 22),
	italic: styled(3, 23),
	cyan: styled(36, 39),
	green: styled(32, 39),
	magenta: styled(35, 39),
	red: styled(31, 39),
	yellow: styled(33, 39),
};

const asItIs = (text: string): string => text;

/** `NO_COLOR`: the same screen, in one colour. */
export const uncoloured: Look = {
	bold: asItIs,
	dim: asItIs,
	italic: asItIs,
	cyan: asItIs,
	green: asItIs,
	magenta: asItIs,
	red: asItIs,
	yellow: asItIs,
};

/** One cell each, and a cluster of its own beside others of the kind: ASCII, Latin, Greek, Cyrillic, dashes, arrows, boxes, Braille. */
const single =
	"\\x20-\\x7e\\xa0-\\xac\\xae-\\u02ff\\u0370-\\u0482\\u048a-\\u052f\\u2010-\\u2027\\u2190-\\u2193\\u2500-\\u259f\\u25b8\\u2713\\u2717\\u276f\\u2800-\\u28ff";
const singles = new RegExp(`^[${single}]*$`);

/** The sequences of a {@link Look}: nothing else of the kind is in a text that is drawn. */
const ESC = "\x1b";
const looks = new RegExp(`${ESC}\\[[\\d;]*m`, "g");
const pieces = new RegExp(`${ESC}\\[[\\d;]*m| +|[^ ${ESC}]+`, "g");
const RESET = "\x1b[0m";

/** Made when the first text needs it: that takes as long as the whole start. */
let segmenter: Intl.Segmenter | undefined;

/** What a person takes for characters. */
export function clusters(text: string): readonly string[] {
	if (singles.test(text)) return [...text];
	segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
	return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The cells that a text takes. */
export function width(text: string): number {
	const bare = text.replace(looks, "");
	if (singles.test(bare)) return bare.length;
	return clusters(bare).reduce((sum, cluster) => sum + clusterWidth(cluster), 0);
}

const twice = /\ufe0f|\u20e3|\p{Regional_Indicator}{2}|\p{Emoji_Modifier}/u;
const drawsNothing = /^[\p{Mn}\p{Me}\p{Cc}\p{Cf}]/u;

function clusterWidth(cluster: string): number {
	if (drawsNothing.test(cluster)) return 0;
	if (twice.test(cluster)) return 2;
	return eastAsianWidth(cluster.codePointAt(0) ?? 0);
}

/** A text without its looks, and cut to as many cells: what is missing is seen. */
export function cut(text: string, columns: number): string {
	if (width(text) <= columns) return text;
	if (columns < 1) return "";
	let row = "";
	let used = 0;
	let isStyled = false;
	for (const piece of piecesOf(text)) {
		if (piece.startsWith(ESC)) {
			row += piece;
			isStyled = true;
			continue;
		}
		for (const cluster of clusters(piece)) {
			const cells = clusterWidth(cluster);
			if (used + cells > columns - 1) return `${row}…${isStyled ? RESET : ""}`;
			row += cluster;
			used += cells;
		}
	}
	return row;
}

/** Rows of at most so many cells, broken at words where there are any; a look goes on in the next row. */
export function wrap(text: string, columns: number, indent = ""): readonly string[] {
	if (!text.includes(ESC) && singles.test(text) && text.length <= columns) return [text];
	const room = Math.max(1, columns);
	const hang = width(indent) * 4 <= room ? indent : "";
	const rows: string[] = [];
	let row = "";
	let used = 0;
	let look = "";
	/** Spaces that are drawn only if something follows them in the row. */
	let gap = "";
	const next = (): void => {
		rows.push(look === "" ? row : row + RESET);
		row = hang + look;
		used = width(hang);
		gap = "";
	};
	const put = (piece: string, cells: number): void => {
		row += gap + piece;
		used += gap.length + cells;
		gap = "";
	};
	for (const piece of piecesOf(text)) {
		if (piece.startsWith(ESC)) {
			look = isEnd(piece) ? "" : look + piece;
			row += piece;
			continue;
		}
		if (piece.startsWith(" ")) {
			gap = piece;
			continue;
		}
		const cells = width(piece);
		if (used + gap.length + cells > room && cells <= room - width(hang) && used > width(hang)) next();
		if (used + gap.length + cells <= room) {
			put(piece, cells);
			continue;
		}
		for (const cluster of clusters(piece)) {
			const each = clusterWidth(cluster);
			if (used + gap.length + each > room && used > width(hang)) next();
			put(cluster, each);
		}
	}
	return [...rows, row];
}

/** Looks, runs of spaces, and what is between them. */
const piecesOf = (text: string): readonly string[] => text.match(pieces) ?? [];

/** Does it end all looks that are on? Ours do not overlap but in bold text, whose rest is then as any other. */
const isEnd = (look: string): boolean => /\[(?:0|2[23]|39)?m/.test(look);
