/** One command, seen from who runs it: who that is is recorded before it begins, and how it has ended after that. */
import { type ChildProcess, spawn } from "node:child_process";
import {
	closeSync,
	constants,
	copyFileSync,
	fsyncSync,
	linkSync,
	openSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import { OUTPUT, RUNNER, type RunnerRecord, type Spec, STATUS, type Status, withoutLinks } from "./files.ts";

/** So much of what a command prints is kept, in bytes; of what comes behind it, the end. */
const MOST_KEPT = 8 * 1024 * 1024;
const MOST_OF_END = 16 * 1024;

/** How long a command has to end when it is told to, in milliseconds. */
const GRACE_MS = 2000;

/** How long what it has printed is waited for once it is over: something that it left behind may hold the pipe. */
const DRAIN_MS = 1000;

/**
 * Runs a command. Who is first to make the record of who runs it decides whether it is run.
 *
 * @param ended is told once it is durable how the command has ended
 * @returns stops the command, because somebody has asked for that
 * @throws the `EEXIST` of the system: somebody else was first
 */
export function begin(directory: string, spec: Spec, ended: () => void): () => void {
	const record: RunnerRecord = { pid: process.pid, start: startOf(process.pid) ?? "" };
	const path = join(directory, RUNNER);
	// Whole at once: half a record says nothing to anybody.
	const whole = `${path}.${process.pid}.tmp`;
	write(whole, JSON.stringify(record));
	try {
		placeNew(whole, path);
	} finally {
		rmSync(whole, { force: true });
	}
	syncDirectory(directory);
	const running = new Running(directory, spec, ended);
	running.run();
	return () => running.stop("asked");
}

class Running {
	readonly #directory: string;
	readonly #spec: Spec;
	readonly #ended: () => void;
	readonly #output: number;
	readonly #since = performance.now();
	#bytes = 0;
	#end = Buffer.alloc(0);
	#command: ChildProcess | undefined;
	#stopped: Status["stopped"];
	#isOver = false;

	constructor(directory: string, spec: Spec, ended: () => void) {
		this.#directory = directory;
		this.#spec = spec;
		this.#ended = ended;
		this.#output = openSync(join(directory, OUTPUT), "wx", 0o600);
	}

	run(): void {
		const { argv, cwd, env, timeoutMs } = this.#spec;
		const [file = "", ...args] = argv;
		// A process group of its own: all of it can be ended.
		const command = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
		this.#command = command;
		for (const stream of [command.stdout, command.stderr]) stream.on("data", (piece: Buffer) => this.#take(piece));
		command.on("error", ({ message }) => this.#over({ failed: message }));
		const limit = setTimeout(() => this.stop("limit"), timeoutMs);
		command.on("exit", (code, signal) => {
			clearTimeout(limit);
			// What it has left behind ends with it.
			this.#kill("SIGKILL");
			const over = (): void => this.#over({ ...(code === null ? {} : { code }), ...(signal ? { signal } : {}) });
			const drained = setTimeout(over, DRAIN_MS);
			command.on("close", () => {
				clearTimeout(drained);
				over();
			});
		});
	}

	#take(piece: Buffer): void {
		if (this.#isOver) return;
		const room = Math.max(0, MOST_KEPT - this.#bytes);
		const kept = piece.subarray(0, room);
		for (let at = 0; at < kept.length; ) at += writeSync(this.#output, kept, at);
		this.#bytes += piece.length;
		if (kept.length < piece.length)
			this.#end = Buffer.concat([this.#end, piece.subarray(kept.length)]).subarray(-MOST_OF_END);
	}

	stop(why: NonNullable<Status["stopped"]>): void {
		this.#stopped ??= why;
		this.#kill("SIGTERM");
		setTimeout(() => this.#kill("SIGKILL"), GRACE_MS).unref();
	}

	#kill(signal: NodeJS.Signals): void {
		const pid = this.#command?.pid;
		if (pid === undefined) return;
		try {
			process.kill(-pid, signal);
		} catch {
			// It is over.
		}
	}

	#over(ended: Pick<Status, "code" | "signal" | "failed">): void {
		if (this.#isOver) return;
		this.#isOver = true;
		fsyncSync(this.#output);
		const status: Status = {
			...ended,
			...(this.#stopped && { stopped: this.#stopped }),
			...{ ms: Math.round(performance.now() - this.#since), bytes: this.#bytes },
			...(this.#end.length > 0 && { end: this.#end.toString("base64") }),
		};
		const path = join(this.#directory, STATUS);
		write(`${path}.tmp`, JSON.stringify(status));
		renameSync(`${path}.tmp`, path);
		syncDirectory(this.#directory);
		closeSync(this.#output);
		this.#ended();
	}
}

/** Fails where something of the name is there. */
function placeNew(whole: string, path: string): void {
	try {
		linkSync(whole, path);
	} catch (error) {
		if (!withoutLinks.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
		copyFileSync(whole, path, constants.COPYFILE_EXCL);
	}
}

function write(path: string, text: string): void {
	const file = openSync(path, "w", 0o600);
	try {
		writeFileSync(file, text);
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}

function syncDirectory(directory: string): void {
	const handle = openSync(directory, "r");
	fsyncSync(handle);
	closeSync(handle);
}

/** When this process began, in the clock of the system: another process of the same number began at another time. */
function startOf(pid: number): string | undefined {
	try {
		return readFileSync(`/proc/${pid}/stat`, "latin1")
			.replace(/^.*\) /s, "")
			.split(" ")[19];
	} catch {
		return undefined;
	}
}
