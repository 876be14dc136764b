/** What a chat says of files before it does anything is what becomes of them. */
import { type Verb, verbs } from "@reyn/operator";
import { expect, test } from "vitest";
import { questionOn } from "../../src/chat/asking.ts";

const verbOf = (name: string): Verb => verbs.find((verb) => verb.name === name) as Verb;
const asked = (name: string, seen: object, lines: readonly string[] = ["what it does"]) =>
	questionOn({ verb: verbOf(name), question: `${name} this?`, lines, seen }, undefined, "ask");

test("none is touched, but by what takes files along or writes one", () => {
	const note = "Files in your workspace are not touched.";
	expect(asked("adopt", { message: {} })).toMatchObject({ title: "adopt this", answers: ["cancel", "adopt"], note });
	expect(asked("adopt", { file: { path: "a.txt" } })).not.toHaveProperty("note");
	expect(asked("rewind", { files: {} })).not.toHaveProperty("note");
	expect(asked("rewind", {})).toMatchObject({ note });
	expect(asked("rewind", { filesSince: 5 })).toMatchObject({
		files: "files: stay (Ctrl-F: take along; 5 were written since)",
	});
	expect(asked("rewind", {}, ["files in your workspace are not touched"])).not.toHaveProperty("note");
});
