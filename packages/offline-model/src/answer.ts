/** Writes the answer to a question, or the result of a plan step, from what the tools have shown. */
import { isImport } from "@reyn/tools/text";
import type { Evidence, Hit, NumberedLine } from "./evidence.ts";
import { type Inquiry, soughtIn } from "./inquiry.ts";
import { lead } from "./lead.ts";
import { outline, overview } from "./overview.ts";
import { type Passage, passageOf } from "./passage.ts";
import { bullet, quoteLines } from "./quote.ts";
import { matched, rankHits, scoreLine } from "./rank.ts";
import { builtOf } from "./twins.ts";

/** The answer to a question in the chat: what was found in a sentence, the lines themselves, and where else to look. */
export function answer(inquiry: Inquiry, evidence: Evidence): string {
	if (inquiry.overview && evidence.listing !== undefined) return overview(evidence.listing, evidence.pieces).join("\n");
	if (soughtIn(inquiry).length === 0 && evidence.pieces.length > 0) return ofFile(inquiry, evidence).join("\n");
	const passages = passagesOf(inquiry, evidence);
	const lines = [
		lead(inquiry, evidence, passages),
		...passages.flatMap((passage) => ["", ...quoteLines(passage, inquiry.terms)]),
		...elsewhere(inquiry, evidence, passages),
		...(passages.length === 0 ? evidence.pieces.slice(0, 1).flatMap(outline) : []),
		...remarks(inquiry, evidence),
	];
	return lines.join("\n").trim();
}

/** What is in the file that the question names, or around the line that it names (`src/a.ts:12`): 3 lines before it, 8 after. */
function ofFile(inquiry: Inquiry, evidence: Evidence): readonly string[] {
	const line = inquiry.file?.line;
	const near = evidence.pieces.flatMap(({ path, lines }) => {
		const shown = line === undefined ? [] : lines.filter(({ number }) => number >= line - 3 && number <= line + 8);
		return shown.length === 0 ? [] : quoteLines({ path, lines: shown }, inquiry.terms);
	});
	return near.length > 0 ? near : [lead(inquiry, evidence, []), ...evidence.pieces.slice(0, 1).flatMap(outline)];
}

/** The result of a plan step: the same findings, one line each, for the step that puts them together. */
export function findings(inquiry: Inquiry, evidence: Evidence): string {
	if (evidence.listing !== undefined) return overview(evidence.listing, evidence.pieces, inquiry.terms).join("\n");
	const passages = passagesOf(inquiry, evidence);
	const hits = [
		...passages.flatMap((passage) => telling(passage, inquiry, 4)),
		...others(inquiry, evidence, passages).slice(0, 8),
	].slice(0, 10);
	return [
		lead(inquiry, evidence, passages),
		...hits.map((hit) => bullet(hit, inquiry.terms)),
		...(passages.length === 0 ? evidence.pieces.slice(0, 1).flatMap(outline) : []),
		...remarks(inquiry, evidence),
	].join("\n");
}

/** The passages that hold at least 60 % of what the best one holds of the question: a weaker one is about something else. */
function passagesOf(inquiry: Inquiry, { pieces }: Evidence): readonly Passage[] {
	const passages = pieces.flatMap((piece) => passageOf(piece, inquiry) ?? []);
	const most = Math.max(...passages.map(({ held }) => held));
	return passages.filter(({ held }) => held >= 0.6 * most);
}

/** Hits that no passage shows: at most two of a file, and none that holds less than half of what the best hit holds. */
function others(inquiry: Inquiry, evidence: Evidence, passages: readonly Passage[]): readonly Hit[] {
	const shown = (hit: Hit) =>
		passages.some(({ path, lines }) => path === hit.path && lines.some(({ number }) => number === hit.line));
	const all = rankHits(evidence.searches, inquiry);
	const built = builtOf([...all, ...passages].map(({ path }) => path));
	const ranked = all.filter(({ path }) => !built.has(path));
	const most = Math.max(...ranked.map(({ text }) => matched(text, inquiry.terms)));
	const taken = new Map<string, number>();
	return ranked.filter((hit) => {
		if (shown(hit) || isImport(hit.text) || matched(hit.text, inquiry.terms) < 0.5 * most) return false;
		const fromFile = taken.get(hit.path) ?? 0;
		taken.set(hit.path, fromFile + 1);
		return fromFile < 2;
	});
}

function elsewhere(inquiry: Inquiry, evidence: Evidence, passages: readonly Passage[]): readonly string[] {
	const rest = others(inquiry, evidence, passages).slice(0, 5);
	return rest.length === 0 ? [] : ["", "Also:", ...rest.map((hit) => bullet(hit, inquiry.terms))];
}

/**
 * The lines of a passage worth a bullet, in the order of the file: the best by `scoreLine`, where the anchor gets 10 more and the
 * sentence about the terms 5 more, so that both are nearly always among them.
 */
function telling({ path, lines, anchor, sentence }: Passage, inquiry: Inquiry, most: number): readonly Hit[] {
	const score = (line: NumberedLine) =>
		scoreLine(line.text, path, inquiry) +
		(line.number === anchor.number ? 10 : 0) +
		(line.number === sentence?.number ? 5 : 0);
	const said = sentence === undefined || lines.some(({ number }) => number === sentence.number) ? [] : [sentence.line];
	return [...said, ...lines]
		.filter(({ text }) => /[\p{L}\p{N}]{2}/u.test(text))
		.sort((a, b) => score(b) - score(a) || a.number - b.number)
		.slice(0, most)
		.sort((a, b) => a.number - b.number)
		.map(({ number, text }) => ({ path, line: number, text }));
}

/** How many lines and files mention the terms, which terms are nowhere, and the first lookup that failed. */
function remarks(inquiry: Inquiry, { searches, errors }: Evidence): readonly string[] {
	const found = searches.findLast(({ hits }) => hits.length > 0);
	if (found === undefined) return [];
	const spoken = (needle: string) => inquiry.terms.find((term) => term.needle === needle)?.text ?? needle;
	const [there, gone] = [true, false].map((wanted) =>
		[...found.spread].filter(([, files]) => files > 0 === wanted).map(([needle]) => spoken(needle)),
	);
	const of = found.searched === "1 file" ? "" : ` of ${found.searched ?? "the files"}`;
	const extent = of === "" ? found.extent?.replace(/ in .*/, "") : found.extent;
	const said = [
		...(gone?.length ? [`Nothing${found.whole ? "" : " that I searched"} mentions ${gone.join(" or ")}.`] : []),
		...(extent !== undefined && there?.length
			? [
					`${found.whole ? "" : "At least "}${extent}${of} ${extent.startsWith("1 line") ? "mentions" : "mention"} ${there.join(" or ")}.`,
				]
			: []),
		...errors.slice(0, 1).map((error) => `One lookup failed: ${error}`),
	];
	return said.length === 0 ? [] : ["", said.join(" ")];
}
