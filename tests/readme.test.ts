/** The READMEs keep their word: each example runs and prints what stands below it, each error code is explained, each link leads to a file. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reyn } from "./cli.ts";
import { blocksOf, expected, packages, pages, pattern, type Readme, read, readmes } from "./markdown.ts";
import { some } from "./sample.ts";
import { root } from "./workspace.ts";

/** A reader has what is built. Without a build before, it may be of another day. */
const ofWhatWasBuilt = process.env.REYN_BUILT === "1" ? [] : ["--conditions=@reyn/source"];

const NODE_FLOOR = "22.18";
const MAX_LINES = 130;
const FIRST_CODE_BY_LINE = 40;
const TIMEOUT_MS = 120_000;

interface Example {
	readonly readme: string;
	readonly line: number;
	readonly code: string;
	/** The packages that the reader was told to install. */
	readonly installs: readonly string[];
	/** Where it is laid out. */
	readonly file: string;
	/** False for a block marked `ts no-run`: it is type-checked only. */
	readonly runs: boolean;
	/** The `text` block that comes next; absent where the next block is something else. */
	readonly output: string | undefined;
}

const workshop = join(tmpdir(), `reyn-readme-${randomUUID()}`);
const examples = [...readmes, ...pages].flatMap(examplesOf);
const tried = some(
	examples.filter(({ runs }) => runs),
	3,
);
beforeAll(() => examples.forEach(layOut));
afterAll(() => rmSync(workshop, { recursive: true, force: true }));

test("every package has a README", () => {
	expect(expected.filter((path) => !existsSync(path))).toEqual([]);
});

test("a README leads to each page of its package", () => {
	const unknown = pages.filter(({ dir, name }) => {
		const { text } = read(join(dirname(dir), "README.md"));
		return !text.includes(`](docs/${basename(name)})`);
	});
	expect(unknown.map(({ name }) => name)).toEqual([]);
});

describe.each(readmes)("$name", ({ dir, text }) => {
	test("names its Node floor", () => {
		expect(text).toContain(NODE_FLOOR);
	});

	test("explains, with its pages, each error code of its package under a heading of its own, and no other", () => {
		const own = pages.filter((page) => dirname(page.dir) === dir).map((page) => page.text);
		const headings = [text, ...own].flatMap((each) =>
			[...each.matchAll(/^### ([A-Z][A-Z0-9_]+)$/gm)].map(([, code = ""]) => code),
		);
		if (own.length === 0) expect(headings).toEqual(headings.toSorted());
		expect(headings.toSorted()).toEqual(errorCodes(join(dir, "src")));
	});
});

describe.each([...readmes, ...pages])("$name", ({ name, dir, text }) => {
	test("is short, and shows code on the first screen", () => {
		// A list of names is looked up in, and not read.
		const read = text.replace(/^## Exports\n[^#]*?(?=^MIT licence\.)/m, "");
		expect(read.trimEnd().split("\n").length).toBeLessThanOrEqual(MAX_LINES);
		expect(blocksOf(text)[0]?.line).toBeLessThanOrEqual(FIRST_CODE_BY_LINE);
	});

	test("links to files that are there", () => {
		const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target.replace(/#.*$/, ""));
		const local = targets.filter((target) => target !== "" && !/^[a-z]+:/.test(target));
		expect(local.filter((target) => !existsSync(join(dir, target)))).toEqual([]);
	});

	test.for(tried.filter(({ readme }) => readme === name))(
		"runs its example of line $line, which prints what stands below it",
		async ({ file, output }) => {
			expect(output, "an example is followed by a text block with what it prints").toBeDefined();
			const printed = await run([...ofWhatWasBuilt, file], dirname(file));
			if (!pattern(output ?? "").test(printed)) expect(printed).toBe(output);
		},
	);
});

test("every example is sound TypeScript", async () => {
	const config = {
		extends: join(root, "tsconfig.base.json"),
		compilerOptions: {
			typeRoots: [join(root, "node_modules", "@types")],
			// What was built is what a reader of the README installs.
			...(process.env.REYN_BUILT === "1" && { customConditions: [] }),
		},
		files: examples.map(({ file }) => relative(workshop, file)),
	};
	writeFileSync(join(workshop, "tsconfig.json"), JSON.stringify(config));
	const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
	expect(await run([tsc, "--pretty", "false", "-p", workshop], workshop)).toBe("");
});

test("the command line's README names each command and each exit code", async () => {
	const cli = join(root, "apps", "cli");
	const text = readFileSync(join(cli, "README.md"), "utf8");
	const help = await run([...reyn, "--help"], workshop);
	const listed = help.slice(help.indexOf("Commands:"), help.indexOf("Exit codes:"));
	const commands = [...listed.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name).filter((name) => name !== "help");
	expect(commands.length).toBeGreaterThan(0);
	const rows = text.split("\n").flatMap((line) => (line.startsWith("| `reyn ") ? [line.split(" | ")[0] ?? ""] : []));
	expect(commands.filter((name) => !rows.some((row) => row.includes(`\`reyn ${name}\``)))).toEqual([]);

	const [, table = ""] = /exitCodes = \{([^}]*)\}/.exec(readFileSync(join(cli, "src", "exit-codes.ts"), "utf8")) ?? [];
	const codes = [...table.matchAll(/: (\d+),/g)].map(([, code]) => code);
	expect([...text.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => code)).toEqual(codes);
});

// The reading is itself checked, in memory.
test("blocks are read with their lines, and an example with the text block that comes next", () => {
	const text = "a\n```ts\nlet a;\nlet b;\n```\nwhich prints\n```text\n1\n```\n```sh\nls\n```\n";
	expect(blocksOf(text)).toEqual([
		{ info: "ts", line: 2, body: "let a;\nlet b;\n" },
		{ info: "text", line: 7, body: "1\n" },
		{ info: "sh", line: 10, body: "ls\n" },
	]);
});

test("an ellipsis stands for a part of a line, or alone for any lines; all else is compared to the letter", () => {
	expect(pattern("id …, done.\n").test("id 7f3a, done.\n")).toBe(true);
	expect(pattern("id …, done.\n").test("id 7f\n3a, done.\n")).toBe(false);
	expect(pattern("a\n…\nb\n").test("a\n1\n2\nb\n")).toBe(true);
	expect(pattern("a\n…\nb\n").test("a\nb\n")).toBe(true);
	expect(pattern("a.b\n").test("a-b\n")).toBe(false);
	expect(pattern("a\n").test("a\nb\n")).toBe(false);
});

test("install lines are read without their flags and versions", () => {
	const text = "```sh\nnpm install @reyn/wal zod\nnpm i -D @types/node@22\npnpm add @reyn/plan@^1\nnpx install x\n```";
	expect(installed(text)).toEqual(["@reyn/wal", "zod", "@types/node", "@reyn/plan"]);
});

function examplesOf({ name, text }: Readme): Example[] {
	const blocks = blocksOf(text);
	return blocks.flatMap(({ info, line, body }, i) => {
		if (info !== "ts" && info !== "ts no-run") return [];
		const after = blocks[i + 1];
		return {
			readme: name,
			line,
			code: body,
			installs: installed(text),
			file: join(workshop, name.replace(/\W/g, "-"), `line-${line}.ts`),
			runs: info === "ts",
			output: after?.info === "text" ? after.body : undefined,
		};
	});
}

/** What a README's install line names is all that its examples find, as in a fresh folder of a stranger's. */
function layOut({ file, code, installs }: Example): void {
	const home = dirname(file);
	mkdirSync(home, { recursive: true });
	writeFileSync(join(home, "package.json"), '{ "type": "module" }\n');
	writeFileSync(file, code);
	for (const name of installs) install(name, join(home, "node_modules", name));
}

/** The packages that a README tells its reader to install. */
function installed(text: string): string[] {
	const lines = text.matchAll(/^\s*(?:npm (?:install|i)|pnpm add)\s([^#\n]*)/gm);
	return [...lines]
		.flatMap(([, words = ""]) => words.trim().split(/\s+/))
		.filter((word) => !word.startsWith("-"))
		.map((word) => word.replace(/(.)@.*$/, "$1"));
}

/** Ours come from here; of the others one of our packages has to have a copy, and that is the one that is tried. */
function install(name: string, at: string): void {
	if (existsSync(at)) return;
	const ours = packages.find(({ manifest }) => manifest.name === name)?.dir;
	const copies = packages.map(({ dir }) => join(dir, "node_modules", name)).filter((path) => existsSync(path));
	const source = ours ?? copies[0];
	if (source === undefined) throw new Error(`no package here depends on "${name}", so no example can be tried with it`);
	mkdirSync(dirname(at), { recursive: true });
	symlinkSync(source, at, "junction");
}

/** The codes of a package, in order, which stand in one `errors.ts`, wherever it lies; a package without one has none. */
function errorCodes(src: string): string[] {
	const found = existsSync(src) ? readdirSync(src, { recursive: true, encoding: "utf8" }) : [];
	const name = found.find((each) => basename(each) === "errors.ts");
	if (name === undefined) return [];
	const path = join(src, name);
	const [, union] = /export type \w+Code =([^;]+);/.exec(readFileSync(path, "utf8")) ?? [];
	if (union === undefined) throw new Error(`${path} has no \`export type …Code =\``);
	return [...union.matchAll(/"([^"]+)"/g)].map(([, code = ""]) => code).sort();
}

/** Gives stdout; rejects with stderr too when the process fails. What it writes to a temporary directory goes with the workshop. */
async function run(args: readonly string[], cwd: string): Promise<string> {
	const { NODE_OPTIONS: _options, FORCE_COLOR: _color, ...inherited } = process.env;
	const env = { ...inherited, NO_COLOR: "1", TMPDIR: workshop, TEMP: workshop, TMP: workshop };
	const ran = promisify(execFile)(process.execPath, args, { cwd, env, timeout: TIMEOUT_MS });
	const { stdout } = await ran.catch((error: Error & { readonly stdout?: string }) => {
		throw new Error(`${error.message}\n${error.stdout ?? ""}`, { cause: error });
	});
	return stdout;
}
