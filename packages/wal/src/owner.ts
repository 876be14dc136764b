/** Who opens a log: what is told to those who come while it is open. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { basename } from "node:path";
import type { Owner } from "./engine/engine.ts";
import { codeOf } from "./errors.ts";

/** This process. */
export function owner(): Owner {
	const started = new Date(performance.timeOrigin).toISOString();
	// The program and what it was told first, where that is a word: what follows may be anything, a key too.
	const [, program = "", word = ""] = process.argv;
	const command = [basename(program), ...(/^[a-z][a-z-]{0,19}$/.test(word) ? [word] : [])].join(" ");
	return { pid: process.pid, host: hostname(), ...whereabouts, started, command };
}

/**
 * Has this process certainly ended? Only one of this host is known to: of the same name, started since the same boot, with the same
 * process ids. In another container a pid says nothing.
 */
export function hasEnded({ pid, host, boot, pids }: Owner): boolean {
	if (host !== hostname() || boot !== whereabouts.boot || pids !== whereabouts.pids) return false;
	try {
		process.kill(pid, 0);
		return false;
	} catch (error) {
		return codeOf(error) === "ESRCH";
	}
}

/** Which boot of which machine this is, and which namespace its pids are of. Linux says so; elsewhere it is left out. */
const whereabouts = {
	...said("boot", () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
	...said("pids", () => readlinkSync("/proc/self/ns/pid")),
};

function said<Name extends string>(name: Name, read: () => string): { readonly [name in Name]?: string } {
	try {
		return { [name]: read() } as { [name in Name]: string };
	} catch {
		return {};
	}
}
