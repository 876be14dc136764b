/** A command that is suggested can be copied: a shell reads of it what was meant, and nothing that a log, a file or a person has named runs. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Restored } from "@reyn/runtime";
import { afterEach, expect, test } from "vitest";
import { HOSTILE } from "../../../tests/kit/hostile.ts";
import { restoredLines } from "../src/event-lines.ts";
import { asTyped, reyn, slash, suggestAt } from "../src/suggest.ts";

afterEach(() => suggestAt({}));

/** What `reyn` would be given by a shell that somebody has pasted a command into. */
function given(command: string): readonly string[] {
	const script = `reyn() { printf '%s\\0' "$@"; }\n${command}`;
	const { stdout, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8", env: {}, cwd: "/" });
	expect(stderr).toBe("");
	return stdout.split("\0").slice(0, -1);
}

const words = [
	"p12",
	"../a dir/state",
	"px; printf gone #",
	"a'b\"c",
	"''",
	"",
	"$(id)`id`$HOME$'x'",
	"~root",
	"=ls",
	"*?[a]{b,c}",
	"!!",
	"a\\",
	"a\\'b",
	"# a > b | c & d",
	"Größe 🦊 👩‍👩‍👧",
];

test.each(words)("%j is one word of a shell, and the same", (word) => {
	expect(given(reyn`plan resume ${word} --from ${word}`)).toEqual(["plan", "resume", word, "--from", word]);
});

test("what was given is typed again with its options", () => {
	const args = ["--cwd", "/a dir", "run", "-p", "How do `id` and $(id) work?", "--yes"];
	expect(given(asTyped(args))).toEqual(args);
	expect(asTyped(["run", "-p", "-x y"])).toMatch(/^\(no command/);
});

test("what is plain is not quoted", () => {
	for (const word of ["p12", "/a/b.ts", "review-2.ts", "a@b:c,d+e=f%20"])
		expect([reyn`script save ${word}`, slash`skill resume ${word}`]).toEqual([
			`reyn script save ${word}`,
			`/skill resume ${word}`,
		]);
});

test.each([HOSTILE, "a\nb", "a\tb", "a\u202eb", "p\u200b1", "\ud800", "-x", "--help"])(
	"%j cannot be given: there is no command, and it is said",
	(word) => {
		for (const said of [reyn`plan resume ${word}`, slash`plan resume ${word}`]) {
			expect(said).toMatch(/^\(no command/);
			expect(said).not.toContain("resume");
		}
	},
);

test("a chat has no quotes: what is not plain there has no command", () => {
	expect(slash`plan resume ${"p 1"}`).toMatch(/^\(no command/);
	expect(slash`plan resume ${"p;1"}`).toMatch(/^\(no command/);
});

test("what was found at the start is gone on with by its id, in a shell and in a chat", () => {
	const id = "px; printf gone #";
	const restored = {
		turns: [],
		undelivered: [],
		plans: [{ plan: id, status: "paused", finished: 0, size: 1, calls: 0, tokens: 0, goal: "g" }],
		runs: [{ run: id, skill: "digest", status: "paused" }],
		scripts: [{ run: id, name: "n.ts" }],
	} as unknown as Restored;
	const told = restoredLines(restored).map((line) => line.replace(/.*go on with /, "").replace(/: g$/, ""));
	expect(told.map(given)).toEqual([
		["plan", "resume", id],
		["skill", "resume", id],
		["script", "resume", id],
	]);
	const [plan, skill, script] = restoredLines(restored, slash);
	expect(plan).toContain("go on with (no command");
	expect(skill).toContain("go on with (no command");
	expect(script).toContain("go on with (no command");
});

/** A command with a value in it that is no tagged template of `suggest.ts`. */
const byHand = /(\breyn |\/(plan|skill|script|checkout|rewind|label) |\$\{command\})([\w<>-]+ )*\$\{/;

test("no source writes a value into a command by hand", () => {
	const source = (line: string): string => line.replaceAll("#{", "\u0024{");
	for (const line of [
		"`x: reyn plan resume #{id}`",
		"`reyn #{own} log`",
		"`#{command}plan resume #{id}`",
		"`/plan #{verb}`",
	])
		expect(source(line)).toMatch(byHand);
	expect(source("`go on with #{reyn`plan resume #{id}`}`")).not.toMatch(byHand);
	const roots = ["../src", "../../../packages/runtime/src", "../../../packages/journal/src"];
	const found = roots.flatMap((root) => {
		const sources = join(import.meta.dirname, root);
		const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
		return files.flatMap((file) => {
			const lines = readFileSync(join(sources, file), "utf8").split("\n");
			return lines.filter((line) => byHand.test(line)).map((line) => `${file}: ${line.trim()}`);
		});
	});
	expect(found, "write it with `reyn` or `slash` of suggest.ts; in a package, without the value").toEqual([]);
});

test("a command works where this process does: with the directory and the state that it was given", () => {
	suggestAt({ cwd: "/a dir", state: "it's" });
	expect(given(reyn`plan resume ${"p1"}`)).toEqual(["--cwd", "/a dir", "--state", "it's", "plan", "resume", "p1"]);
	expect(reyn`log`).toBe("reyn --cwd '/a dir' --state 'it'\\''s' log");
	suggestAt({ cwd: HOSTILE, state: undefined });
	expect(reyn`log`).toMatch(/^\(no command/);
	suggestAt({ cwd: undefined, state: undefined });
	expect(reyn`log`).toBe("reyn log");
});
