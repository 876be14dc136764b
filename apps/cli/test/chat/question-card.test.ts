/** A question as a card: what may be chosen, and what is typed for an answer in words. */
import { expect, test } from "vitest";
import type { Face } from "../../src/chat/face.ts";
import { askInChat } from "../../src/chat/question-card.ts";

const plan = {
	...{ seq: 9, scope: {}, from: { kind: "turn", id: "8" }, question: "Start a plan of 2 steps?" },
	...{ choices: ["yes", "edit", "no"], explained: ["edit", "no"] },
	signal: new AbortController().signal,
};

/** Chooses what is called so; what is put, filled in and said is kept. */
function choosing(answer: string) {
	const seen = { answers: [] as readonly string[], filled: "", said: "" };
	const face = {
		put: async ({ answers }: { readonly answers: readonly string[] }) => {
			seen.answers = answers;
			return answers.indexOf(answer);
		},
		fill(text: string) {
			seen.filled = text;
		},
		say(lines: readonly string[]) {
			seen.said = lines.join("\n");
		},
	};
	return { face: face as unknown as Face, seen };
}

test.each([
	["yes", "yes", "", ""],
	["no", "no", "", ""],
	["edit, and what", undefined, "/answer 9 edit: ", ""],
	["no, and why", undefined, "/answer 9 no: ", ""],
	["not now", undefined, "", 'it waits for: /answer 9 yes|edit|no|"edit: …"|"no: …"'],
])("%s", async (chosen, given, filled, said) => {
	const { face, seen } = choosing(chosen);
	expect(await askInChat(face, plan)).toBe(given);
	expect(seen).toEqual({ answers: ["not now", "yes", "edit", "no", "edit, and what", "no, and why"], filled, said });
});

test("one with any text as its answer is filled in", async () => {
	const { face, seen } = choosing("answer");
	const { choices: _none, explained: _neither, ...open } = plan;
	expect(await askInChat(face, open)).toBeUndefined();
	expect(seen).toEqual({ answers: ["not now", "answer"], filled: "/answer 9 ", said: "" });
});
