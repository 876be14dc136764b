/** What the tests that kill rely on. */
import { expect, test } from "vitest";
import { type How, startProcess } from "./killable.ts";

const node = (code: string, how?: How) => startProcess([process.execPath, "--input-type=module", "-e", code], how);

test("it is killed once it has said something, and all that it said is there", async () => {
	const heard: string[] = [];
	const running = node("for (let n = 0; ; n++) { console.log('line', n); await new Promise(setImmediate); }", {
		heard: (line) => heard.push(line),
	});
	expect(await running.line((line) => line.endsWith("7"))).toBe("line 7");
	expect(await running.line("line", 3)).toBe("line 3");
	expect(await running.kill()).toMatchObject({ code: null, signal: "SIGKILL", pid: running.child.pid });
	expect(running.lines.slice(0, 8)).toEqual(Array.from({ length: 8 }, (_, n) => `line ${n}`));
	expect(heard).toEqual(running.lines);
	expect(await running.line("line 7")).toBe("line 7");
});

test("half a line is something that it says, and no character is cut by how it comes", async () => {
	const running = node(
		"process.stdout.write(Buffer.from([0xf0, 0x9f])); setTimeout(() => process.stdout.write(Buffer.from([0x92, 0xa7])), 50); setTimeout(() => {}, 60_000);",
	);
	await running.says("\u{1f4a7}");
	expect(running.lines).toEqual([]);
	expect((await running.kill()).stdout).toBe("\u{1f4a7}");
});

test("it is told what it reads, at once or as it goes", async () => {
	const echo = "process.stdin.pipe(process.stdout);";
	expect(await node(echo, { input: "a\nb\n" }).ended).toMatchObject({ code: 0, stdout: "a\nb\n" });
	const running = node(echo, { input: "as it goes" });
	running.child.stdin?.write("c\n");
	expect(await running.line("c")).toBe("c");
	running.child.stdin?.end();
	expect(await running.ended).toMatchObject({ code: 0, stdout: "c\n" });
});

test("who waits for what it never says is told what it said instead", async () => {
	const running = node("console.log('one'); console.error('two'); process.exitCode = 3;");
	await expect(running.line("three")).rejects.toThrow('it ended without "three": one two');
	await expect(running.says("four", "stderr")).rejects.toThrow('it ended without "four"');
	expect(await running.kill()).toMatchObject({ code: 3, signal: null, stderr: "two\n" });
});
