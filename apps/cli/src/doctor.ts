/** `reyn doctor`: is all here that a durable agent needs? It writes one small file beside the state, and takes it away again. */
import {
	appendFileSync,
	closeSync,
	existsSync,
	fdatasyncSync,
	lstatSync,
	openSync,
	readdirSync,
	rmSync,
	statSync,
} from "node:fs";
import { statfs } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { stateOrigin } from "@reyn/runtime";
import { type Clock, nodeDisk, systemClock } from "@reyn/wal";
import { isTemporaryName } from "@reyn/wal/internal";
import { type Globals, stateOf } from "./context.ts";
import { hasColour, terminal } from "./print.ts";
import { secretsDirectory } from "./trust.ts";

/** `look`: it works, and one should know; `bad`: it does not work. */
export type Verdict = "ok" | "look" | "bad";

export interface Finding {
	readonly what: string;
	readonly verdict: Verdict;
	readonly said: string;
}

/** Looks at this process, the place of the state and the terminal. A look that fails is a finding too. */
export async function examine(globals: Globals, clock: Clock = systemClock): Promise<readonly Finding[]> {
	const state = stateOf(globals);
	const place = nearest(state);
	const findings = [
		node(),
		await look("state", () => origin(state)),
		await look("file system", () => fileSystem(place, globals.allowNetwork)),
	];
	findings.push(await look("space", () => space(place)));
	findings.push(await look("lock and sync", () => lockAndSync(place)));
	findings.push(await look("left over", () => leftOver(state, clock.now())), terminalOf());
	return findings;
}

export const findingLine = ({ what, verdict, said }: Finding): string =>
	`${{ ok: "✓ ok  ", look: "! look", bad: "✗ bad " }[verdict]}  ${what.padEnd(13)}  ${said}`;

async function look(what: string, find: () => Promise<Omit<Finding, "what">>): Promise<Finding> {
	try {
		return { what, ...(await find()) };
	} catch (error) {
		return { what, verdict: "bad", said: (error as Error).message };
	}
}

/** The state, or what it will be made in. */
function nearest(state: string): string {
	for (let path = resolve(state); ; path = dirname(path)) {
		const found = statSync(path, { throwIfNoEntry: false });
		if (found?.isDirectory() || path === dirname(path)) return path;
	}
}

const node = (): Finding => ({
	what: "Node",
	verdict: "ok",
	said: `${process.version} on ${process.platform} ${process.arch} (22.18 or newer is needed)`,
});

async function origin(state: string): Promise<Omit<Finding, "what">> {
	switch (await stateOrigin(state, secretsDirectory())) {
		case "new":
			return { verdict: "ok", said: `none yet; it will be ${state}` };
		case "own":
			return { verdict: "ok", said: `${state}, made here by this user` };
		case "unknown":
			return {
				verdict: "look",
				said: `${state} was copied, moved or made by somebody else: nothing of it goes on without --trust`,
			};
	}
}

async function fileSystem(place: string, allowNetwork = false): Promise<Omit<Finding, "what">> {
	const found = nodeDisk.fileSystem(place);
	if (!found) return { verdict: "ok", said: "a disk of this machine" };
	if (found.kind === "network" && !allowNetwork)
		return {
			verdict: "bad",
			said: `${found.name}: its locks and syncs may not hold, so no log is kept there without --allow-network`,
		};
	if (found.kind === "memory")
		return { verdict: "look", said: `${found.name}: nothing here survives a loss of power, or a restart` };
	return {
		verdict: "look",
		said: `${found.name}: what it promises of locks and syncs is tried when the log is opened`,
	};
}

const [LITTLE, MIB] = [512, 1024 * 1024];

async function space(place: string): Promise<Omit<Finding, "what">> {
	const { bavail, bsize } = await statfs(place);
	const free = Math.floor((bavail * bsize) / MIB);
	return { verdict: free < LITTLE ? "look" : "ok", said: `${free} MiB are free; on a full disk work waits` };
}

const SYNCS = 20;

async function lockAndSync(place: string): Promise<Omit<Finding, "what">> {
	const [path, lockPath] = [`reyn-doctor-${process.pid}`, `reyn-doctor-${process.pid}.lock`].map((name) =>
		join(place, name),
	);
	if (path === undefined || lockPath === undefined) throw new Error("no path");
	try {
		const lock = nodeDisk.lock(lockPath, "doctor");
		if ("heldBy" in lock) return { verdict: "bad", said: `${lockPath} is locked by ${lock.heldBy}` };
		lock.release();
		const file = openSync(path, "wx", 0o600);
		const took: number[] = [];
		try {
			for (let i = 0; i < SYNCS; i++) {
				appendFileSync(file, Buffer.alloc(4096, i));
				const before = performance.now();
				fdatasyncSync(file);
				took.push(performance.now() - before);
			}
		} finally {
			closeSync(file);
		}
		const ms = took.sort((a, b) => a - b)[SYNCS / 2] ?? 0;
		const said = `one process at a time is held to; a sync takes ${ms.toFixed(2)} ms (median of ${SYNCS})`;
		if (ms > 50) return { verdict: "look", said: `${said}: slow, and each step waits for at least one` };
		if (ms < 0.02)
			return { verdict: "look", said: `${said}: no disk is as fast, so a loss of power may take what it says` };
		return { verdict: "ok", said };
	} finally {
		for (const each of [path, lockPath]) rmSync(each, { force: true });
	}
}

const counted = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** Longer than any write takes. */
const STALE_MS = 60 * 60 * 1000;

async function leftOver(state: string, now: number): Promise<Omit<Finding, "what">> {
	const files = [...filesBelow(state)];
	const old = files.filter((path) => {
		const found = isTemporaryName(basename(path)) && lstatSync(path, { throwIfNoEntry: false });
		return found && now - found.mtimeMs > STALE_MS;
	});
	const broken = files.filter((path) => basename(path).includes(".broken-"));
	const said = [
		...(old.length > 0 ? [`${counted(old.length, "temporary file")} of writes that were cut; gc takes them away`] : []),
		...(broken.length > 0 ? [`${counted(broken.length, "torn tail")}, kept for you to look at`] : []),
	];
	return said.length === 0 ? { verdict: "ok", said: "nothing" } : { verdict: "look", said: said.join("; ") };
}

/** Follows no link. */
function* filesBelow(directory: string): Generator<string> {
	if (!existsSync(directory)) return;
	for (const entry of readdirSync(directory, { withFileTypes: true })) {
		const path = join(directory, entry.name);
		if (entry.isDirectory()) yield* filesBelow(path);
		else if (entry.isFile()) yield path;
	}
}

function terminalOf(): Finding {
	const { TERM = "none", NO_COLOR } = process.env;
	if (!terminal.isTTY) return { what: "terminal", verdict: "ok", said: "none here: whole lines, and no colours" };
	const colours = hasColour ? "colours" : NO_COLOR ? "no colours (NO_COLOR)" : "no colours";
	const size = `${terminal.columns} × ${terminal.rows}`;
	const isDumb = TERM === "dumb" || process.stdin.isTTY !== true;
	return {
		what: "terminal",
		verdict: "ok",
		said: `${TERM}, ${size}, ${colours}${isDumb ? "; the chat is whole lines" : ""}`,
	};
}
