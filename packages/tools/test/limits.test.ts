/** What a search and a walk may use at most, whatever they are pointed at. */
import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Tool } from "@reyn/journal";
import { systemTimers, type Timers } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Effort, type Limits } from "../src/effort.ts";
import { defaultLimits, fileToolsOver } from "../src/file-tools.ts";
import { maxPatterns, parseIgnoreFile, verdict } from "../src/gitignore.ts";
import { KeptLines } from "../src/kept-lines.ts";
import { openRoot } from "../src/root-directory.ts";
import { type ScannedFile, scanText } from "../src/scan-text.ts";

let root: string;

beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-limits-"));
});

afterEach(async () => {
	await rm(root, { recursive: true });
});

async function files(contents: Readonly<Record<string, string>>): Promise<void> {
	for (const [path, content] of Object.entries(contents)) {
		await mkdir(dirname(join(root, path)), { recursive: true });
		await writeFile(join(root, path), content);
	}
}

const { signal } = new AbortController();
const never: Timers = { after: () => () => {} };

const effortOf = (limits: Partial<Limits> = {}, of = signal, timers = never) =>
	new Effort({ ...defaultLimits, ...limits }, of, timers);

function call(name: string, args: unknown, limits: Partial<Limits> = {}, of = signal, timers = never): Promise<string> {
	const tools = fileToolsOver({
		maxFileBytes: 1_000_000,
		root: () => openRoot(root),
		effort: (its) => effortOf(limits, its, timers),
	});
	return (tools.find((each) => each.name === name) as Tool).call(args, { signal: of }).then(String);
}

describe("a search", () => {
	test("keeps copies of the lines it found, and not the files they are from", async () => {
		const program = join(import.meta.dirname, "kept-text.ts");
		const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@reyn/source", program]);
		const { bytes, last } = JSON.parse(stdout);
		expect(bytes / 1e6).toBeLessThan(10);
		expect(last).toEqual([
			{ number: 1, text: "the needle lies at the beginning of a long file", strengths: [1], bonus: expect.any(Number) },
		]);
	});

	test("keeps at most 400 characters of a line, around the word", async () => {
		const scanned = await scanText("a.txt", `${"x ".repeat(5_000)}needle${" y".repeat(5_000)}`, ["needle"], effortOf());
		expect(scanned?.lines[0]?.text).toContain("needle");
		expect(scanned?.lines[0]?.text.length).toBeLessThanOrEqual(400);
	});

	test("keeps fewer lines of each file when many files have some, in whatever order they come", () => {
		const file = (path: string, count: number): ScannedFile => ({
			path,
			kind: "source",
			lines: Array.from({ length: count }, (_, n) => ({ number: n, text: "x".repeat(100), strengths: [1], bonus: 0 })),
			tally: new Map(),
			inPath: [],
		});
		const all = Array.from({ length: 40 }, (_, n) => file(`f${n}`, n % 2 === 0 ? 60 : 2));
		const sizes = (order: readonly ScannedFile[]) => {
			const kept = new KeptLines(100_000);
			expect(order.map((each) => kept.add(each))).not.toContain(false);
			return Object.fromEntries(kept.files.map(({ path, lines }) => [path, lines.length]));
		};
		const found = sizes(all);
		expect(found).toEqual(sizes(all.toReversed()));
		expect(found).toMatchObject({ f0: 15, f1: 2, f38: 15, f39: 2 });
		const tight = new KeptLines(1_000);
		expect([
			tight.add(file("a", 60)),
			tight.add(file("b", 60)),
			tight.add(file("c", 60)),
			tight.add(file("d", 60)),
		]).toEqual([true, true, true, false]);
	});

	test("reads so many bytes at most, and says where it stopped", async () => {
		await files(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}.txt`, `needle ${"x".repeat(993)}`])));
		const found = await call("search", { query: "needle" }, { maxBytes: 4_500 });
		expect(found).toMatch(/^4 lines in 4 files \(4 files searched, then the search stopped\)/);
		expect(found).toMatch(
			/\nStopped after reading 4\.0 KB; for the rest give a narrower "path", a directory or a file$/,
		);
	});

	test("ends when its time is over, with what it has", async () => {
		await files({ "a.txt": "needle\n".repeat(3_000), "b/b.txt": "needle" });
		let over = () => {};
		const timers: Timers = {
			after(ms, run, keepsAlive) {
				expect([ms, keepsAlive]).toEqual([5_000, false]);
				over = run;
				return () => {};
			},
		};
		const found = call("search", { query: "needle" }, { maxMs: 5_000 }, signal, timers);
		over();
		expect(await found).toMatch(/then the search stopped[\s\S]*\nStopped after 5 s; /);
	});

	test("gives the rest of the process its turn within one file, and hears there that it is given up", async () => {
		const given = new AbortController();
		const reason = new Error("enough");
		setImmediate(() => given.abort(reason));
		const text = "needle\n".repeat(20_000);
		await expect(scanText("a.txt", text, ["needle"], effortOf({}, given.signal))).rejects.toBe(reason);
	});

	test("in a file of ever new kinds of lines it counts the lines, and no more than 500 kinds and 24", async () => {
		const terms = Array.from("abcdefghijkl", (letter) => letter.repeat(4));
		const lines = Array.from({ length: 4_095 }, (_, n) => terms.filter((_, t) => ((n + 1) & (1 << t)) !== 0).join(" "));
		const scanned = await scanText("a.txt", lines.join("\n"), terms, effortOf());
		expect(scanned?.tally.size).toBeLessThanOrEqual(524);
		expect([...(scanned?.tally.values() ?? [])].reduce((total, n) => total + n, 0)).toBe(4_095);
	});
});

describe("a .gitignore", () => {
	test("counts with its first 1,000 patterns, and the answer says so", async () => {
		const patterns = Array.from({ length: maxPatterns + 36 }, (_, n) => `*.${n}`);
		await files({
			".gitignore": `# many\n\n${patterns.join("\n")}\n${"y".repeat(501)}\n`,
			"a.999": "x",
			"a.1000": "x",
		});
		const listed = await call("list", {});
		expect(listed).toContain("\na.1000  ");
		expect(listed).not.toContain("\na.999  ");
		const said = ".gitignore: 36 patterns not used (the first 1,000 are, of up to 500 characters)";
		expect(listed.split("\n").at(-1)).toBe(said.replace("36", "37"));
		expect((await call("search", { query: "x" })).split("\n").at(-1)).toBe(said.replace("36", "37"));
	});

	test("is read up to 256 KB, and the answer says so", async () => {
		await files({ ".gitignore": `a.txt\n${"#\n".repeat(200_000)}b.txt\n`, "a.txt": "", "b.txt": "" });
		const listed = await call("list", {});
		expect(listed).toContain("\nb.txt  ");
		expect(listed).not.toContain("\na.txt  ");
		expect(listed).toContain("\n.gitignore is larger than 256 KB; what comes behind is not used");
	});

	test("that costs too much for its walk ends the walk, and nothing that it may name is shown", async () => {
		const greedy = `${"*a".repeat(20)}b`;
		await files({
			".gitignore": `*.secret\n${`${greedy}\n`.repeat(50)}`,
			"z.secret": "x",
			[`${"a".repeat(100)}`]: "x",
		});
		const listed = await call("list", {}, { maxCompared: 5_000 });
		expect(listed).not.toContain("z.secret");
		expect(listed).toContain("Stopped after comparing too many names with too many patterns of .gitignore files");
	});

	test("is compared in turns with the rest of the process, and that can be given up", async () => {
		const file = parseIgnoreFile(`${"*a*".repeat(100)}b\n`.repeat(900));
		const given = new AbortController();
		const reason = new Error("enough");
		setImmediate(() => given.abort(reason));
		const effort = effortOf({ maxCompared: Number.POSITIVE_INFINITY }, given.signal);
		await expect(verdict(file, ["a".repeat(250)], false, effort)).rejects.toBe(reason);
	});

	test("takes work that grows with pattern × path, not with their powers", async () => {
		const { patterns, ...rest } = parseIgnoreFile(`${"**/a*a*/".repeat(20)}*a*b\n${"*a".repeat(200)}b\n`);
		let steps = 0;
		const counting = effortOf();
		counting.compared = (more) => {
			steps += more;
			return false;
		};
		const path = Array.from({ length: 60 }, () => "a".repeat(60));
		expect(await verdict({ patterns, ...rest }, path, false, counting)).toBeUndefined();
		expect(steps).toBeLessThan(600 * 3_600);
	});

	const said = async (patterns: readonly string[], path: string): Promise<string | undefined> =>
		await verdict(
			parseIgnoreFile(patterns.join("\n")),
			path.replace(/\/$/, "").split("/"),
			path.endsWith("/"),
			effortOf(),
		);

	test.each([
		["a", ["a", "x/a", "a/"], ["ab", "a.b"]],
		["a/", ["a/", "x/a/"], ["a", "x/a"]],
		["/a", ["a"], ["x/a"]],
		["a/b", ["a/b"], ["x/a/b", "a/b/c"]],
		["*.log", ["a.log", ".log", "x/a.log"], ["a.logs", "log"]],
		["a*b?", ["abc", "axxbc"], ["ab", "a/bc"]],
		["*a*b*", ["ab", "xaxbx"], ["ba"]],
		["**/a", ["a", "x/a", "x/y/a"], ["xa"]],
		["a/**", ["a/x", "a/x/y"], ["a", "b/a/x"]],
		["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/x", "ab"]],
		["[a-c]x", ["ax", "bx"], ["dx", "x"]],
		["[!a-c]x", ["dx"], ["ax"]],
		["[]-]x", ["]x", "-x"], ["ax"]],
		["[a", [], ["[a", "a"]],
		["\\!a", ["!a"], ["a"]],
		["\\#a", ["#a"], ["a"]],
		["#a", [], ["#a", "a"]],
		["a\\*", ["a*"], ["ab"]],
		["a  ", ["a"], ["a  "]],
		["a\\ ", ["a "], ["a"]],
		["", [], ["a"]],
	])("%j is about %j and not about %j", async (pattern, about, others) => {
		for (const path of about) expect([path, await said([pattern], path)]).toEqual([path, "ignored"]);
		for (const path of others) expect([path, await said([pattern], path)]).toEqual([path, undefined]);
	});

	test("the last pattern that is about a name decides", async () => {
		expect(await said(["*.log", "!a.log"], "a.log")).toBe("kept");
		expect(await said(["!a.log", "*.log"], "a.log")).toBe("ignored");
	});
});

describe("a walk ends", () => {
	test("in a directory of many entries, at the limit that counts directories and links too", async () => {
		for (let n = 0; n < 30; n++) await mkdir(join(root, `d${n}`));
		await symlink(root, join(root, "link"));
		const listed = await call("list", { depth: 1 }, { maxFiles: 20 });
		expect(listed.split("\n")).toHaveLength(22);
		expect(listed).toContain("Stopped after 20 files and directories; ");
	});

	test("in a tree deeper than 64, which it says it could not read, and at links that lead round in circles", async () => {
		const deep = "d/".repeat(70);
		await files({ [`${deep}a.txt`]: "needle", "b.txt": "needle" });
		await symlink("..", join(root, "d/up"));
		await symlink("loop", join(root, "loop"));
		expect(await call("search", { query: "needle" })).toMatch(/^1 line in 1 file [\s\S]*Not searched: 1 unreadable$/);
		expect(await call("list", {})).toContain("1 directories could not be read");
		expect(await call("read", { path: `${deep}a.txt` })).toContain("1| needle");
	});

	test("behind the first entries of a directory that has more than anybody looks at, which is said", async () => {
		await files(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}.txt`, ""])));
		const effort = effortOf();
		const top = await (await openRoot(root)).directory([]);
		expect((await top.entries(effort, 5)).files).toHaveLength(5);
		expect(effort.remarks()).toEqual(["the root has more than 5 entries; the others were not looked at"]);
		await top.close();
	});

	test.runIf(process.platform === "linux")("past pipes", async () => {
		execFileSync("mkfifo", [join(root, "pipe"), join(root, ".gitignore")]);
		await files({ "b.txt": "needle" });
		expect(await call("search", { query: "needle" }, {}, signal, systemTimers)).toMatch(/^1 line in 1 file/);
		expect(await call("list", {})).toBe("the root: 1 file (1 .txt)\nb.txt  6 B, 1 line");
	});
});
