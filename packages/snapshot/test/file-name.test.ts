/** A name of anything is one component of a path, on any file system, and no two share one. */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asFileName } from "../src/file-name.ts";

const hostile: readonly string[] = [
	...[
		"",
		".",
		"..",
		"...",
		"a.",
		"a..",
		" ",
		"a ",
		" a",
		"../../etc",
		"/",
		"/etc",
		"a/b",
		"a\\b",
		"..\\a",
		"C:",
		"c:a",
	],
	...["con", "CON", "Con", "nul.txt", "NUL.TXT", "aux", "com1", "lpt9.log", "com¹", "con.", "clock$"],
	...[
		"a\0b",
		"a\nb",
		"a\rb",
		"a\tb",
		"\x1b[2J",
		"\x7f",
		"a:b",
		"a*b",
		"a?b",
		'a"b',
		"a<b",
		"a>b",
		"a|b",
		"a~b",
		"a%2fb",
	],
	...["Writer", "writer", "WRITER", "wRiter", "ſ", "s", "S", "K", "k", "ı", "i", "I", "İ"],
	...["é", "e\u0301", "あ", "あ".repeat(36), "あ".repeat(37), "🦊".repeat(100), "\ud800", "\ud801", "\ufffd"],
	...[
		"a".repeat(255),
		"a".repeat(256),
		"a".repeat(257),
		`${"a".repeat(255)}b`,
		"-",
		"_",
		"-rf",
		"my agent",
		"my-agent",
	],
];

/** As a file system may see them that folds case, and takes letters apart or together. */
const folded = (name: string): string => name.normalize("NFKC").toUpperCase().toLowerCase();

describe("the name of a file", () => {
	test.each(["default", "p12", "r0a1b2c3d", "my-agent_2.v1", ".hidden", "context", "-", "a".repeat(255)])(
		"is the name itself where that is plain: %s",
		(name) => expect(asFileName(name)).toBe(name),
	);

	test("says to people whose it is, where it is not", () => {
		expect(asFileName("Old Writer")).toMatch(/^Old-Writer~[0-9a-f]{32}$/);
		expect(asFileName("../../etc")).toMatch(/^etc~[0-9a-f]{32}$/);
		expect(asFileName("あ".repeat(36))).toMatch(/^~[0-9a-f]{32}$/);
	});

	test("is plain, short enough and kept back by no system, whatever the name is", () => {
		for (const name of hostile) {
			const file = asFileName(name);
			expect([name, file]).toEqual([name, expect.stringMatching(/^[\w.~-]{1,255}$/)]);
			expect([name, file]).toEqual([name, expect.not.stringMatching(/\.$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i)]);
		}
	});

	test("is that of one name alone, also where case is folded", () => {
		const files = new Map(hostile.map((name) => [folded(asFileName(name)), name]));
		expect(files.size).toBe(hostile.length);
	});

	test("is taken by a real directory", async () => {
		const directory = await mkdtemp(join(tmpdir(), "reyn-names-"));
		for (const name of hostile) await writeFile(join(directory, asFileName(name)), name, { flag: "wx" });
		expect((await readdir(directory)).sort()).toEqual(hostile.map((name) => asFileName(name)).sort());
		await rm(directory, { recursive: true });
	});
});
