/** Starts the writer and keeps the ledger of what it was told is durable. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Killable, startProcess } from "../../kit/killable.ts";
import type { Acked } from "./check.ts";
import type { WriterOptions } from "./writer.ts";

export interface Failure {
	readonly code: string;
	/** The system's code, or `-`. */
	readonly system: string;
	readonly message: string;
}

export interface Started extends Killable {
	readonly acked: Acked[];
	readonly errors: Failure[];
	/** Gives a command and waits until it is obeyed; the lines that it printed. */
	tell(command: string): Promise<readonly string[]>;
}

const running = new Map<Killable, string>();

/** @param via a command to start it with, such as strace */
export function startWriter(directory: string, options: WriterOptions, via?: readonly string[]): Started {
	return start(join(import.meta.dirname, "writer.ts"), directory, options, via);
}

/** A program, by its path; it is told the directory, and its options as JSON. */
export function start(program: string, directory: string, options: object, via: readonly string[] = []): Started {
	const acked: Acked[] = [];
	const errors: Failure[] = [];
	const command = [...via, process.execPath, "--conditions=@reyn/source", program, directory, JSON.stringify(options)];
	// The types are stripped once, not in each of a thousand processes.
	const cache = join(tmpdir(), `reyn-faults-cache-${process.getuid?.()}`);
	const started = startProcess(command, {
		env: { NODE_OPTIONS: "", NODE_NO_WARNINGS: "1", NODE_COMPILE_CACHE: cache },
		input: "as it goes",
		heard(line) {
			const [word, a = "", b = "", ...rest] = line.split(" ");
			// A line may be cut by the kill; an acknowledgement that was not printed whole was not given.
			if (word === "acked" && /^[0-9a-f]{8}$/.test(b)) acked.push({ seq: Number(a), crc: b });
			if (word === "error") errors.push({ code: a, system: b, message: rest.join(" ") });
		},
	});
	running.set(started, directory);
	started.ended.then(() => running.delete(started));
	return {
		...started,
		acked,
		errors,
		async tell(order) {
			const from = started.lines.length;
			started.child.stdin?.write(`${order}\n`);
			await started.line(`done ${order.split(" ")[0]}`, from);
			return started.lines.slice(from);
		},
	};
}

/** What a program printed that has to come to its end. */
export async function runToEnd(...how: Parameters<typeof start>): Promise<readonly string[]> {
	const { ended, lines, stderr } = start(...how);
	const { code } = await ended;
	assert.equal(code, 0, `${stderr()} ${lines.join("\n")}`);
	return lines;
}

/** A directory that is gone afterwards, and with it every writer that was started in it. */
export async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-fault-"));
	try {
		return await use(directory);
	} finally {
		for (const [started, where] of running)
			if (where.startsWith(directory)) {
				void started.kill();
				started.child.stdin?.destroy();
			}
		await rm(directory, { recursive: true, force: true });
	}
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
