/** What a fault cannot do without. */
import { spawnSync } from "node:child_process";

/** Why the programs that are named here cannot be used; `root` stands for being the superuser. */
export function needsAll(...what: readonly string[]): string | undefined {
	if (process.platform !== "linux") return "needs Linux";
	for (const each of what) {
		if (each === "root") {
			if (process.getuid?.() !== 0) return "needs root";
		} else if (spawnSync("sh", ["-c", `command -v ${each}`]).status !== 0) return `needs ${each}`;
	}
	if (what.includes("strace") && spawnSync("strace", ["-o", "/dev/null", "true"]).status !== 0) return "needs ptrace";
	return undefined;
}
