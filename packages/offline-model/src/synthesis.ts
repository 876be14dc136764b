/** Writes the last step of a plan: the results of the steps before, put together. */
import { excerpt, pathKind } from "@reyn/tools/text";
import { type Hit, parseHit } from "./evidence.ts";
import { inquire } from "./inquiry.ts";
import { comparing } from "./parts.ts";
import { bullet } from "./quote.ts";
import { matched, scoreLine, weightOf } from "./rank.ts";
import type { Step, StepResult } from "./situation.ts";
import { termsOf } from "./terms.ts";

/** Lines of an answer. */
const tallest = 60;

interface Section {
	readonly title: string;
	/** What the step said in words. */
	readonly lead: string;
	readonly hits: readonly Hit[];
	/** Other lines, for a step that quoted nothing. */
	readonly notes: readonly string[];
	readonly failed: string | undefined;
	readonly empty: boolean;
	/** A look at the files as a whole, about no part of the question. */
	readonly map: boolean;
}

/** The last step of a plan: what the steps before found, put together without adding to it. */
export function synthesise({ goal, results }: Step): string {
	const perPart = results.length > 4 ? 4 : 5;
	const sections = results.map((result) => sectionOf(result, goal, perPart));
	const good = sections.filter(({ failed, empty }) => failed === undefined && !empty);
	if (good.length === 0)
		return [`I found nothing to answer “${excerpt(goal, 120)}” with.`, ...troubles(sections)].join("\n");
	const found = good.filter(({ map }) => !map);
	const maps = good.filter(({ map }) => map);
	const lines = [
		...shortAnswer(goal, found.length > 0 ? found : maps),
		...withoutRepeats(found).flatMap(({ title, hits, notes }) => [
			"",
			title,
			...hits.map((hit) => bullet(hit, termsOf(title))),
			...notes.map((note) => `  ${note}`),
		]),
		...maps.flatMap(({ notes }) =>
			notes.length === 0 ? [] : ["", "Where things are", ...notes.map((note) => `  ${note}`)],
		),
	];
	const end = [...troubles(sections), ...readNext(found.length > 0 ? found : maps)];
	return [...lines.slice(0, tallest - end.length), ...end].join("\n");
}

function sectionOf({ description, text, failed }: StepResult, goal: string, perPart: number): Section {
	const lines = text.split("\n").filter((line) => line.trim() !== "");
	const title = titleOf(description);
	const inquiry = inquire(description, { terms: termsOf(title).length > 0 ? termsOf(title) : termsOf(goal) });
	const quoted = lines.flatMap((line) => parseHit(line) ?? []);
	const spoken = lines.filter((line) => parseHit(line) === undefined);
	const best = quoted
		.map((hit, order) => ({ hit, score: scoreLine(hit.text, hit.path, inquiry) - 0.4 * order }))
		.sort((a, b) => b.score - a.score)
		.slice(0, perPart)
		.map(({ hit }) => hit)
		.sort((a, b) => quoted.indexOf(a) - quoted.indexOf(b));
	const map = /^(?:list|overview|survey|map)\b/i.test(description);
	return {
		title,
		map,
		lead: spoken[0] ?? "",
		hits: best,
		notes:
			best.length > 0 && !map
				? []
				: spoken
						.slice(1, 1 + perPart)
						.filter((note) => !note.endsWith(" begins:"))
						.map((note) => excerpt(note, 160)),
		failed,
		empty:
			lines.length === 0 ||
			(quoted.length === 0 && /^(?:I found nothing|I could not|There is nothing|\(no result\))/.test(spoken[0] ?? "")),
	};
}

/** `Find “group commit” in the files` → group commit; for a description of somebody else, all of it. */
function titleOf(description: string): string {
	const label = /“([^”]+)”/.exec(description)?.[1];
	if (label === undefined) return description;
	if (/^Find “[^”]+” in the files$/.test(description)) return label;
	return description.replace(/[“”]/g, "").replace(/^(?:Find|Look up|See how) /, "");
}

function shortAnswer(goal: string, sections: readonly Section[]): readonly string[] {
	const said = new Set<string>();
	const told = sections.flatMap(({ title, lead, hits }) => {
		const first = hits[0];
		const text = lead !== "" ? lead : first === undefined ? "" : `${first.path}:${first.line}: ${first.text}`;
		if (said.has(text)) return [];
		said.add(text);
		return [`- ${title}: ${excerpt(text, 320)}`];
	});
	return [`In short: ${excerpt(goal, 140)}`, ...told, ...(comparing.test(goal) ? shared(sections) : [])];
}

/** What can be said of a comparison without reasoning: which files show both subjects, or that none does. */
function shared(parts: readonly Section[]): readonly string[] {
	const [a, b] = parts.filter(({ title }) => !/\b(?:docs|tests|together)\b/.test(title));
	if (a === undefined || b === undefined) return [];
	// A line that one step quotes may speak of the other's subject too.
	const quoted = parts.flatMap(({ hits }) => hits);
	const files = ({ title, hits }: Section) => {
		const terms = termsOf(title);
		const holding = quoted.filter(({ text }) => matched(text, terms) >= 0.6 * weightOf(terms));
		return [...new Set([...hits, ...holding].map(({ path }) => path))];
	};
	const both = files(a).filter((path) => files(b).includes(path));
	const only = (section: Section) =>
		files(section)
			.filter((path) => !both.includes(path))
			.slice(0, 3)
			.join(", ");
	if (both.length > 0) return [`- Both: ${both.slice(0, 4).join(", ")}`];
	if (only(a) === "" || only(b) === "") return [];
	return [`- No file quoted here shows both: ${a.title} is in ${only(a)}; ${b.title} is in ${only(b)}.`];
}

/** The same line found by two steps is shown by the first. */
function withoutRepeats(sections: readonly Section[]): readonly Section[] {
	const seen = new Set<string>();
	return sections.flatMap((section) => {
		const hits = section.hits.filter(({ path, line }) => {
			const place = `${path}:${line}`;
			if (seen.has(place)) return false;
			seen.add(place);
			return true;
		});
		return hits.length === 0 && section.notes.length === 0 ? [] : [{ ...section, hits }];
	});
}

function troubles(sections: readonly Section[]): readonly string[] {
	const lines = sections.flatMap(({ title, failed, empty, lead }) => {
		if (failed !== undefined) return [`- ${title}: this step failed (${excerpt(failed, 160)})`];
		return empty ? [`- ${title}: ${lead === "" ? "no result" : excerpt(lead, 200)}`] : [];
	});
	return lines.length === 0 ? [] : ["", "Missing from this answer:", ...lines];
}

function readNext(sections: readonly Section[]): readonly string[] {
	const weights = new Map<string, number>();
	for (const { hits, title } of sections) {
		for (const { path, text } of hits) {
			const weight = 1 + matched(text, termsOf(title)) + (pathKind(path) === "generated" ? -2 : 0);
			weights.set(path, (weights.get(path) ?? 0) + weight);
		}
	}
	const paths = [...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5);
	return paths.length === 0 ? [] : ["", `Read next: ${paths.map(([path]) => path).join(", ")}`];
}
