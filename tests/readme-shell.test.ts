/** What READMEs tell their reader to type does what they say: each line is run, in a directory of its own, and prints what stands below it. */
import { execFile } from "node:child_process";
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { reyn } from "./cli.ts";
import { type Block, blocksOf, pages, pattern, readmes } from "./markdown.ts";
import { root } from "./workspace.ts";

/** Commands that are not run here, each with its reason. */
const notRun: readonly { readonly command: RegExp; readonly because: string }[] = [
	{ command: /^npm (install|i|init) /, because: "the packages are not on npm yet; test:pack installs their tarballs" },
	{ command: /^npx -y pnpm@\S+ test\b/, because: "it takes minutes, and runs this" },
	{ command: /^npx -y pnpm@\S+ site\b/, because: "it takes half a minute; site.deep.test.ts builds it" },
	{
		command: /^npx -y pnpm@\S+ demo\b/,
		because: "it takes seconds; e2e/demo.test.ts runs it, and demo.deep.test.ts holds its picture to it",
	},
];

interface Typed {
	readonly line: number;
	readonly command: string;
	/** The lines below it; of a block of commands, the text block below that, where there is one. */
	readonly output: string | undefined;
}

const { packageManager, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const texts = [...readmes, ...pages];
const home = mkdtempSync(join(tmpdir(), "reyn-readme-shell-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test.skipIf(process.platform === "win32").for(texts.filter(({ text }) => typedIn(text).length > 0))(
	"$name: what is typed prints what stands below it",
	async ({ name, text }) => {
		const cwd = join(home, name.replace(/\W/g, "-"));
		mkdirSync(cwd);
		/** What the README calls a run, and what it is called here. */
		const names = new Map<string, string>();
		for (const { line, command, output } of typedIn(text)) {
			const printed = await shell(renamed(command, names), cwd);
			if (output === undefined) continue;
			for (const [index, each] of runsIn(output).entries()) names.set(each, runsIn(printed)[index] ?? each);
			if (!pattern(alike(output)).test(alike(printed))) expect(printed, `${name}:${line}: ${command}`).toBe(output);
		}
	},
);

test("each block of a README is run, or is the output of one that is", () => {
	const left = texts.flatMap(({ name, text }) => {
		const lines = new Set(typedIn(text).map(({ line }) => line));
		const isRun = ({ info, line }: Block): boolean => info === "ts" || lines.has(line);
		return blocksOf(text)
			.filter((block, index, all) => {
				const before = all[index - 1];
				if (block.info === "text") return !before || !isRun(before);
				return !isRun(block) && block.info !== "ts no-run" && !(block.info === "sh" && leftOut(block.body).length > 0);
			})
			.map(({ info, line }) => `${name}:${line} ${info}`);
	});
	// A drawing, whose arrows are looked at below.
	expect(left).toEqual([expect.stringMatching(/^README\.md:\d+ mermaid$/)]);
});

test("each reason not to run a command has such a command", () => {
	const commands = texts.flatMap(({ text }) => blocksOf(text).flatMap(({ body }) => leftOut(body)));
	expect(notRun.filter(({ command }) => !commands.some((each) => command.test(each)))).toEqual([]);
});

test("what pnpm is told to run is there, and is told to that very pnpm", () => {
	const all = globSync(["*.md", "docs/**/*.md", "{apps,packages}/*/README.md"], { cwd: root });
	const asked = all.flatMap((path) => [
		...readFileSync(join(root, path), "utf8").matchAll(/npx -y (pnpm@\S+)((?: -\S+(?: @\S+)?)*) ([\w:-]+)/g),
	]);
	expect(asked.length).toBeGreaterThan(10);
	const known = [...Object.keys(scripts), "exec"];
	expect(asked.filter(([, pnpm, , what = ""]) => pnpm !== packageManager || !known.includes(what))).toEqual([]);
});

test("the arrows between packages in the drawing are what their manifests say", () => {
	const [{ body = "" } = {}] = blocksOf(readmes[0]?.text ?? "").filter(({ info }) => info === "mermaid");
	const arrows = [...body.matchAll(/^\s*([\w-]+) --> (.+)$/gm)].flatMap(([, from = "", to = ""]) =>
		to.split(" & ").map((each) => [from, each] as const),
	);
	expect(arrows.length).toBeGreaterThan(5);
	for (const [from, to] of arrows) {
		const [path = ""] = globSync(`{apps,packages}/${from}/package.json`, { cwd: root });
		const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, path), "utf8"));
		expect(Object.keys({ ...dependencies, ...devDependencies }), from).toContain(`@reyn/${to}`);
	}
});

test("the README says that nothing is on npm as long as that is so, and no figure but those of docs/bench.md", () => {
	const text = readmes[0]?.text ?? "";
	const isReleased = globSync("packages/*/CHANGELOG.md", { cwd: root }).length > 0;
	expect(/\bnot on npm yet\b/i.test(text)).toBe(!isReleased);
	const rows = [...text.matchAll(/^\|.*\| `npx -y pnpm@\S+ bench (\w+)` \|$/gm)];
	expect(rows).toHaveLength(4);
	const measured = readFileSync(join(root, "docs/bench.md"), "utf8");
	for (const [row, name] of rows) {
		const section = measured.split(/^## /m).find((each) => each.includes(`bench ${name} `)) ?? "";
		const figures = [...row.matchAll(/\*\*(\d[\d.,]*)/g)].map(([, figure = ""]) => figure);
		expect(figures.length).toBeGreaterThan(0);
		expect(figures.filter((figure) => !section.includes(`| ${figure} |`))).toEqual([]);
	}
});

test("a transcript is read command by command, a block of commands as one, without those that are not run", () => {
	const text =
		"```console\n$ echo a\na\n$ cat <<END\n> b\n> END\nb\n```\n```sh\nnpm install x\nls # all\n```\n```text\nc\n```\n```sh\nnpm i y\n```\n";
	expect(typedIn(text)).toEqual([
		{ line: 1, command: "echo a", output: "a\n" },
		{ line: 1, command: "cat <<END\nb\nEND", output: "b\n" },
		{ line: 9, command: "ls # all\n", output: "c\n" },
	]);
});

function typedIn(text: string): Typed[] {
	return blocksOf(text).flatMap(({ info, line, body }, index, all) => {
		if (info === "console") {
			return body.split(/^\$ /m).flatMap((each) => {
				const [, command = "", output = ""] = /^(.*(?:\n> ?.*)*)\n([\s\S]*)$/.exec(each) ?? [];
				return each === "" ? [] : [{ line, command: command.replace(/\n> ?/g, "\n"), output }];
			});
		}
		const left = leftOut(body);
		const command = body.split("\n").filter((each) => !left.includes(each));
		if (info !== "sh" || command.join("").trim() === "") return [];
		const after = all[index + 1];
		return [{ line, command: command.join("\n"), output: after?.info === "text" ? after.body : undefined }];
	});
}

/** The lines of a block that are not run, for a reason. */
function leftOut(body: string): string[] {
	return body.split("\n").filter((each) => notRun.some(({ command }) => command.test(each)));
}

/** What a person would see: both streams, as they come. A command that fails fails the README, unless that is caught. */
function shell(command: string, cwd: string): Promise<string> {
	const bin = join(home, "bin");
	mkdirSync(bin, { recursive: true });
	writeFileSync(join(bin, "reyn"), `#!/bin/sh\nexec ${[process.execPath, ...reyn].map(quoted).join(" ")} "$@"\n`);
	chmodSync(join(bin, "reyn"), 0o755);
	const { NODE_OPTIONS: _options, FORCE_COLOR: _color, ...inherited } = process.env;
	const env = {
		...inherited,
		NO_COLOR: "1",
		PATH: `${bin}:${process.env.PATH}`,
		TMPDIR: home,
		XDG_STATE_HOME: join(home, "own"),
	};
	const script = `set -e\nexec 2>&1\n${command.replaceAll(`npx -y ${packageManager} reyn`, "reyn")}`;
	return new Promise((resolve, reject) => {
		execFile("sh", ["-c", script], { cwd, env, timeout: 120_000 }, (error, stdout) =>
			error ? reject(new Error(`${command} ended with ${error.code}\n${stdout}`)) : resolve(stdout),
		);
	});
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

const runName = /\b[rs][0-9a-f]{8}\b/g;

/** In the order in which they are first named. */
const runsIn = (text: string): string[] => [...new Set(text.match(runName))];

const renamed = (command: string, names: ReadonlyMap<string, string>): string =>
	command.replace(runName, (name) => names.get(name) ?? name);

/** What is another in each run is alike: ids, hashes, times, and where it runs. */
function alike(text: string): string {
	return text
		.replaceAll(home, "/home")
		.replace(/\bprocess \d+/g, "process N")
		.replace(runName, "RUN")
		.replace(/\b([0-9a-f]{32}|[0-9a-f]{64})\b/g, "ID")
		.replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z)?/g, "TIME")
		.replace(/\b\d+(\.\d+)? (ms|s)\b/g, "TIME");
}
