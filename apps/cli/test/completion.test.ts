/** `reyn completion`: what Tab offers in a real shell, as far as this machine has it. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { completionFor, type Shell } from "../src/completion.ts";
import { commands } from "../src/main.ts";

/** What a shell is given, and what it is asked then, for the words that were typed. */
const asked: Readonly<Record<Shell, (script: string, words: readonly string[]) => string>> = {
	bash: (script, words) =>
		`${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _reyn; printf '%s\\n' "\${COMPREPLY[@]}"`,
	zsh: (script, words) => {
		const stubs = `compdef() { :; }; _files() { print; }; _describe() { print -l -- \${\${(@P)2}%%:*}; }`;
		const last = words.at(-1) ?? "";
		return `${stubs}\n${script}\nwords=(${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length}; _reyn | grep -- '^${last}'`;
	},
	fish: (script, words) => `${script}\ncomplete -C '${words.join(" ")}' | string replace -r '\\t.*' ''`,
};

function offered(shell: Shell, words: readonly string[]): readonly string[] {
	const script = completionFor(
		shell,
		commands(() => {}),
	);
	const flags = { bash: ["--norc"], zsh: ["-f"], fish: ["--no-config"] }[shell];
	const { stdout, stderr } = spawnSync(shell, [...flags, "-c", asked[shell](script, words)], { encoding: "utf8" });
	expect(stderr).toBe("");
	return stdout
		.split("\n")
		.filter((line) => line !== "")
		.sort();
}

const isHere = (shell: Shell): boolean => spawnSync(shell, ["--version"]).status === 0;

describe.each<Shell>(["bash", "zsh", "fish"])("%s", (shell) => {
	if (!isHere(shell)) return test.skip(`completes (skipped: this machine has no ${shell})`, () => {});

	test.each([
		["reyn", "pl", ["plan"]],
		["reyn plan", "", ["amend", "discard", "list", "pause", "resume", "retry", "show"]],
		["reyn plan", "d", ["discard"]],
		["reyn --cwd x plan", "r", ["resume", "retry"]],
		["reyn rewind", "--m", ["--mode"]],
		["reyn chat", "--se", ["--session"]],
		["reyn plan resume", "--f", ["--from"]],
	])("completes %s %s", (typed, last, expected) => {
		const found = offered(shell, [...typed.split(" "), last]);
		expect(found.filter((word) => last.startsWith("-") || !word.startsWith("-"))).toEqual(expected);
	});
});
