/** A command ends on a signal, and when nobody reads its output, even if its work hangs. */
import { expect, test } from "vitest";
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
