/** Starts the writer and keeps the ledger of what it was told is durable. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Acked } from "./check.ts";
import type { WriterOptions } from "./writer.ts";

export interface Failure {
	readonly code: string;
	/** The system's code, or `-`. */
	readonly system: string;
	readonly message: string;
}

export interface Started {
	readonly child: ChildProcess;
	readonly acked: Acked[];
	readonly errors: Failure[];
	/** Every line, in order. */
	readonly lines: string[];
	/** What came on stderr, of the writer or of what it was started with. */
	readonly stderr: () => string;
	/** Resolves at the first line from now on (or before) that begins so; rejects when the program ends without it. */
	line(start: string, from?: number): Promise<string>;
	/** Gives a command and waits until it is obeyed; the lines that it printed. */
	tell(command: string): Promise<readonly string[]>;
	readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

const running = new Map<ChildProcess, string>();

/** @param via a command to start it with, such as strace */
export function startWriter(directory: string, options: WriterOptions, via?: readonly string[]): Started {
	return start(join(import.meta.dirname, "writer.ts"), directory, options, via);
}

/** A program, by its path; it is told the directory, and its options as JSON. */
export function start(program: string, directory: string, options: object, via: readonly string[] = []): Started {
	const [command = "", ...args] = [
		...via,
		process.execPath,
		"--conditions=@reyn/source",
		program,
		directory,
		JSON.stringify(options),
	];
	// The types are stripped once, not in each of a thousand processes.
	const cache = join(tmpdir(), `reyn-faults-cache-${process.getuid?.()}`);
	const env = { ...process.env, NODE_OPTIONS: "", NODE_NO_WARNINGS: "1", NODE_COMPILE_CACHE: cache };
	const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], env });
	running.set(child, directory);
	const acked: Acked[] = [];
	const errors: Failure[] = [];
	const lines: string[] = [];
	const waiting = new Set<() => void>();
	let stderr = "";
	let closed = false;
	child.stdin.on("error", () => {});
	child.stderr.on("data", (chunk) => {
		stderr += chunk;
	});
	createInterface({ input: child.stdout }).on("line", (line) => {
		const [word, a = "", b = "", ...rest] = line.split(" ");
		// A line may be cut by the kill; an acknowledgement that was not printed whole was not given.
		if (word === "acked" && /^[0-9a-f]{8}$/.test(b)) acked.push({ seq: Number(a), crc: b });
		if (word === "error") errors.push({ code: a, system: b, message: rest.join(" ") });
		lines.push(line);
		for (const wake of [...waiting]) wake();
	});
	const ended = once(child, "close").then(([code, signal]) => {
		closed = true;
		running.delete(child);
		for (const wake of [...waiting]) wake();
		return { code: code as number | null, signal: signal as NodeJS.Signals | null };
	});
	const find = (start: string, from: number): Promise<string> =>
		new Promise((resolve, reject) => {
			const look = (): void => {
				const found = lines.slice(from).find((line) => line.startsWith(start));
				if (found === undefined && !closed) return;
				waiting.delete(look);
				if (found !== undefined) resolve(found);
				else reject(new Error(`the writer ended without "${start}": ${lines.slice(-3).join(" | ")} ${stderr}`));
			};
			waiting.add(look);
			look();
		});
	return {
		child,
		acked,
		errors,
		lines,
		stderr: () => stderr,
		line: (start, from = 0) => find(start, from),
		async tell(order) {
			const from = lines.length;
			child.stdin.write(`${order}\n`);
			await find(`done ${order.split(" ")[0]}`, from);
			return lines.slice(from);
		},
		ended,
	};
}

/** What a program printed that has to come to its end. */
export async function runToEnd(...how: Parameters<typeof start>): Promise<readonly string[]> {
	const { ended, lines, stderr } = start(...how);
	const { code } = await ended;
	assert.equal(code, 0, `${stderr()} ${lines.join("\n")}`);
	return lines;
}

/** Ends what was started, and what it started. */
export async function kill({ child, ended }: Started): Promise<void> {
	child.kill("SIGKILL");
	await ended;
}

/** A directory that is gone afterwards, and with it every writer that was started in it. */
export async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-fault-"));
	try {
		return await use(directory);
	} finally {
		for (const [child, where] of running)
			if (where.startsWith(directory)) {
				child.kill("SIGKILL");
				child.stdin?.destroy();
			}
		await rm(directory, { recursive: true, force: true });
	}
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
