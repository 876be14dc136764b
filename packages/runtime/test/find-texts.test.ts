/** The table of texts against looking for each of them at each place. */
import { expect, test } from "vitest";
import { seeded } from "../../../tests/kit/seeded.ts";
import { type Part, Texts } from "../src/redaction/find-texts.ts";

/** At the first place where there is one, the longest. */
function oneByOne(texts: readonly string[], text: string): readonly Part[] {
	const parts: Part[] = [];
	for (let from = 0; from < text.length; from++) {
		const [kind] = texts.filter((each) => text.startsWith(each, from)).sort((a, b) => b.length - a.length);
		if (kind === undefined) continue;
		parts.push({ from, to: from + kind.length, kind });
		from += kind.length - 1;
	}
	return parts;
}

test("it finds what one finds who looks for each at each place", () => {
	const random = seeded(7);
	const some = (length: number): string => Array.from({ length }, () => random.pick(["a", "b", "c"])).join("");
	for (let i = 0; i < 2000; i++) {
		const texts = [...new Set(Array.from({ length: 1 + random.below(6) }, () => some(1 + random.below(6))))];
		const text = some(random.below(40));
		expect([texts, text, new Texts(new Map(texts.map((each) => [each, each]))).in(text)]).toEqual([
			texts,
			text,
			oneByOne(texts, text),
		]);
	}
});
