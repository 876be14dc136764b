/** What goes to a stream goes through `print.ts`, and comes out clean. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { HOSTILE, raw } from "../../../tests/kit/hostile.ts";
import { main, reportUncaught } from "../src/main.ts";
import { asked, coloured, err, isColoured, out } from "../src/print.ts";

afterEach(() => vi.restoreAllMocks());

/** What both streams are given from now on. */
function listen(): { stdout: string; stderr: string } {
	const heard = { stdout: "", stderr: "" };
	for (const name of ["stdout", "stderr"] as const)
		vi.spyOn(process[name], "write").mockImplementation((text, then?: unknown) => {
			heard[name] += text;
			if (typeof then === "function") then();
			return true;
		});
	return heard;
}

/** Every way to a stream, and to a colour, but those of `print.ts`. */
const otherWays =
	/\bprocess\s*\??\.?\s*\[?\W?(stdout|stderr)\b|\{[^}]*\bstd(out|err)\b[^}]*\}\s*=\s*(globalThis\.)?process\b|\bconsole\b|\bemitWarning\b|\b_rawDebug\b|\bwrite(v)?Sync\b|\bcreateWriteStream\b|\b(from|import\(?)\s*["'](node:)?(process|tty|picocolors)["']|\bcreateInterface\([^)]*\boutput\b|\.question\((?!asked\()|\b(clearLine|cursorTo|moveCursor|clearScreenDown)\(/;

/** Said before anything can be loaded, of nothing but the version of Node. */
const FIRST_WORDS = "console.error(`reyn needs Node.js 22.18 or newer; this is ";

const offences = (file: string, source: string): readonly string[] =>
	source
		.split("\n")
		.map((text, at) => ({ text: text.trim(), at: at + 1 }))
		.filter(({ text }) => !/^(\/\/|\/?\*)/.test(text) && !text.startsWith(FIRST_WORDS) && otherWays.test(text))
		.map(({ text, at }) => `${file}:${at}: ${text}`);

test("nothing but print.ts touches a stream, a colour or the cursor", () => {
	const sources = join(import.meta.dirname, "../src");
	const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) =>
		/\.[cm]?[jt]sx?$/.test(file),
	);
	expect(files).toContain("print.ts");
	const writers = files.filter((file) => readFileSync(join(sources, file), "utf8").includes("terminal.write("));
	expect(writers.map((file) => file.replaceAll("\\", "/")).sort()).toEqual(["chat/live.ts", "chat/terminal.ts"]);
	const found = files
		.filter((file) => file !== "print.ts")
		.flatMap((file) => offences(file, readFileSync(join(sources, file), "utf8")));
	expect(found, "say it with `out` or `err` of print.ts, and ask with `asked`").toEqual([]);
});

test.each([
	"process.stdout.write(text);",
	"process.stderr.write(text);",
	'process["stdout"].write(text);',
	"const { stdout } = process;",
	"console.log(text);",
	"console.error(text);",
	'import { stdout } from "node:process";',
	'import pc from "picocolors";',
	"writeSync(1, text);",
	"process.emitWarning(text);",
	"lines.question(text);",
	"createInterface({ input, output: stream });",
	"clearLine(stream, 0);",
])("%s is seen", (line) => {
	expect(offences("some.ts", `\n\t${line}`)).toEqual([`some.ts:2: ${line}`]);
});

test.each([
	[{}, true, true],
	[{}, false, false],
	[{ CI: "1" }, false, false],
	[{ TERM: "dumb" }, true, false],
	[{ NO_COLOR: "1" }, true, false],
	[{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
	[{ FORCE_COLOR: "1" }, false, true],
	[{ FORCE_COLOR: "0" }, true, false],
])("with %j, on a terminal: %s, colours are seen: %s", (env, isTerminal, seen) => {
	expect(isColoured(env, isTerminal)).toBe(seen);
});

test("a line is one line, whatever is in it, and has no colours but its own", () => {
	const heard = listen();
	out.lines([`a ${HOSTILE}b`, [`c ${HOSTILE}`, coloured("red", `d\n${HOSTILE}`)], ""]);
	expect(heard.stdout.split("\n")).toHaveLength(4);
	expect(raw(heard.stdout.replaceAll("\n", ""))).toEqual([]);
	expect(raw(asked(`delete\n${HOSTILE}?`))).toEqual([]);
	expect(asked("a\nb?")).toBe("a b? ");
});

test("JSON is the value that it was, and shows what text may not have", () => {
	const heard = listen();
	const value = { [`key ${HOSTILE}`]: [HOSTILE, "zażółć 👩‍👩‍👧 \u{1f98a}"], lone: "\udc00" };
	out.json(value);
	expect(raw(heard.stdout.trimEnd())).toEqual([]);
	expect(JSON.parse(heard.stdout)).toEqual(value);
	expect(heard.stdout).toContain("zażółć 👩‍👩‍👧 🦊");
	expect(heard.stdout).toContain("\\u009b");
	expect(heard.stdout).toContain("\\udb40\\udc41");
});

test("a text that comes in pieces is as clean as the whole, wherever it is cut, and no character is lost", () => {
	const text = `\u001b]52;c;aGk=\u0007${HOSTILE}👩‍👩‍👧 \u{1f98a}\u{e0041}\u001b[2J\u009b31m zażółć`;
	const whole = listen();
	out.piece(text);
	for (let first = 0; first <= text.length; first++) {
		const heard = listen();
		for (const piece of [text.slice(0, first), text.slice(first, first + 2), text.slice(first + 2)]) out.piece(piece);
		expect(heard.stdout).toBe(whole.stdout);
	}
	expect(raw(whole.stdout)).toEqual([]);
	expect(whole.stdout).toContain("👩‍👩‍👧 🦊");
});

test("half a character that is never completed is not shown with what comes next", () => {
	const heard = listen();
	out.piece("a\ud83e");
	out.line("b");
	out.piece("\udd8a");
	expect(heard.stdout).toBe("ab\n");
});

test("what the parser says of hostile words is clean, and none of it begins a line", async () => {
	const word = `x${HOSTILE}\nreyn: all is well`;
	for (const argv of [
		[word],
		[`--${word}`],
		["gc", "--keep-days", word],
		["diff", "1", "--session", `a/b/${word}`],
		["log", word],
		["show"],
		["lgo"],
	]) {
		const heard = listen();
		expect(await main(["node", "reyn", "--json", ...argv])).toBe(2);
		expect(raw(heard.stdout + heard.stderr)).toEqual([]);
		expect(heard.stderr).toMatch(/^error: /);
		expect(heard.stderr).not.toMatch(/^reyn: all/m);
		expect(JSON.parse(heard.stdout).error.code).toBe("CLI_USAGE");
	}
	const heard = listen();
	await main(["node", "reyn", "lgo"]);
	expect(heard.stderr).toMatch(/^error: [^\n]+\n\(Did you mean log\?\)\n/);
});

test("a stack is frames, and what nothing caught is said as any error", () => {
	const heard = listen();
	const message = `bad ${HOSTILE}\n    at fake (evil.ts:1:1)\nreyn: all is well`;
	expect(reportUncaught(new TypeError(message))).toBe(1);
	expect(raw(heard.stderr)).toEqual([]);
	const lines = heard.stderr.trimEnd().split("\n");
	expect(lines[0]).toMatch(/^reyn: bad .*at fake.*reyn: all is well/);
	expect(lines.slice(1).every((line) => /^ {4}at /.test(line) && !line.includes("fake"))).toBe(true);
	expect(lines.length).toBeGreaterThan(1);
	for (const thrown of [undefined, Symbol("s"), HOSTILE, Object.create(null)]) {
		const said = listen();
		expect(reportUncaught(thrown)).toBe(1);
		expect(raw(said.stderr)).toEqual([]);
		expect(said.stderr).toMatch(/^reyn: /);
	}
});

test("what failed to be written is known to whoever waits, and nobody has to", async () => {
	vi.spyOn(process.stderr, "write").mockImplementation((_, then?: unknown) => {
		if (typeof then === "function") then(new Error("EPIPE"));
		return false;
	});
	await expect(err.line("a")).rejects.toThrow("EPIPE");
	err.line("b");
	await new Promise((resolve) => setImmediate(resolve));
});
