/** One command, seen from whoever wants its result: begun once, and found again after a crash. */
import { isUtf8 } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { constants, copyFile, link, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { codeOf } from "@reyn/wal";
import { z } from "zod";
import { ToolError } from "../errors.ts";
import { OUTPUT, RUNNER, type RunnerRecord, type Spec, STATUS, type Status, withoutLinks } from "./files.ts";

const statusSchema = z.object({
	code: z.int().exactOptional(),
	signal: z.string().exactOptional(),
	failed: z.string().exactOptional(),
	stopped: z.enum(["limit", "asked"]).exactOptional(),
	ms: z.number(),
	bytes: z.number(),
	end: z.string().exactOptional(),
}) satisfies z.ZodType<Status>;

const runnerSchema = z.object({ pid: z.int().nonnegative(), start: z.string() }) satisfies z.ZodType<RunnerRecord>;

/** How a command has ended, and what it has printed: the beginning, and where that is not all, the end. */
export interface Ended {
	readonly status: Status;
	readonly head: Buffer;
	readonly tail: Buffer | undefined;
}

/** So much of what it has printed is read: its beginning, and its end. */
const [MOST_HEAD, MOST_TAIL] = [24 * 1024, 8 * 1024];

/** How often it is looked whether a command of a former process has ended, in milliseconds. */
const LOOK_MS = 50;

/** So often it is looked for who runs a command, where that is being written, or cannot be read. */
const MOST_LOOKS = 20;

const isSource = import.meta.url.endsWith(".ts");

/** Takes secrets out of a text. */
type Redact = (text: string) => string;

/** Runs a command in a new directory below `at`, and waits for its end; when the signal aborts it is stopped first. @throws ToolError */
export async function runCommand(at: string, spec: Spec, signal: AbortSignal, redact?: Redact): Promise<Ended> {
	signal.throwIfAborted();
	await mkdir(at, { recursive: true, mode: 0o700 });
	const directory = join(at, `${(await attemptsIn(at)).length + 1}-${randomBytes(3).toString("hex")}`);
	await mkdir(directory, { mode: 0o700 });
	for (const each of [directory, at, dirname(at)]) await syncDirectory(each);
	const runner = startRunner(directory);
	const ended = new Promise<void>((resolve, reject) => {
		runner.once("exit", () => resolve());
		runner.once("error", reject);
	});
	const stop = (): void => void runner.kill("SIGTERM");
	signal.addEventListener("abort", stop, { once: true });
	try {
		runner.stdin?.on("error", () => {});
		runner.stdin?.end(JSON.stringify(spec));
		if (signal.aborted) stop();
		await ended;
	} catch (error) {
		throw new ToolError(
			"TOOL_COMMAND",
			`the command could not be begun: ${(error as Error).message}`,
			{},
			{ cause: error },
		);
	} finally {
		signal.removeEventListener("abort", stop);
	}
	const found = await endIn(directory, redact);
	if (found) return found;
	signal.throwIfAborted();
	throw new ToolError(
		"TOOL_COMMAND",
		"the process that runs commands has ended before the command: nobody knows what it did",
	);
}

function startRunner(directory: string): ChildProcess {
	const entry = fileURLToPath(new URL(isSource ? "./runner.ts" : "./runner.js", import.meta.url));
	if (!existsSync(entry))
		throw new ToolError(
			"TOOL_COMMAND",
			`${entry} is not there; install @reyn/tools again, or in a bundle make runner.js of @reyn/tools/dist an entry of its own beside it`,
		);
	// It outlives this process, and has nothing of it: its own environment is empty.
	return spawn(process.execPath, [entry, directory], {
		...{ cwd: "/", env: {}, detached: true, windowsHide: true },
		stdio: ["pipe", "ignore", "ignore"],
	});
}

/** What became of the command that was begun last below `at`: `never` was any, and none will be. Waits for one that runs. */
export async function findCommand(
	at: string,
	signal: AbortSignal,
	redact?: Redact,
): Promise<Ended | "never" | "unknown"> {
	const [last] = await attemptsIn(at);
	if (last === undefined) return "never";
	const directory = join(at, last);
	const stop = (): void => void tell(directory, "SIGTERM");
	signal.addEventListener("abort", stop, { once: true });
	try {
		for (let looks = 1; ; looks++) {
			if (await statusIn(directory)) return (await endIn(directory, redact)) ?? "unknown";
			const runner = await runnerIn(directory);
			if (runner === undefined) {
				// Nobody runs it now, and from here on nobody can.
				if (await claim(directory)) return "never";
				// It is damaged, or was not made at once.
				if (looks >= MOST_LOOKS) return "unknown";
				await pause(LOOK_MS, undefined, { signal });
				continue;
			}
			if (runner.pid === 0) return "never";
			if (!(await isSame(runner))) return (await endIn(directory, redact)) ?? "unknown";
			await pause(LOOK_MS, undefined, { signal });
		}
	} finally {
		signal.removeEventListener("abort", stop);
	}
}

/** Newest first. */
async function attemptsIn(at: string): Promise<readonly string[]> {
	const names = await readdir(at).catch((error: unknown) => {
		if (codeOf(error) === "ENOENT") return [];
		throw error;
	});
	const number = (name: string): number => Number.parseInt(name, 10);
	return names.filter((name) => /^\d+-[0-9a-f]{6}$/.test(name)).sort((a, b) => number(b) - number(a));
}

/** Once nobody runs it any more: how it ended; undefined: nobody knows. */
async function endIn(directory: string, redact?: Redact): Promise<Ended | undefined> {
	if (redact) await redactIn(directory, redact);
	const status = await statusIn(directory);
	if (!status) return undefined;
	const file = await open(join(directory, OUTPUT), "r").catch(unlessMissing);
	try {
		const size = (await file?.stat())?.size ?? 0;
		const piece = async (from: number, length: number): Promise<Buffer> => {
			const read = await file?.read(Buffer.alloc(length), 0, length, from);
			return read ? read.buffer.subarray(0, read.bytesRead) : Buffer.alloc(0);
		};
		if (status.end === undefined && size > 0 && size <= MOST_HEAD + MOST_TAIL)
			return { status, head: await piece(0, size), tail: undefined };
		const end =
			status.end === undefined
				? await piece(Math.max(0, size - MOST_TAIL), MOST_TAIL)
				: Buffer.from(status.end, "base64");
		return { status, head: await piece(0, Math.min(size, MOST_HEAD)), tail: end.subarray(-MOST_TAIL) };
	} finally {
		await file?.close();
	}
}

/** Takes secrets out of what lies there, which its process has written as it came. What cannot be written without them goes. */
async function redactIn(directory: string, redact: Redact): Promise<void> {
	const output = join(directory, OUTPUT);
	const printed = await readFile(output).catch(unlessMissing);
	const [left, status] = [printed && redactedBytes(printed, redact), await statusIn(directory)];
	const end = status?.end === undefined ? undefined : Buffer.from(status.end, "base64");
	const leftEnd = end && redactedBytes(end, redact);
	if (left) await replace(output, left).catch(() => rm(output));
	if (status && leftEnd)
		await replace(join(directory, STATUS), Buffer.from(JSON.stringify({ ...status, end: leftEnd.toString("base64") })));
}

/** Undefined: it has none. */
function redactedBytes(bytes: Buffer, redact: Redact): Buffer | undefined {
	// What is no text keeps each of its bytes.
	const encoding = isUtf8(bytes) ? "utf8" : "latin1";
	const text = bytes.toString(encoding);
	const left = redact(text);
	return left === text ? undefined : Buffer.from(left, encoding);
}

async function replace(path: string, bytes: Buffer): Promise<void> {
	await writeSynced(`${path}.tmp`, bytes);
	await rename(`${path}.tmp`, path);
	await syncDirectory(dirname(path));
}

async function writeSynced(path: string, bytes: Buffer): Promise<void> {
	const file = await open(path, "w", 0o600);
	try {
		await file.writeFile(bytes);
		await file.sync();
	} finally {
		await file.close();
	}
}

function unlessMissing(error: unknown): undefined {
	if (codeOf(error) !== "ENOENT") throw error;
	return undefined;
}

const statusIn = (directory: string): Promise<Status | undefined> => readJson(join(directory, STATUS), statusSchema);

const runnerIn = (directory: string): Promise<RunnerRecord | undefined> =>
	readJson(join(directory, RUNNER), runnerSchema);

/** Undefined: it is not there, or not whole yet. */
async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
	try {
		return schema.parse(JSON.parse(await readFile(path, "utf8")));
	} catch (error) {
		if (codeOf(error) === "ENOENT" || error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
		throw error;
	}
}

/** Makes sure that nobody runs it any more: whole at once, since this process may die in the midst of it too. @returns false: somebody was first */
async function claim(directory: string): Promise<boolean> {
	const path = join(directory, RUNNER);
	const whole = `${path}.${randomBytes(3).toString("hex")}.tmp`;
	await writeSynced(whole, Buffer.from(JSON.stringify({ pid: 0, start: "" } satisfies RunnerRecord)));
	try {
		// Some file systems have no second names.
		await link(whole, path).catch((error: unknown) => {
			if (!isWithoutLinks(error)) throw error;
			return copyFile(whole, path, constants.COPYFILE_EXCL);
		});
		await syncDirectory(directory);
		return true;
	} catch (error) {
		if (codeOf(error) === "EEXIST") return false;
		throw error;
	} finally {
		await rm(whole, { force: true });
	}
}

const isWithoutLinks = (error: unknown): boolean => withoutLinks.includes(codeOf(error) ?? "");

/** Is it still the process that was recorded, and not another one of its number? */
async function isSame({ pid, start }: RunnerRecord): Promise<boolean> {
	try {
		process.kill(pid, 0);
	} catch (error) {
		if (codeOf(error) !== "EPERM") return false;
	}
	if (start === "") return true;
	const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
	const fields = stat.replace(/^.*\) /s, "").split(" ");
	// One that is over and was not waited for is no more.
	return fields[19] === start && fields[0] !== "Z";
}

async function tell(directory: string, signal: NodeJS.Signals): Promise<void> {
	const runner = await runnerIn(directory).catch(() => undefined);
	if (!runner || runner.pid === 0 || !(await isSame(runner))) return;
	try {
		process.kill(runner.pid, signal);
	} catch {
		// It is over.
	}
}

async function syncDirectory(path: string): Promise<void> {
	const handle = await open(path, "r");
	await handle.sync().finally(() => handle.close());
}
