/** Starts the process of an isolated script, with every right taken away that Node can take away. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { JournalError } from "../errors.ts";
import { CHILD_READS, CHILD_WRITES } from "./channel.ts";

export interface Child {
	write(frame: Buffer): void;
	kill(): void;
}

export interface ChildEvents {
	data(bytes: Buffer): void;
	/** Called when the process is gone and all its output was read. @param how it ended, for people */
	gone(how: string): void;
}

/** The memory limit of the script and its realm, in MiB. */
const HEAP_MB = 512;

/** How much of the process's error output is kept, in bytes. */
const MAX_SAID = 16 * 1024;

const isSource = import.meta.url.endsWith(".ts");

/** @throws JournalError `SCRIPT_ISOLATION` */
export function startChild({ data, gone }: ChildEvents): Child {
	const entry = fileURLToPath(new URL(isSource ? "./child.ts" : "./child.js", import.meta.url));
	// All of a build lies in one directory, and a program that was bundled with it keeps to that.
	const code = isSource ? dirname(dirname(entry)) : dirname(entry);
	const refuse = (why: string): never => {
		throw new JournalError("SCRIPT_ISOLATION", `a script can have no process of its own here: ${why}`, { entry });
	};
	if (!process.allowedNodeEnvironmentFlags.has("--permission"))
		refuse(`Node.js ${process.versions.node} has no permission model; use a newer one`);
	if (!existsSync(entry))
		refuse(
			`${entry} is not there; install @reyn/journal again, or in a bundle make child.js of @reyn/journal/dist an entry of its own beside it`,
		);
	const child = spawnChild(entry, code);
	const input = child.stdio[CHILD_READS] as Writable;
	const output = child.stdio[CHILD_WRITES] as Readable;
	let said = "";
	child.stderr?.on("data", (bytes: Buffer) => (said = (said + bytes).slice(0, MAX_SAID)));
	output.on("data", data);
	// Errors of the streams are ignored: the end of the process is told once, below.
	for (const stream of [input, output]) stream.on("error", () => {});
	child.on("error", ({ message }) => gone(`it could not be started: ${message}`));
	child.on("close", (code, signal) => {
		const isFull = said.includes("heap out of memory");
		gone(
			isFull
				? `it used up its ${HEAP_MB} MiB of memory`
				: signal
					? `it was ended by ${signal}`
					: `it ended with ${code}`,
		);
	});
	return { write: (frame) => void input.write(frame), kill: () => void child.kill("SIGKILL") };
}

/** @param code the only directory that it may read: the code of this package */
export const spawnChild = (entry: string, code: string): ChildProcess =>
	spawn(
		process.execPath,
		[
			"--permission",
			`--allow-fs-read=${code}/*`,
			"--disallow-code-generation-from-strings",
			`--max-old-space-size=${HEAP_MB}`,
			entry,
		],
		{
			cwd: "/",
			env: {},
			// A process group of its own: Ctrl-C is meant for the host, which then stops the child.
			detached: true,
			windowsHide: true,
			stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
		},
	);
