/** A program in place of that of a script's process: it says what it could do there if it had got out of the realm. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { CHILD_WRITES } from "../../src/script/channel.ts";
import { strip } from "../../src/script/strip.ts";

strip();
const tried: Readonly<Record<string, () => unknown>> = {
	"reads a file": () => readFileSync("/etc/hosts"),
	"reads what Linux says of a process": () => readFileSync("/proc/self/environ"),
	"writes a file": () => writeFileSync("/tmp/reyn-walls", ""),
	"starts a program": () => {
		const { error } = spawnSync(process.execPath, ["--version"]);
		if (error) throw error;
	},
	"starts a thread": () => new Worker("0", { eval: true }),
	"sends a signal": () => process.kill(process.pid, 0),
	"runs code from a text": () => Function("return 1")(),
	"loads a module": () => import("node:net"),
	"asks for a module": () => process.getBuiltinModule("net"),
	"asks for a binding": () => (process as unknown as { binding(name: string): unknown }).binding("fs"),
	"opens a connection by fetch": () => fetch("http://localhost"),
};
const done: string[] = [];
for (const [what, attempt] of Object.entries(tried)) {
	try {
		await attempt();
		done.push(what);
	} catch {}
}
writeSync(CHILD_WRITES, JSON.stringify({ done, env: process.env, cwd: process.cwd() }));
