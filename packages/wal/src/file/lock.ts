/** One writer a directory: an OS lock on a file, which the kernel frees at once when its holder dies. */
/// <reference path="./fs-native-extensions.d.ts" />
import { type FileHandle, open } from "node:fs/promises";
import { hostname } from "node:os";
import { tryLock } from "fs-native-extensions";
import { WalError } from "../errors.ts";

export interface Lock {
	release(): Promise<void>;
}

/** @throws WalError `WAL_LOCKED`, naming the holder */
export async function takeLock(path: string): Promise<Lock> {
	const file = await open(path, "a+", 0o600);
	try {
		if (!tryLock(file.fd)) throw await refused(file, path);
		// The text is for the message only: the lock itself is the kernel's, so a stale text locks nobody out.
		await file.truncate(0);
		await file.write(JSON.stringify(holder()), 0);
	} catch (error) {
		await file.close();
		throw error;
	}
	return { release: () => file.close() };
}

function holder(): Record<string, unknown> {
	const started = new Date(performance.timeOrigin).toISOString();
	return { pid: process.pid, host: hostname(), started, command: process.argv.slice(1, 4).join(" ") };
}

async function refused(file: FileHandle, path: string): Promise<WalError> {
	const held = await readHolder(file);
	const who = held
		? `process ${held.pid} on ${held.host}, running since ${held.started}: ${held.command}`
		: "another process";
	return new WalError(
		"WAL_LOCKED",
		`the log is open for writing in ${who}. Stop it first, or look at the log read-only (lock: ${path})`,
		{ path, ...held },
	);
}

async function readHolder(
	file: FileHandle,
): Promise<Record<"pid" | "host" | "started" | "command", string> | undefined> {
	try {
		const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0);
		const { pid, host, started, command } = JSON.parse(buffer.toString("utf8", 0, bytesRead));
		return { pid: String(pid), host: String(host), started: String(started), command: String(command) };
	} catch {
		return undefined;
	}
}
