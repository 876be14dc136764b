/**
 * Whether a state directory was made where it lies, by this user: what goes on by itself in one that came from elsewhere was
 * begun by somebody else. A state says so by a code over its real path and who its log is, made with a secret that lies outside
 * all states: who puts files in it, as a pull of what git ignores does, has neither the secret nor what the log says of itself.
 * Whoever a state came from knows that of it, so a log that is trusted says something new from then on, and what was sealed
 * before has to stay as it was seen. What stands for records that are gone is copied to where only this log has it.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileSnapshots } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import { type BlobStore, codeOf, fileBlobs, fileEngine, openWal, type TornTail, WalError } from "@reyn/wal";
import {
	assertOwnDirectory,
	atomicWrite,
	hashOwnFile,
	type LogIdentity,
	logIdentityIn,
	readOwnFile,
	removeFiles,
} from "@reyn/wal/internal";
import { z } from "zod";
import { RuntimeError } from "../kernel/errors.ts";
import { mainSession } from "../kernel/sessions.ts";
import { areaIn, assertOwnState, layoutOf, namesIn } from "./layout.ts";
import { sizeOf } from "./own-tree.ts";

/** `new`: there is nothing in it. `own`: made, or trusted, at this path with this secret. `unknown`: anything else. */
export type StateOrigin = "new" | "own" | "unknown";

/** Where a state says it. */
const CODE = "own";
const SECRET_BYTES = 32;
/** A line for each segment of a log that came from elsewhere. */
const MAX_CODE_BYTES = 16 * 1024 * 1024;
const MAX_SEGMENT_BYTES = 512 * 1024 * 1024;
/** What a directory may have and still have nothing in it: neither goes on by itself. */
const EMPTY: ReadonlySet<string> = new Set([".gitignore", CODE]);

/**
 * @param secrets the directory of the user's secret: the same for all states, and in none of them
 * @throws WalError `WAL_UNSAFE` when the state or the secret is not this user's own
 */
export async function stateOrigin(state: string, secrets: string): Promise<StateOrigin> {
	assertOwnDirectory(state);
	const names = namesIn(state);
	if (names.every((name) => EMPTY.has(name))) return "new";
	const secret = await secretIn(secrets);
	const found = await codeIn(state);
	if (!secret || !found) return "unknown";
	const identity = identityIn(state);
	if (identity === "unknown") return "unknown";
	const [, ...lines] = found.toString("latin1").trimEnd().split("\n");
	const expected = Buffer.from(macOf(state, identity, lines, secret));
	if (found.length !== expected.length || !timingSafeEqual(found, expected)) return "unknown";
	// An older code of this place may have gone to somebody else, with the log that it is of.
	const newest = await newestCode(state, secrets);
	if (newest !== undefined && newest !== hash("sha256", found)) return "unknown";
	// Whatever else is in the log was sealed when it was trusted, and is as it was, or came later.
	for (const path of identity?.others() ?? []) {
		const line = lines.find((each) => each.startsWith(`${basename(path)} `));
		if (line === undefined || line !== (await lineOf(path).catch(unlessTooLarge))) return "unknown";
	}
	return "own";
}

/**
 * A state that is not known is not known later either, until somebody trusts it. To be called before its log is repaired: all that
 * a repair keeps is in a segment that says whose the log is, whoever wrote it.
 *
 * @throws WalError `WAL_UNSAFE` when the state or the secret is not this user's own
 */
export async function forgetUnknown(state: string, secrets: string): Promise<void> {
	if ((await stateOrigin(state, secrets)) === "unknown") await removeFiles(state, [CODE]);
}

/**
 * Makes a state this user's own that a person trusts, wherever it came from, at the path where it lies and with the log that is in it.
 * Gives what was set aside of its log, as an opening does: the next one finds it done.
 *
 * @param options `seen`: what {@link stateFingerprint} gave of it before somebody was shown what is in it
 * @throws RuntimeError `RUNTIME_STATE_CHANGED` where it is another one by now, and nothing was trusted; WalError `WAL_UNSAFE` when the state or the secret is not this user's own; and as `openWal` does, of the log in it
 */
export async function trustState(
	state: string,
	secrets: string,
	{ allowNetwork = false, seen }: { readonly allowNetwork?: boolean; readonly seen?: string | undefined } = {},
): Promise<TornTail | undefined> {
	assertOwnDirectory(state);
	const layout = layoutOf(state);
	assertOwnState(layout);
	if (identityIn(state) === undefined) {
		if (seen !== undefined && seen !== (await stateFingerprint(state))) throw changed(state);
		await claimState(state, secrets);
		return undefined;
	}
	const adopt = randomBytes(16).toString("hex");
	const kept = areaIn(layout, "kept", adopt);
	const adopted = await openWal(fileEngine(layout.wal, { allowNetwork, adopt }), {
		records: [],
		// The log is locked by now, and not taken over yet: a cut leaves it as it was.
		async proven(logId) {
			if (seen !== undefined && seen !== (await stateFingerprint(state))) throw changed(state);
			for (const path of sealedIn(layout.wal)) assertSegment(path, await sizeOf(path));
			const theirs = areaIn(layout, "kept");
			await copyKept(fileBlobs(theirs), fileBlobs(kept), theirs);
			return newestSnapshot(fileSnapshots(areaIn(layout, "snapshots")), logId, [mainSession]);
		},
	}).catch((error) => {
		// A log that was taken over before it failed has no other.
		if (!isAdopted(state, adopt)) rmSync(kept, { recursive: true, force: true });
		throw error;
	});
	await adopted.close();
	const { others } = logIdentityIn(layout.wal) as LogIdentity;
	const lines: string[] = [];
	for (const path of others()) lines.push(await lineOf(path));
	await bind(state, secrets, lines);
	return adopted.torn;
}

/**
 * Makes a state this user's own whose log was made in this process, or is not made yet: then it is so once it is claimed again. A
 * directory that is missing is made.
 *
 * @throws WalError `WAL_UNSAFE` when the state or the secret is not this user's own
 */
export async function claimState(state: string, secrets: string): Promise<void> {
	assertOwnDirectory(state);
	mkdirSync(state, { recursive: true, mode: 0o700 });
	await bind(state, secrets, []);
}

async function bind(state: string, secrets: string, lines: readonly string[]): Promise<void> {
	const secret = (await secretIn(secrets)) ?? (await makeSecret(secrets));
	const identity = identityIn(state);
	if (identity === "unknown") return;
	const code = macOf(state, identity, lines, secret);
	await atomicWrite(newestPath(state, secrets), hash("sha256", code));
	await atomicWrite(join(state, CODE), code);
}

/**
 * Of what a state says: all files that decide what counts of its log, and what stands for records that are gone, under the names
 * that this is read by. Equal ones are the same.
 *
 * @throws WalError `WAL_TOO_LARGE` before anything is read, `WAL_UNSAFE`
 */
export async function stateFingerprint(state: string): Promise<string> {
	assertOwnDirectory(state);
	const layout = layoutOf(state);
	assertOwnState(layout);
	const kept = fileBlobs(areaIn(layout, "kept"));
	const log = logFilesIn(layout.wal);
	const blobs = (await kept.list("")).filter(isKeptName);
	const files = log.length + blobs.length;
	if (files > MAX_KEPT_BLOBS)
		throw new WalError(
			"WAL_TOO_LARGE",
			`${layout.wal} has ${files} files of its log and of kept states; at most ${MAX_KEPT_BLOBS} are trusted. Nothing was trusted; run its gc where it was made, and take it anew`,
			{ path: layout.wal, files, limit: MAX_KEPT_BLOBS },
		);
	const sizes = [...log.map(sizeOf), ...blobs.map((name) => kept.size?.(name))];
	const bytes = (await Promise.all(sizes)).reduce<number>((sum, size = 0) => sum + size, 0);
	if (bytes > MAX_SEEN_BYTES)
		throw new WalError(
			"WAL_TOO_LARGE",
			`${layout.wal} has ${bytes} bytes in ${sizes.length} files of its log and of kept states; of a state that is not known at most ${MAX_SEEN_BYTES} are held to what was shown of it. Nothing was trusted`,
			{ path: layout.wal, bytes, files: sizes.length, limit: MAX_SEEN_BYTES },
		);
	const seen: (readonly [name: string, sha256: string | undefined])[] = [];
	for (const path of log) seen.push([basename(path), await hashOwnFile(path, MAX_SEEN_BYTES)]);
	for (const name of blobs) {
		const blob = await kept.get(name, MAX_SEEN_BYTES);
		seen.push([`kept/${name}`, blob && hash("sha256", blob)]);
	}
	return hash("sha256", JSON.stringify([seen, brokenIn(layout.wal)]));
}

/** To read more takes seconds, and whoever made the state may have put gigabytes of nothing there. */
const MAX_SEEN_BYTES = 512 * 1024 * 1024;

const logFilesIn = (wal: string): readonly string[] =>
	namesIn(wal)
		.filter((name) => /^wal(?:-\d{20})?\.jsonl$|^wal\.(?:head|base)$/.test(name))
		.sort()
		.map((name) => join(wal, name));

const sealedIn = (wal: string): readonly string[] => logFilesIn(wal).filter((path) => /^wal-\d+/.test(basename(path)));

/** Before a log is taken over: one that cannot be bound after it would be asked about for ever. @throws WalError `WAL_TOO_LARGE` */
function assertSegment(path: string, bytes = 0): void {
	if (bytes <= MAX_SEGMENT_BYTES) return;
	throw new WalError(
		"WAL_TOO_LARGE",
		`${path} has ${bytes} bytes; expected a segment of at most ${MAX_SEGMENT_BYTES}. Nothing was trusted; bring it back from a copy`,
		{ path, bytes, limit: MAX_SEGMENT_BYTES },
	);
}

/** Where one lies, the log is read line by line; what is in it counts for nothing. */
const brokenIn = (wal: string): readonly string[] =>
	namesIn(wal)
		.filter((name) => name.startsWith("wal.jsonl.broken-"))
		.sort();

const changed = (state: string): RuntimeError =>
	new RuntimeError(
		"RUNTIME_STATE_CHANGED",
		`the state in ${state} has changed since what is in it was shown, so it was not trusted; look at it again`,
		{ state },
	);

/** Where this user's own side knows the newest code of a state. */
const newestPath = (state: string, secrets: string): string =>
	join(placeIn(secrets), hash("sha256", realpathSync.native(state)));

async function newestCode(state: string, secrets: string): Promise<string | undefined> {
	return (await readOwnFile(newestPath(state, secrets), 64))?.toString("latin1");
}

/** A header is there whole, or not at all. */
function isAdopted(state: string, adopt: string): boolean {
	const identity = identityIn(state);
	return identity !== "unknown" && identity?.adopted === adopt;
}

/** What a state may have kept: more takes minutes to copy, and a disk. */
const MAX_KEPT_BLOBS = 20_000;
const MAX_KEPT_BYTES = 1024 * 1024 * 1024;

/**
 * Copies the index, the states that it names, and what states share. What nothing refers to stays where it is.
 *
 * @throws WalError `WAL_TOO_LARGE` before anything is copied
 */
async function copyKept(from: BlobStore, to: BlobStore, path: string): Promise<void> {
	const names = await keptNames(from);
	let bytes = 0;
	const assertFits = (): void => {
		if (names.length <= MAX_KEPT_BLOBS && bytes <= MAX_KEPT_BYTES) return;
		throw new WalError(
			"WAL_TOO_LARGE",
			`${path} has ${names.length} files, of ${bytes} bytes together; expected at most ${MAX_KEPT_BLOBS}, of ${MAX_KEPT_BYTES} bytes. Nothing was trusted; run its gc where it was made, and take it anew`,
			{ path, files: names.length, bytes, maxFiles: MAX_KEPT_BLOBS, maxBytes: MAX_KEPT_BYTES },
		);
	};
	assertFits();
	for (const name of names) bytes += (await from.size?.(name)) ?? 0;
	assertFits();
	for (const name of names) {
		const blob = await from.get(name, MAX_KEPT_BYTES);
		if (blob) await to.put(name, blob);
	}
}

/** Those that the index names, and what they share. */
async function keptNames(from: BlobStore): Promise<readonly string[]> {
	const bases = new Set(basesIn((await from.get(INDEX)) ?? Buffer.alloc(0)));
	return (await from.list("")).filter((name) => {
		const [, seq] = ROOT.exec(name) ?? [];
		return seq === undefined ? isKeptName(name) : bases.has(Number(seq));
	});
}

/** Is it one that docs/formats/kept-v1.md has? No Reyn writes another there, or reads it. */
const isKeptName = (name: string): boolean =>
	name === INDEX || /^(?:whole\/)?(?:log|chunks\/[0-9a-f]{64})$/.test(name) || ROOT.test(name);

const INDEX = "branches";
const ROOT = /^(?:whole\/)?roots\/[^/]+\/(\d{20})$/;
const index = z.object({ bases: z.array(z.object({ seq: z.int() })) });

/** The seqs whose states an index names; none where it cannot be read, which an opening then says. */
function basesIn(bytes: Uint8Array): readonly number[] {
	try {
		const [, text = ""] = Buffer.from(bytes).toString().split("\n");
		return index.parse(JSON.parse(text)).bases.map(({ seq }) => seq);
	} catch {
		return [];
	}
}

/** A log that does not say who it is, is nobody's. */
function identityIn(state: string): LogIdentity | undefined | "unknown" {
	try {
		return logIdentityIn(layoutOf(state).wal);
	} catch (error) {
		if (codeOf(error) !== "WAL_CORRUPT") throw error;
		return "unknown";
	}
}

async function codeIn(state: string): Promise<Buffer | undefined> {
	return readOwnFile(join(state, CODE), MAX_CODE_BYTES).catch(unlessTooLarge);
}

function unlessTooLarge(error: WalError): undefined {
	if (error.code !== "WAL_TOO_LARGE") throw error;
}

/** @param lines of the segments that were sealed when the log was trusted */
function macOf(state: string, identity: LogIdentity | undefined, lines: readonly string[], secret: Buffer): string {
	// No log says nothing: one that is put in later is another.
	const { log, adopted } = identity ?? {};
	const who = [log, ...(adopted === undefined ? [] : [adopted, ...lines])].filter((each) => each !== undefined);
	const said = JSON.stringify(["reyn state", realpathSync.native(state), ...who]);
	const mac = createHmac("sha256", secret).update(said).digest("hex");
	return [mac, ...lines, ""].join("\n");
}

async function lineOf(path: string): Promise<string> {
	const sha256 = (await hashOwnFile(path, MAX_SEGMENT_BYTES)) ?? hash("sha256", "");
	return `${basename(path)} ${sha256}`;
}

// A directory of its own: of two processes that make it at once, one alone can put it in its place.
const placeIn = (secrets: string): string => join(secrets, "own-states");

async function secretIn(secrets: string): Promise<Buffer | undefined> {
	const path = join(placeIn(secrets), "secret");
	const secret = await readOwnFile(path, SECRET_BYTES);
	if (secret === undefined || secret.length === SECRET_BYTES) return secret;
	throw new WalError(
		"WAL_UNSAFE",
		`${path} is not used: expected ${SECRET_BYTES} bytes, found ${secret.length}. Move ${dirname(path)} away; each state is then asked about once more`,
		{ path, expected: SECRET_BYTES, found: secret.length },
	);
}

async function makeSecret(secrets: string): Promise<Buffer> {
	const made = join(secrets, `.own-states-${randomBytes(8).toString("hex")}`);
	let failure: unknown;
	try {
		await atomicWrite(join(made, "secret"), randomBytes(SECRET_BYTES));
		renameSync(made, placeIn(secrets));
	} catch (error) {
		failure = error;
		rmSync(made, { recursive: true, force: true });
	}
	// No file to remove, but the sync that makes the new name durable, whoever gave it.
	if (namesIn(placeIn(secrets)).length > 0) await removeFiles(secrets, []);
	const secret = await secretIn(secrets);
	if (!secret) throw failure;
	return secret;
}
