/** A script in a function that V8 cannot stop ends its process, and nothing else does. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { deepTest } from "../../../tests/deep-test.ts";
import { startProcess } from "../../../tests/kit/killable.ts";

const module = JSON.stringify(join(import.meta.dirname, "../src/stuck-scripts.ts"));

/** Watched with a limit of 100 ms and so much beyond it. */
async function run(code: string, onceSaid?: (pid: number) => Promise<void>, graceMs = 400) {
	const watched = `const { watchTimeSlices } = await import(${module}); const watch = watchTimeSlices(${graceMs}, 50); ${code}`;
	const command = [process.execPath, "--conditions=@reyn/source", "--input-type=module", "-e", watched];
	const { child, ended, says } = startProcess(command);
	if (onceSaid) {
		await says("x");
		await onceSaid(child.pid as number);
	}
	const { stderr: said, ...end } = await ended;
	return { ...end, said };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("it is said why, in a line of its own, and the process is gone", async () => {
	const { signal, said } = await run("watch(100); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);");
	expect(signal).toBe("SIGKILL");
	expect(said).toMatch(/^\nreyn: a script has been in one function .* --isolate .*\n$/);
});

test("short ones are not ended, however many there are, nor is a process that waits; it ends when it is done", async () => {
	const short = "for (const end = performance.now() + 1500; performance.now() < end; ) watch(100)();";
	const { code, said } = await run(`${short} await new Promise((resolve) => setTimeout(resolve, 1000));`);
	expect({ code, said }).toEqual({ code: 0, said: "" });
});

deepTest("one that was stopped for a while has computed for none of it", async () => {
	const { code, said } = await run(
		"const end = performance.now() + 4500; const over = watch(100); process.stdout.write('x'); while (performance.now() < end); over();",
		async (pid) => {
			process.kill(pid, "SIGSTOP");
			await sleep(4000);
			process.kill(pid, "SIGCONT");
		},
		2500,
	);
	expect({ code, said }).toEqual({ code: 0, said: "" });
});
