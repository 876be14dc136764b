/** Nobody waits for the chat but whoever wants to chat: it is loaded late, and its screen later than its lines. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const sources = join(import.meta.dirname, "../../src");

/** The files that are loaded with a file, as its imports say. */
function loadedWith(file: string, seen = new Set<string>()): ReadonlySet<string> {
	if (seen.has(file)) return seen;
	seen.add(file);
	const imports = readFileSync(join(sources, file), "utf8").matchAll(
		/^(?:import|export) (?!type\b)[^;]*?from "(\.{1,2}\/[^"]+\.ts)";/gm,
	);
	for (const [, target = ""] of imports) loadedWith(join(file, "..", target), seen);
	return seen;
}

test("no command but chat loads the chat, and a chat without a screen loads no screen", () => {
	const all = [...loadedWith("main.ts")];
	expect(all).toContain("print.ts");
	expect(all.filter((file) => file.startsWith("chat"))).toEqual([]);
	const lines = [...loadedWith(join("chat", "session.ts"))];
	expect(lines).toContain(join("chat", "plain.ts"));
	for (const file of ["live.ts", "screen.ts", "terminal.ts", "keys.ts"])
		expect(lines).not.toContain(join("chat", file));
});

test("the colours of code are loaded when there is some, and by one file", () => {
	const screen = [...loadedWith(join("chat", "live.ts"))];
	expect(screen).toContain(join("chat", "code.ts"));
	expect(screen).not.toContain(join("chat", "highlight.ts"));
	const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) => /\.[jt]s$/.test(file));
	const loaders = files.filter((file) => readFileSync(join(sources, file), "utf8").includes('from "highlight.js'));
	expect(loaders).toEqual([join("chat", "hljs.js")]);
	expect(files.filter((file) => readFileSync(join(sources, file), "utf8").includes('from "diff"'))).toEqual([]);
});
