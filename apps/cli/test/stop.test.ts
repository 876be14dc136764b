/** A command ends on a signal, and when nobody reads its output, even if its work hangs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

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
	const args = ["--conditions=@reyn/source", "--input-type=module", "-e", HANGS];
	const child = spawn(process.execPath, args, { timeout: 10_000, killSignal: "SIGKILL" });
	const ended = once(child, "exit");
	expect(String(await once(child.stdout, "data"))).toBe("works\n");
	child.kill(first);
	expect(String(await once(child.stdout, "data"))).toBe("stopped\n");
	child.kill(second);
	expect(await ended).toEqual([null, second]);
});
