/** A command ends once its work is over and all is said, on a signal, and when nobody reads its output, even if its work hangs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { startProcess } from "../../../tests/kit/killable.ts";

/** Works for ever, and its log is never closed, as on a disk that hangs. */
const HANGS = `
	import { untilStopped } from ${JSON.stringify(new URL("../src/stop.ts", import.meta.url).href)};
	process.stdin.resume();
	await untilStopped({ close: () => new Promise(() => {}) }, (signal) => {
		signal.addEventListener("abort", () => console.log("stopped"));
		console.log("works");
		return new Promise(() => {});
	});`;

test.each([
	["SIGTERM", "SIGTERM"],
	["SIGTERM", "SIGINT"],
	["SIGINT", "SIGHUP"],
] as const)("after a %s that has not ended it yet, a %s ends the process on the spot", async (first, second) => {
	const command = [process.execPath, "--conditions=@reyn/source", "--input-type=module", "-e", HANGS];
	const { child, ended, kill, line, lines } = startProcess(command, { input: "as it goes" });
	const watchdog = setTimeout(kill, 10_000);
	await line("works");
	child.kill(first);
	await line("stopped");
	child.kill(second);
	expect(await ended).toMatchObject({ code: null, signal: second });
	expect(lines).toEqual(["works", "stopped"]);
	clearTimeout(watchdog);
});

const stop = JSON.stringify(new URL("../src/stop.ts", import.meta.url).href);
const print = JSON.stringify(new URL("../src/print.ts", import.meta.url).href);
const children: ChildProcess[] = [];
afterEach(() => {
	for (const child of children.splice(0)) child.kill("SIGKILL");
});

function started(program: string) {
	const args = ["--conditions=@reyn/source", "--input-type=module", "-e", program];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
	children.push(child);
	return child;
}

test("who reads late gets all that was said, and the exit code stays, whatever was left open", async () => {
	const child = started(`
		import { end } from ${stop};
		import { err, out } from ${print};
		setInterval(() => {}, 1000);
		void out.text("x".repeat(8_000_000));
		void err.line("said");
		await end(3);`);
	const ended = once(child, "exit");
	// Nothing is read of stdout until then.
	await once(child.stderr, "data");
	const said = await text(child.stdout);
	expect(said.length).toBe(8_000_001);
	expect(await ended).toEqual([3, null]);
});

test("nobody reads what is said last: the process ends all the same, with the code for that", async () => {
	const child = started(`
		import { end, heedReaders, untilStopped } from ${stop};
		import { err, out } from ${print};
		heedReaders();
		setInterval(() => {}, 1000);
		await untilStopped({ close: async () => {} }, async () => {});
		void out.text("x".repeat(8_000_000));
		void err.line("said");
		await end(0);`);
	const ended = once(child, "exit");
	await once(child.stderr, "data");
	child.stdout.destroy();
	expect(await ended).toEqual([141, null]);
});

test("work that did not stop in time is waited for no longer, stopped or not; a signal that comes when all is closed ends the process", async () => {
	const child = started(`
		import { untilStopped } from ${stop};
		setInterval(() => {}, 1000);
		const close = async () => { throw Object.assign(new Error("a did not stop"), { code: "RUNTIME_NOT_QUIET" }); };
		console.log(await untilStopped({ close }, async () => {}), process.listenerCount("SIGTERM"));
		const working = untilStopped({ close }, () => new Promise(() => {}));
		process.kill(process.pid, "SIGTERM");
		console.log(await working);
		process.kill(process.pid, "SIGTERM");`);
	const ended = once(child, "exit");
	const [said, why] = await Promise.all([text(child.stdout), text(child.stderr)]);
	expect(said).toBe("undefined 0\n{ by: 'SIGTERM', wasFull: false }\n");
	expect(why).toBe("reyn: a did not stop\nreyn: a did not stop\n");
	expect(await ended).toEqual([null, "SIGTERM"]);
});
