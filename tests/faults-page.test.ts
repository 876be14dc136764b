/** docs/faults.md says what is so: its made parts are those of the faults, and each of its commands names a test that is there. */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { faultsPage, faultsPath } from "../tools/faults-page.ts";
import { defects } from "./faults/defects.ts";
import { faults } from "./faults/index.ts";
import { folderOf } from "./faults/planted/defect.ts";
import { commandsIn, listTestFiles, type TestFile, titlesIn, wrongWith } from "./vitest-commands.ts";
import { findPackages, root } from "./workspace.ts";

const page = readFileSync(faultsPath, "utf8").replaceAll("\r\n", "\n");
const testFiles = listTestFiles();

test("its lists of faults, rows and planted defects are those of the faults", () => {
	expect(page, "run: npx -y pnpm@12.21.0 faults --page").toBe(faultsPage(page));
});

test("a part that was changed by hand is made again, and one without its marks is missed", () => {
	expect(faultsPage(page.replace("| `kill` |", "| `kiln` |"))).toBe(page);
	expect(() => faultsPage(page.replace("<!-- made: rows -->\n", ""))).toThrow(
		"the made parts faults, defects; expected",
	);
});

test("each fault that a row of its tables names is there", () => {
	expect(strangeFaultsIn(page)).toEqual([]);
	expect(strangeFaultsIn("| B1 | a log of another | `mutat` (`all lines`) | mended |")).toEqual(["mutat"]);
	expect(strangeFaultsIn("| 1 | killed | by hand | all is there | seen | `kil --rounds 2` |")).toEqual(["kil"]);
});

test("each vitest command names a project, a file and a title that are there", () => {
	const commands = commandsIn(page);
	expect(commands.length).toBeGreaterThan(200);
	expect(staleIn(page)).toEqual([]);
});

test("each planted defect has its place in the source, once, and is a program, and its test is there", () => {
	const names = new Set(faults.map(({ name }) => `faults ${name}`));
	const stale = defects.flatMap(({ name, package: of, file, from, to, tests }) => {
		const source = readFileSync(join(root, folderOf(of), "src", file), "utf8").replaceAll("\r\n", "\n");
		const places = source.split(from).length - 1;
		const gone = tests.filter((each) => !names.has(each) && !isTestFile(each));
		return [
			...(places === 1 ? [] : [`${name}: ${places} places`]),
			...(isProgram(source.split(from).join(to)) ? [] : [`${name}: no program`]),
			...gone.map((each) => `${name}: no ${each}`),
		];
	});
	expect(stale).toEqual([]);
	expect(isProgram("const a = (")).toBe(false);
});

test("each layer has a planted defect", () => {
	const layers = findPackages().map(({ dir }) => relative(root, dir).replaceAll("\\", "/"));
	const planted = new Set(defects.map(({ package: of }) => folderOf(of)));
	expect(layers.filter((layer) => !planted.has(layer))).toEqual(["apps/site"]);
});

describe("the reading of commands", () => {
	test.each([
		["a project", "`vitest run --project @reyn/attic wal`", "no project is called @reyn/attic"],
		["a file", "`REYN_RUNS=2 vitest run --project @reyn/wal log-file attic`", "no file is called attic"],
		[
			"a file by its path",
			"`vitest run packages/wal/test/attic.test.ts`",
			"no file is called packages/wal/test/attic.test.ts",
		],
		["a title", '`vitest run --project @reyn/wal log-file -t "no such thing"`', "no test is called no such thing"],
		[
			"a title of another file",
			'`vitest run --project reyn-tests layers -t "are numbered"`',
			"no test is called are numbered",
		],
		[
			"each alternative of a title",
			'`vitest run --project reyn-tests layers -t "no such\\|nor such"`',
			"no test is called no such|nor such",
		],
		[
			"what a second command leaves out",
			'`vitest run --project reyn-tests layers -t siblings`, `… docs -t "no such"`, `… -t "nor such"`',
			"no test is called no such; no test is called nor such",
		],
	])("%s that is not there is reported", (_what, cell, report) => {
		expect(staleIn(`| a promise | ${cell} |`).map((each) => each.split(": ")[1])).toEqual(report.split("; "));
	});

	test("what is there is found, by a part of it, by a pattern, or where a second command leaves out the first one's words", () => {
		const row =
			'`vitest run --project reyn-tests layers -t "siblings (?:never\\|always)"`, `… docs`, `… -t "is short"`, `… @reyn/wal log-file`, `pnpm exec vitest run tests/docs.test.ts`';
		expect(commandsIn(row)).toHaveLength(5);
		expect(staleIn(row)).toEqual([]);
	});

	test("titles are the first words of tests, groups and rows, and nothing else", () => {
		const source = `
import { x } from "./not.ts";
describe("a group", () => {
	test("a test's own", () => expect(f("not")).toBe("not"));
	test.skipIf(isSlow)(\`a skipped one, by a template\`, () => {});
	test.each([
		["a row", 1],
	])("%s has a hole", () => {});
	test(
		"below its call",
		() => {},
	);
});
`;
		expect(titlesIn(source).toSorted()).toEqual(
			[
				"%s has a hole",
				"a group",
				"a row",
				"a test's own",
				"a skipped one, by a template",
				"below its call",
			].toSorted(),
		);
	});
});

/** A row of the matrix ends with its command, one of the bugs has what became of it behind that. */
function strangeFaultsIn(text: string): string[] {
	const names = faults.map(({ name }) => name);
	const commands = text.split("\n").flatMap((line) => {
		const cells = line.split(/(?<!\\)\|/).slice(1, -1);
		return /^ \d+ $/.test(cells[0] ?? "")
			? cells.slice(-1)
			: /^ B\d+ $/.test(cells[0] ?? "")
				? cells.slice(-2, -1)
				: [];
	});
	const firsts = commands.flatMap((cell) => /^ `([a-z-]+)(?= [^`]*`|`)/.exec(cell)?.[1] ?? []);
	return firsts.filter((name) => !names.includes(name) && !["vitest", "pnpm"].includes(name));
}

function staleIn(text: string): string[] {
	return commandsIn(text).flatMap((command) => {
		const wrong = wrongWith(command, testFiles);
		return wrong === undefined ? [] : [`${command.text}: ${wrong}`];
	});
}

/** What cannot even be read turns every test red, and says nothing of them. */
function isProgram(source: string): boolean {
	try {
		return stripTypeScriptTypes(source) !== "";
	} catch {
		return false;
	}
}

/** `wal log-file` is of wal, `journal order/to-pay` of journal. */
function isTestFile(named: string): boolean {
	const [of = "", part = ""] = named.split(" ");
	return testFiles.some((file: TestFile) => file.project === `@reyn/${of}` && file.path.includes(part));
}
