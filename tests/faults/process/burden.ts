/**
 * Loaded into a writer before it begins, by `--import`: `REYN_BURDEN=memory` takes more and more of it;
 * `REYN_BURDEN=children:<file>` starts shells, and shells of shells, that write their pids into the file without end.
 */
import { spawn } from "node:child_process";
import { isMainThread } from "node:worker_threads";

// The log's own thread loads it too.
const [kind, file = ""] = (isMainThread && process.env.REYN_BURDEN?.split(":")) || [];
const kept: Buffer[] = [];

if (kind === "memory") setInterval(() => kept.push(Buffer.alloc(4 << 20, 1)), 20).unref();
if (kind === "children") {
	const loop = 'while :; do echo $$ >> "$0"; sleep 0.02; done';
	for (const script of [loop, `sh -c '${loop}' "$0" & wait`])
		spawn("sh", ["-c", script, file], { stdio: "ignore" }).unref();
}
