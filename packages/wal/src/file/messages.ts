/** What is said when a log cannot be opened: what was expected, what was found, what to do. */
import type { Owner } from "../engine/engine.ts";
import { type WalCode, WalError } from "../errors.ts";
import type { Refusal } from "./decide.ts";
import { activePath } from "./names.ts";

export function refusal(refused: Refusal, directory: string): WalError {
	const { code, path, offset, seq, why, version, remedy, acknowledged } = refused;
	const file = path ?? activePath(directory);
	if (code === "WAL_NEWER_FORMAT") {
		return new WalError(
			code,
			`${file} is in format ${version}; this version of Reyn reads format 1. It was written by a newer Reyn: upgrade to open it`,
			{ path: file, version },
		);
	}
	const detail = { path: file, offset, seq, lastSound: seq - 1, acknowledged };
	if (remedy !== undefined)
		return new WalError(code, `${file} is not used: ${why}. Nothing was changed. ${remedy}`, detail);
	// Nothing says that there ever was a record.
	if (acknowledged === 0 && seq <= 1)
		return new WalError(
			code,
			`${file}, byte ${offset}: expected the header of a log, found what is none (${why}). Nothing was changed. If it is another program's file, take another directory; if it was a log, bring it back from a copy, or see what proposeRepair says`,
			detail,
		);
	return new WalError(
		code,
		`${file}, byte ${offset}: seq ${seq} was acknowledged as durable, and is not as it was: ${why}. Records up to seq ${seq - 1} are sound, ${acknowledged} were acknowledged. Nothing was changed. verifyLog says what is whole, proposeRepair what giving the damaged part up would cost`,
		detail,
	);
}

export function readHolder(text: string, path: string): WalError {
	const holder = parse(text);
	const who = holder
		? `process ${holder.pid} on ${holder.host}, running since ${holder.started}: ${holder.command}`
		: "another process";
	return new WalError(
		"WAL_LOCKED",
		`the log is open for writing in ${who}. Stop it first, or look at the log read-only (lock: ${path})`,
		{ path, ...holder },
	);
}

/** The lock file is free, and yet somebody writes here: it was removed while its holder ran. */
export function lockedBehindOurBack(path: string): WalError {
	return new WalError(
		"WAL_LOCKED",
		`the log is open for writing in another process, whose lock file was removed (${path}). Find and stop that process first, or look at the log read-only`,
		{ path },
	);
}

/** The text of a lock file: written by the holder, and only as good as that. */
function parse(text: string): Owner | undefined {
	try {
		const { pid, host, started, command } = JSON.parse(text) as Partial<Owner>;
		return typeof pid === "number"
			? { pid, host: String(host), started: String(started), command: String(command) }
			: undefined;
	} catch {
		return undefined;
	}
}

export type Doing = "open" | "read" | "write" | "truncate" | "close";

/** An error of the file system, with what was being done, the path and what to do about it. */
export function asWalError(error: unknown, doing: Doing, path: string): Error {
	const { code, message } = error as NodeJS.ErrnoException;
	if (error instanceof WalError || code === undefined || code.startsWith("ERR_")) return error as Error;
	const hint = code === "ENOENT" && doing === "open" ? "there is no log here yet; a writer makes one" : message;
	return new WalError(
		"WAL_IO" satisfies WalCode,
		`cannot ${doing} ${path} (${code}): ${hint}`,
		{ path, code },
		{ cause: error },
	);
}
