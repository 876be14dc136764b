/** `files`: what differs from what files held, who changed them, and what is not covered, in plain lines and as JSON. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileVersion, type Model, type Tool } from "@reyn/journal";
import { openRuntime, type Runtime } from "@reyn/runtime";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { carryOut, type Desk, documentSchema, type ReadVerb, type WriteVerb } from "../src/index.ts";
import { asJson, clean } from "../src/text.ts";
import { say, verbOf } from "./house.ts";

let root: string;
let runtime: Runtime;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-files-"));
	await mkdir(join(root, "work"));
	runtime = await openRuntime({
		state: join(root, "state"),
		model,
		tools: [...createFileTools(join(root, "work"), { writes: true }), careless],
		files: createWorkFiles(join(root, "work")),
	});
});
afterEach(async () => {
	await runtime.close();
	await rm(root, { recursive: true });
});

/** Makes the calls that it is asked for. */
const model: Model = {
	id: "obedient",
	async *generate({ messages }) {
		const last = messages.at(-1);
		if (last?.role !== "user") yield { type: "text", text: "done" };
		else
			for (const [at, [name, args]] of (JSON.parse(last.text) as [string, object][]).entries())
				yield { type: "toolCall", call: { id: `${at}`, name, args } };
		yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
	},
};

const put = (path: string, content: string | Uint8Array) => writeFile(join(root, "work", path), content);

/** A tool of somebody else, which takes any name: ours takes none with control characters. */
const careless: Tool = {
	...{ name: "put", description: "Puts a file", parameters: { type: "object" }, purity: "side_effect" },
	async prepare(args) {
		const { path, text } = args as { readonly path: string; readonly text: string };
		return { path, before: null, after: fileVersion(Buffer.from(text)) };
	},
	async call(args) {
		const { path, text } = args as { readonly path: string; readonly text: string };
		await put(path, text);
		return "it is there";
	},
};

/** Has calls made; a `remove` is given the version that there is. */
async function make(
	...calls: readonly (readonly [name: string, args: Readonly<Record<string, unknown>> & { readonly path: string }])[]
): Promise<void> {
	const whole = calls.map(async ([name, args]) => {
		const version = async () => fileVersion(await readFile(join(root, "work", args.path)));
		return [name, name === "remove" ? { ...args, version: await version() } : args];
	});
	await runtime.prompt(JSON.stringify(await Promise.all(whole)));
	await runtime.idle();
}

async function look(ref = "0") {
	const verb = verbOf("files") as ReadVerb;
	const found = await verb.read(runtime, { ref });
	documentSchema(verb).parse(JSON.parse(asJson(found)));
	return { found, lines: verb.lines(found, say, { ref }) };
}

test("a file that was made, changed or removed is shown with who did it and what differs; what is as before is named alone", async () => {
	await put("a.ts", "one\n\ttwo\nthree\n");
	await put("old.md", "old\n");
	await put("same.md", "same\n");
	await make(
		["edit", { path: "a.ts", old: "two", new: "2" }],
		["edit", { path: "same.md", old: "same", new: "other" }],
	);
	await make(["remove", { path: "old.md" }], ["write", { path: "new.md", text: "new" }]);
	await make(
		["edit", { path: "same.md", old: "other", new: "same" }],
		["edit", { path: "a.ts", old: "three", new: "3" }],
	);
	expect((await look()).lines).toEqual([
		"since the beginning: 3 files",
		"~ a.ts  changed by default/main turn 2 (#4), default/main turn 24 (#28)",
		"    @@ -1,3 +1,3 @@",
		"     one",
		"    -\ttwo",
		"    -three",
		"    +\t2",
		"    +3",
		"+ new.md  made by default/main turn 13 (#17)",
		"    @@ -1,0 +1,1 @@",
		"    +new",
		"    \\ No newline at end of file",
		"- old.md  removed by default/main turn 13 (#15)",
		"    @@ -1,1 +1,0 @@",
		"    -old",
		"changed, and as before: same.md",
	]);
	const { lines, found } = await look("13");
	expect(lines[0]).toBe("since #13: 4 files");
	expect(found).toMatchObject({ since: 13, through: runtime.wal.tip, asBefore: [], uncovered: [] });
	expect((await look("@")).lines).toEqual([`since #${runtime.wal.tip}: no file differs`]);
});

test("of a file that somebody else has removed since no tool is said to have done it", async () => {
	await put("a.md", "one\n");
	await make(["edit", { path: "a.md", old: "one", new: "two" }]);
	await rm(join(root, "work/a.md"));
	const { lines } = await look();
	expect(lines[1]).toBe("- a.md  removed by somebody else, after default/main turn 2 (#4)");
});

test("what somebody else has changed is said so, and what cannot be told is said to be unknown; the rest goes on", async () => {
	for (const path of ["a.md", "b.md", "c.md"]) await put(path, "one\n");
	const change = (path: string) => ["edit", { path, old: "one", new: "two" }] as const;
	await make(change("a.md"), change("b.md"), change("c.md"));
	await put("a.md", "theirs\n");
	await rm(join(root, "work/b.md"));
	await mkdir(join(root, "work/b.md"));
	const { lines, found } = await look();
	expect(lines.slice(0, 6)).toEqual([
		"since the beginning: 3 files",
		"~ a.md  changed by default/main turn 2 (#4)",
		"    changed since by somebody else",
		"    @@ -1,1 +1,1 @@",
		"    -one",
		"    +theirs",
	]);
	expect(lines[6]).toBe("? b.md  touched by default/main turn 2 (#6)");
	expect(lines[7]).toMatch(/^ {4}what it holds now is not known: b.md is a directory/);
	expect(lines.slice(8)).toEqual([
		"~ c.md  changed by default/main turn 2 (#8)",
		"    @@ -1,1 +1,1 @@",
		"    -one",
		"    +two",
	]);
	expect(found).toMatchObject({
		files: [{ others: { since: true } }, { others: { since: "unknown" } }, { others: { since: false } }],
	});
});

test("a long diff is cut with a count; what is no text, or too different, is said to be so", async () => {
	const many = (word: string, count: number): string =>
		Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join("");
	await put("far.txt", many("one", 2_000));
	await make(
		["write", { path: "long.txt", text: many("line", 500) }],
		["write", { path: "bytes.bin", text: "text\n" }],
	);
	await put("bytes.bin", new Uint8Array([0, 1, 2]));
	await make(["edit", { path: "far.txt", old: "one", new: "two", all: true }]);
	const { lines, found } = await look();
	expect(lines).toContain("    no text: 0 bytes then, 3 bytes now");
	expect(lines).toContain("    too different: 2001 lines then, 2001 lines now");
	expect(lines.filter((line) => line.startsWith("    +line"))).toHaveLength(199);
	expect(lines).toContain("    … (301 more lines)");
	expect((found as { files: object[] }).files).toContainEqual(expect.objectContaining({ path: "long.txt", more: 301 }));
});

test("no text of a file or of its name acts on a terminal or makes a line of its own", async () => {
	await make(["put", { path: "a\u001b[31m\nb", text: "\u001b[2J\u202e evil\rline\n" }]);
	const { lines } = await look();
	expect(lines.map(clean)).toEqual(lines);
	expect(lines[1]).toMatch(/^\+ a\[31m b {2}made/);
	expect(lines).toHaveLength(4);
});

/** Confirms all; what was seen comes as JSON. */
const desk = {
	reading: (use: (runtime: Runtime) => unknown) => use(runtime),
	acting: (verb: WriteVerb, seen: unknown) => verb.act(runtime, verb.seen.parse(JSON.parse(asJson(seen))), "user"),
	confirm: async () => true,
	say,
} as unknown as Desk;

describe("files that go along", () => {
	/** What a verb shows before it is confirmed, and what it says then. */
	async function moves(name: string, raw: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
		const verb = verbOf(name);
		if (verb.access !== "write") throw new Error(`${name} is ${verb.access}`);
		const { lines: shown } = await carryOut(verb, raw, desk, { dryRun: true });
		const { lines, document } = await carryOut(verb, raw, desk, {});
		documentSchema(verb).parse(JSON.parse(asJson(document)));
		return [...shown, ...lines]
			.filter((each) => !each.startsWith("state "))
			.map((line) => line.replace(/\(#.*\)/, "(…)"));
	}
	const held = async () =>
		Object.fromEntries(
			await Promise.all(
				(await readdir(join(root, "work"))).map(async (path) => [
					path,
					await readFile(join(root, "work", path), "utf8"),
				]),
			),
		);

	test("are named before, with what stays and how it could go too; undo takes them forward", async () => {
		for (const path of ["a.md", "b.md", "c.md"]) await put(path, "one\n");
		const { tip } = runtime.wal;
		await make(
			["edit", { path: "a.md", old: "one", new: "two" }],
			["edit", { path: "b.md", old: "one", new: "two" }],
			["remove", { path: "c.md" }],
		);
		await make(["write", { path: "d.md", text: "new" }], ["put", { path: "e.md", text: "new" }]);
		await put("b.md", "theirs\n");
		const before = await held();
		const ref = String(tip);
		expect(await moves("rewind", { ref })).toContain("files in your workspace are not touched");
		expect(await held()).toEqual(before);
		await moves("undo", {});
		const lines = await moves("rewind", { ref, files: true });
		expect(lines).toEqual(
			expect.arrayContaining([
				"files in your workspace go back too, where tools have changed them",
				`4 files go back to what they held at #${tip}:`,
				"  ~ a.md  changed back",
				"  + c.md  made again",
				"  - d.md  removed",
				"stays: b.md: somebody else has changed it since",
				`to take what somebody else has changed too, which undo brings back: rewind ${tip} --files --theirs`,
				`4 files hold what they held at #${tip}; undo brings them forward`,
			]),
		);
		expect(await held()).toEqual({ "a.md": "one\n", "b.md": "theirs\n", "c.md": "one\n" });
		const undone = await moves("undo", {});
		expect(undone).toContain("  + d.md  made again");
		expect(undone.join()).not.toContain("not touched");
		expect(await held()).toEqual(before);
		expect(undone.join()).toContain("; redo brings them forward");
		expect(await moves("rewind", { ref, theirs: true })).toContain(
			"  ~ b.md  changed back, though somebody else has changed it since",
		);
		expect(await held()).toEqual({ "a.md": "one\n", "b.md": "one\n", "c.md": "one\n" });
		await moves("undo", {});
		await moves("checkout", { ref, files: true });
		await moves("undo", {});
		expect(await held()).toEqual(before);
		// All of them, or none.
		await put("b.md", "theirs again\n");
		const now = await held();
		const command = async (name: string, raw: Readonly<Record<string, unknown>>) =>
			(await carryOut(verbOf(name) as WriteVerb, raw, desk, { dryRun: true })).lines
				.filter((line) => line.startsWith("to take "))
				.map((line) => line.split(": ")[1]);
		expect(await command("rewind", { ref, files: true, mode: "code_only" })).toEqual([
			`rewind ${tip} --mode code_only --files --theirs`,
		]);
		expect(await command("checkout", { ref, allOrNothing: true })).toEqual([
			`checkout ${tip} --files --theirs --all-or-nothing`,
		]);
		await moves("rewind", { ref, files: true });
		await put("a.md", "theirs\n");
		expect(await command("undo", {})).toEqual(["undo --theirs"]);
		const { seq = 0 } = (await runtime.timeline.moves({ limit: 1 })).past[0] ?? {};
		expect(await command("undo", { to: seq })).toEqual([`undo --to ${seq} --theirs`]);
		await moves("undo", { theirs: true });
		expect(await held()).toEqual(now);
		for (const name of ["rewind", "checkout"])
			await expect(moves(name, { ref, allOrNothing: true })).rejects.toThrow("1 cannot; nothing was written (b.md: ");
		expect(await held()).toEqual(now);
		await moves("checkout", { ref, allOrNothing: true, theirs: true });
		expect(await held()).toEqual({ "a.md": "one\n", "b.md": "one\n", "c.md": "one\n" });
		await moves("undo", {});
		await expect(moves("rewind", { ref: "@", files: true, scope: "session" })).rejects.toThrow(
			"files belong to no session",
		);
	});
});

test("a file that does not go back, though that was shown, is a fault; one of somebody else that stays is none", async () => {
	for (const path of ["a.md", "b.md"]) await put(path, "one\n");
	const { tip } = runtime.wal;
	for (const path of ["a.md", "b.md"]) await make(["edit", { path, old: "one", new: "two" }]);
	await runtime.close();
	const files = createWorkFiles(join(root, "work"));
	let isFull = true;
	const full = async (...args: Parameters<typeof files.put>): Promise<void> => {
		if (isFull && args[0] === "a.md") throw Object.assign(new Error("a.md cannot be written"), { code: "ENOSPC" });
		await files.put(...args);
	};
	runtime = await openRuntime({ state: join(root, "state"), model, tools: [], files: { ...files, put: full } });
	const going = (name: "rewind" | "undo", raw: object) => {
		const verb = verbOf(name);
		if (verb.access !== "write") throw new Error(name);
		return carryOut(verb, { ...raw }, desk);
	};
	const told = await going("rewind", { ref: String(tip), files: true });
	expect([told.outcome, told.fault]).toEqual(["done", "OPERATOR_FILES"]);
	expect(told.lines.join("\n")).toContain("stays: a.md cannot be written");
	isFull = false;
	await going("undo", {});
	await put("b.md", "theirs\n");
	expect((await going("rewind", { ref: String(tip), files: true })).fault).toBeUndefined();
});

describe("two moments", () => {
	const diff = async (a: string, b: string, more: object = {}) => {
		const verb = verbOf("diff") as ReadVerb;
		const given = { a, b, session: { agent: "default", session: "main" }, stat: false, state: false, ...more };
		const found = await verb.read(runtime, given);
		documentSchema(verb).parse(JSON.parse(asJson(found)));
		const lines = verb.lines(found, say, given);
		return { found, files: lines.slice(lines.indexOf("files, as they were on disk then:")) };
	};

	test("differ in files as they were on disk then, on whatever line, either way; text, binary and modes", async () => {
		await put("a.ts", "one\n");
		await put("b.bin", new Uint8Array([0, 1, 2]));
		const start = runtime.wal.tip;
		await make(["edit", { path: "a.ts", old: "one", new: "two" }], ["write", { path: "new.md", text: "new\n" }]);
		const middle = runtime.wal.tip;
		await runtime.checkout(start, "test");
		await make(["edit", { path: "a.ts", old: "two", new: "three" }], ["remove", { path: "b.bin" }]);
		const end = runtime.wal.tip;
		await put("new.md", "theirs\n");
		expect((await diff(String(start), "main")).files).toEqual([
			...["files, as they were on disk then:", "~ a.ts  changed"],
			...["    @@ -1,1 +1,1 @@", "    -one", "    +two"],
			...[
				"+ new.md  made",
				"    somebody else has changed it since, so it is shown as it is now",
				"    @@ -1,0 +1,1 @@",
				"    +theirs",
			],
		]);
		expect((await diff(String(end), String(middle))).files).toEqual([
			...["files, as they were on disk then:", "~ a.ts  changed"],
			...["    @@ -1,1 +1,1 @@", "    -three", "    +two"],
			...["+ b.bin  made", "    no text: 0 bytes then, 3 bytes now"],
		]);
		const { found } = await diff(String(middle), String(end), { stat: true });
		expect(found).toMatchObject({
			files: [
				{ path: "a.ts", change: "changed" },
				{ path: "b.bin", change: "removed" },
			],
		});
		expect((await diff(String(start), String(end), { n: 1 })).found).toMatchObject({
			files: [{ path: "a.ts" }],
			moreFiles: 2,
		});
		expect((await diff(String(start), String(end), { state: true })).found).toMatchObject({ files: [] });
		expect((await diff(String(end), String(end))).found).toMatchObject({ files: [], uncovered: [] });
	});
});

describe("adopt", () => {
	const desk: Desk = {
		reading: (use) => use(runtime),
		examining: async () => Promise.reject(new Error("no files of a log")),
		acting: (verb, seen) => verb.act(runtime, JSON.parse(asJson(seen)), "ada"),
		confirm: async (_question, shown) => {
			previewed = shown;
			return true;
		},
		say,
	};
	let previewed: readonly string[] = [];
	const adopt = async (raw: object) => {
		const verb = verbOf("adopt");
		if (verb.access !== "write") throw new Error();
		const before = runtime.wal.tip;
		const told = await carryOut(verb, { ...raw }, desk);
		documentSchema(verb).parse(JSON.parse(asJson(told.document)));
		const by: number[] = [];
		for await (const record of runtime.wal.read({ after: before }))
			if (verb.isDoneBy(record, verb.seen.parse(JSON.parse(asJson(told.document))), "ada")) by.push(record.seq);
		expect(by).toHaveLength(told.outcome === "done" ? 1 : 0);
		return told;
	};
	const undone = async (): Promise<readonly string[]> =>
		(await carryOut(verbOf("undo") as Parameters<typeof carryOut>[0], {}, desk)).lines;

	test("shows what would change in a file, and says how to go back; the log and undo name it", async () => {
		await put("a.ts", "one\n");
		await put("b.ts", "b\n");
		await make(["edit", { path: "a.ts", old: "one", new: "two" }], ["edit", { path: "b.ts", old: "b", new: "bb" }]);
		const left = runtime.wal.tip;
		await make(["edit", { path: "a.ts", old: "two", new: "three" }]);
		const { lines } = await adopt({ ref: String(left), file: "./a.ts" });
		expect(previewed).toEqual([
			...[
				`a.ts in your workspace is written: it becomes as it was at #${left}. Undo takes that back; no other file is touched`,
				"~ a.ts  changed",
			],
			...["    @@ -1,1 +1,1 @@", "    -three", "    +two"],
		]);
		const { seq = 0 } = (await runtime.timeline.moves({ limit: 1 })).past[0] ?? {};
		expect(lines).toEqual([`adopted in #${seq}: a.ts, as of #${left}. Go back with: undo`]);
		expect((await adopt({ ref: String(left), file: "a.ts" })).lines).toEqual([
			`a.ts is as it was at #${left}, as far as tools have changed it; nothing to write`,
		]);
		const log = await carryOut(verbOf("log") as ReadVerb, {}, desk);
		expect(log.lines.join("\n")).toContain(`◆ #${seq}  adoption of a.ts as of #${left} by ada  [main]`);
		await expect(adopt({ ref: String(left), file: "c.ts" })).rejects.toThrow(
			"no tool has changed c.ts, so what it held is not known; tools have changed a.ts, b.ts",
		);
		await put("a.ts", "theirs\n");
		await expect(adopt({ ref: "0", file: "a.ts" })).rejects.toMatchObject({
			code: "OPERATOR_CONFLICT",
			message: expect.stringMatching(
				/^a\.ts stays: somebody else has changed it since; nothing was written\. .* say --theirs$/,
			),
		});
		await adopt({ ref: "0", file: "a.ts", theirs: true });
		expect(await readFile(join(root, "work", "a.ts"), "utf8")).toBe("one\n");
		expect((await undone())[0]).toMatch(/^undone: the adoption of a\.ts as of #0 by ada \(#/);
		expect(await readFile(join(root, "work", "a.ts"), "utf8")).toBe("theirs\n");
		expect(await readFile(join(root, "work", "b.ts"), "utf8")).toBe("bb\n");
	});

	test("shows the text that would join the conversation, without control codes; what is not there is refused", async () => {
		await make(["write", { path: "new.md", text: "new" }]);
		const left = runtime.wal.tip;
		await runtime.checkout(0, "test");
		for (const raw of [{ ref: "0" }, { ref: "@", step: "p9/a" }])
			await expect(adopt(raw)).rejects.toMatchObject({ code: expect.stringMatching(/RUNTIME_ADOPT|PLAN_UNKNOWN/) });
		for (const raw of [
			{ ref: "0", step: "p9" },
			{ ref: "0", step: "p9/a", file: "a.ts" },
		])
			await expect(adopt(raw)).rejects.toMatchObject({ code: "OPERATOR_ARGS" });
		const { lines } = await adopt({ ref: String(left) });
		expect(previewed).toEqual([
			expect.stringMatching(new RegExp(`^the answer at #\\d+, as of #${left}, joins the conversation; `)),
			"  done",
		]);
		expect(lines[0]).toMatch(/^adopted in #\d+: the answer at #\d+, as of #\d+\. Go back with: undo$/);
		const { lines: shown } = await carryOut(verbOf("show") as ReadVerb, { ref: "@" }, desk);
		expect(shown.join("\n")).toMatch(/Taken over by ada from another moment of this history/);
		expect((await undone())[0]).toMatch(/^undone: the adoption of the answer at #\d+ as of #\d+ by ada \(#/);
	});
});
