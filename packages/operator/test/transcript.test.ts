/** What was said, in each form: whole, and nothing of it acts on what shows it. */
import { expect, test } from "vitest";
import { transcriptLines } from "../src/lines/transcript.ts";

const said = [
	{ seq: 2, who: "you", text: "Is 1 < 2 & 3?\nAnd this?" },
	{ seq: 5, who: "agent", text: `</pre><script>alert("x")</script>\u001b[2J` },
];

test("a page has it as text, and runs nothing", () => {
	const page = transcriptLines("default/main <b>", said, "html").join("\n");
	expect(page).toContain("<pre>Is 1 &lt; 2 &amp; 3?\nAnd this?</pre>");
	expect(page).toContain("&lt;/pre&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;[2J");
	expect(page).toContain("<title>default/main &lt;b&gt;</title>");
	for (const bad of ["<script", "\u001b"]) expect(page).not.toContain(bad);
	expect(page.match(/<pre>/g)?.length).toBe(page.match(/<\/pre>/g)?.length);
});

test("a line of JSON a message gives back what was said", () => {
	expect(transcriptLines("", said, "jsonl").map((line) => JSON.parse(line))).toEqual(said);
});

test("as Markdown and as text each message begins with who said it", () => {
	expect(transcriptLines("", said, "md").slice(0, 4)).toEqual(["## you (#2)", "", "Is 1 < 2 & 3?", "And this?"]);
	expect(transcriptLines("", said, "text").slice(0, 3)).toEqual(["#2 you:", "  Is 1 < 2 & 3?", "  And this?"]);
});
