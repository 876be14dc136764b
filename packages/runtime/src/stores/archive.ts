/**
 * Sets a state directory aside under a name beside it, and puts one with a new log in its place, which goes on behind the old one.
 *
 * The new directory is made whole first, beside the old one: `<state>.next-<time>`. Then the old one gets its name, `<state>.archived-<time>`, and
 * that is when it has happened; then the new one gets the place. Killed before that, the old state is as it was. Killed between the two, whoever
 * comes next finishes it ({@link finishArchive}).
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileSnapshots } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import { writeBeginning } from "@reyn/timetravel/internal";
import { type Clock, codeOf, fileBlobs, fileEngine, openWal, type Seq, systemClock, type Wal } from "@reyn/wal";
import { assertOwnDirectory, atomicWrite, isTemporaryName, readOwnFile, removeFiles } from "@reyn/wal/internal";
import { RuntimeError } from "../kernel/errors.ts";
import { mainSession } from "../kernel/sessions.ts";
import { areaIn, assertOwnState, layoutOf } from "./layout.ts";
import { filesBelow } from "./own-tree.ts";
import { claimState, stateOrigin } from "./trust.ts";

export interface Archived {
	/** Where it lies now: whole, and to be looked at there. */
	readonly to: string;
	/** The log that was set aside, with its last seq, and the one that goes on behind it. */
	readonly was: { readonly log: string; readonly tip: Seq };
	readonly now: { readonly log: string; readonly first: Seq };
	/** The files that the new state has too, as paths below it. */
	readonly kept: readonly string[];
}

export interface ArchiveOptions {
	/** The last seq that a person was shown: what was begun since refuses it. Absent: no check. */
	readonly expect?: Seq;
	readonly allowNetwork?: boolean | undefined;
	readonly clock?: Clock;
}

/** A file of settings or a skill is no book. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * What goes on in the new state: what a person has set, and has written, and the tasks, which are of another system. All else is of the old
 * log, and stays with it.
 */
export async function keptByArchive(state: string): Promise<readonly string[]> {
	const found: string[] = [];
	const { config, tasks } = layoutOf(state);
	for (const directory of [config, join(state, "skills"), tasks])
		for await (const path of filesBelow(state, directory)) if (isKept(path)) found.push(relative(state, path));
	return found.sort();
}

const isKept = (path: string): boolean =>
	!isTemporaryName(basename(path)) && !/\.unrecorded-\d+$/.test(path) && !path.endsWith(".db-shm");

/** Names that an archive of this state has, and one that was cut: tools of agents are kept out of them. */
export function besideState(state: string): readonly string[] {
	const above = dirname(resolve(state));
	const marks = [`${basename(state)}.archived-`, `${basename(state)}.next-`];
	return namesIn(above)
		.filter((name) => marks.some((mark) => name.startsWith(mark)))
		.map((name) => join(above, name));
}

/**
 * @param secrets the directory of the user's secret
 * @throws WalError `WAL_LOCKED` while another process has the log, and as `openWal` does; RuntimeError `RUNTIME_STATE_CHANGED`. Nothing is changed then
 */
export async function archiveState(
	directory: string,
	secrets: string,
	{ expect, allowNetwork = false, clock = systemClock }: ArchiveOptions = {},
): Promise<Archived> {
	const state = resolve(directory);
	const layout = layoutOf(state);
	assertOwnDirectory(state);
	assertOwnState(layout);
	const wal = await openWal(fileEngine(layout.wal, { allowNetwork }), {
		records: [],
		proven: (log) => newestSnapshot(fileSnapshots(areaIn(layout, "snapshots")), log, [mainSession]),
	});
	let isAside = false;
	try {
		if (expect !== undefined) await assertNothingSince(wal, expect, state);
		const was = { log: wal.id, tip: wal.tip };
		const { next, to } = placesFor(state, clock.now());
		const made = await makeNext(state, next, was, secrets, { allowNetwork, clock });
		renameSync(state, to);
		isAside = true;
		await putInPlace(next, state, secrets);
		return { to, was, ...made };
	} finally {
		const closed = wal.close();
		// Its files have other names by now, which is refused: it lets go of them as a crash would, and all that it has said is durable.
		await (isAside ? closed.catch(() => {}) : closed);
	}
}

/**
 * Finishes an archive that was killed once the old state had its other name: call it before a state is looked at. Where none was, or it is
 * not this user's, nothing happens.
 */
export async function finishArchive(directory: string, secrets: string): Promise<void> {
	const state = resolve(directory);
	const mark = `${basename(state)}.archived-`;
	for (const path of besideState(state)) {
		if (!basename(path).startsWith(mark)) continue;
		const next = `${state}.next-${basename(path).slice(mark.length)}`;
		// Somebody who can put files beside a state may have put these there: the new one is known by the name that it was made under.
		const there = existsSync(state) ? state : next;
		if (!existsSync(there) || (await stateOrigin(there, secrets, next)) !== "own") continue;
		return putInPlace(next, state, secrets);
	}
}

async function putInPlace(next: string, state: string, secrets: string): Promise<void> {
	// The old name has to be gone for good first, or a power cut could leave two.
	await removeFiles(dirname(state), []);
	try {
		if (!existsSync(state)) renameSync(next, state);
	} catch (error) {
		// Another process has finished it just before.
		if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(String(codeOf(error)))) throw error;
	}
	await removeFiles(dirname(state), []);
	await claimState(state, secrets);
}

const archivedAt = (state: string, time: string): string => `${state}.archived-${time}`;

/** `20261127T164621Z`, and `-2` where that is taken. */
function placesFor(state: string, now: number): { readonly next: string; readonly to: string } {
	const at = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
	for (let times = 1; ; times++) {
		const time = times === 1 ? at : `${at}-${times}`;
		if (!existsSync(archivedAt(state, time))) return { next: `${state}.next-${time}`, to: archivedAt(state, time) };
	}
}

/** Makes the new state whole, and durable. What an earlier try has left of one goes first. */
async function makeNext(
	state: string,
	next: string,
	was: Archived["was"],
	secrets: string,
	{ allowNetwork, clock }: Pick<ArchiveOptions, "allowNetwork" | "clock">,
): Promise<Pick<Archived, "now" | "kept">> {
	for (const path of besideState(state))
		if (basename(path).startsWith(`${basename(state)}.next-`)) rmSync(path, { recursive: true, force: true });
	mkdirSync(next, { mode: 0o700 });
	const kept = await keptByArchive(state);
	for (const path of [".gitignore", ...kept]) {
		const most = path.startsWith(relative(state, layoutOf(state).tasks)) ? Number.MAX_SAFE_INTEGER : MOST_BYTES;
		const bytes = await readOwnFile(join(state, path), most);
		if (bytes) await atomicWrite(join(next, path), bytes);
	}
	const layout = layoutOf(next);
	const follows = { log: was.log, seq: was.tip };
	const engine = fileEngine(layout.wal, { allowNetwork: allowNetwork ?? false, follows });
	const log = await openWal(engine, { records: [], ...(clock && { clock }) });
	const now = { log: log.id, first: log.first };
	await log.close();
	await writeBeginning(fileBlobs(areaIn(layout, "kept")), now.log, now.first);
	await claimState(next, secrets);
	return { now, kept };
}

/** Has nobody begun anything since it was shown? What the log says of itself does not count. */
async function assertNothingSince(wal: Wal, expect: Seq, state: string): Promise<void> {
	for await (const { kind, seq } of wal.read({ after: Math.max(expect, wal.first - 1) }))
		if (!kind.startsWith("wal_"))
			throw new RuntimeError(
				"RUNTIME_STATE_CHANGED",
				`${kind} came at seq ${seq} in ${state} since it was shown, so it was not set aside; look at it again`,
				{ state, seq, kind },
			);
}

function namesIn(directory: string): readonly string[] {
	try {
		return readdirSync(directory);
	} catch (error) {
		// Where nobody may look, nobody can go on: whoever opens the state says so.
		if (["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) return [];
		throw error;
	}
}
