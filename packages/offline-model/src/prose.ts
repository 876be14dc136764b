/** Finds where a text begins to speak: its first paragraph of prose, behind headings, badges, images, HTML and rows of links. */
import type { NumberedLine, Piece } from "./evidence.ts";

/** Consecutive lines of prose, joined. */
export interface Prose {
	readonly path: string;
	readonly from: number;
	readonly to: number;
	readonly text: string;
}

/** Words that a paragraph has at least, besides links, pictures and signs. */
const fewestWords = 4;

export function firstProse({ path, lines }: Piece): Prose | undefined {
	return paragraphs(lines)
		.filter((paragraph) => isProse(paragraph))
		.map((paragraph) => ({
			path,
			from: paragraph[0]?.number ?? 0,
			to: paragraph.at(-1)?.number ?? 0,
			text: paragraph.map(({ text }) => text.replace(/^\s*> ?/, "").trim()).join(" "),
		}))[0];
}

const isRule = (text: string): boolean => /^\s*(?:[=~^"'*+#-]{3,}|_{3,})\s*$/.test(text);
const isMark = (text: string): boolean =>
	/^\s*(?:#{1,6}\s|={1,6}\s|\.\. |:[\w-]+:|\||<|!\[|\[!\[|>\s*(?:\[!|\*\*|[-*] |$)|\[[^\]]+\]:|=(?:head|over|item|back|cut|pod|encoding|for|begin|end)|\.[A-Z]{2}|[-*+] |\d+[.)] )/.test(
		text,
	);

/** Runs of lines between blank ones, without fenced code, front matter, headings and what is no prose by its first sign. */
function paragraphs(lines: readonly NumberedLine[]): readonly (readonly NumberedLine[])[] {
	const found: NumberedLine[][] = [[]];
	let fence: RegExp | undefined;
	for (const [index, line] of lines.entries()) {
		const { text } = line;
		if (fence !== undefined) {
			if (fence.test(text)) fence = undefined;
			continue;
		}
		if (index === 0 && line.number === 1 && /^---\s*$/.test(text)) fence = /^(?:---|\.\.\.)\s*$/;
		else if (/^\s*(?:```|~~~)/.test(text)) fence = /^\s*(?:```|~~~)\s*$/;
		else if (/^\s*<!--/.test(text) && !text.includes("-->")) fence = /-->/;
		// A rule below words makes them a heading.
		else if (isRule(text)) found.splice(found.length - 1, 1, []);
		else if (text.trim() === "" || isMark(text) || /^(?: {4}|\t)/.test(text)) found.push([]);
		else found.at(-1)?.push(line);
	}
	return found.filter((paragraph) => paragraph.length > 0);
}

function isProse(paragraph: readonly NumberedLine[]): boolean {
	const text = paragraph.map((line) => line.text).join(" ");
	const bare = text
		.replace(/!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?/g, " ")
		.replace(/<[^>]*>/g, " ")
		.replace(/\bhttps?:\S+/g, " ");
	const links = bare.match(/\[[^\]]*\]\([^)]*\)|\[[^\]]*\]\[[^\]]*\]/g)?.length ?? 0;
	const words = bare.replace(/\[[^\]]*\]\([^)]*\)|\[[^\]]*\]\[[^\]]*\]/g, " ").match(/\p{L}{2,}/gu)?.length ?? 0;
	const letters = bare.match(/\p{Lo}/gu)?.length ?? 0;
	// "Read this in other languages: English | Français" lists links, whatever stands before them.
	if (/\s[|·•]\s/.test(bare) && links > 0 && words < 12) return false;
	return words + letters / 2 >= Math.max(fewestWords, links);
}
