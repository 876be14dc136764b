/**
 * Decides whether a state directory is this user's own, made where it lies. A state from elsewhere holds work that somebody else has
 * begun, and it must not go on by itself.
 *
 * A state proves its origin by a MAC over its real path and the identity of its log. The key is a secret of the user outside of all
 * states: somebody who puts files into a state, as a `git pull` may, has neither the key nor the identity. When a person trusts a
 * foreign state, its log gets a new random identity, since its former owner knows the old one; segments that were sealed before are
 * bound by their hashes; and kept states are copied to a directory that only the new identity names.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
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

/** `new`: the state is empty. `own`: it was made, or trusted, at this path with this secret. `unknown`: anything else. */
export type StateOrigin = "new" | "own" | "unknown";

/** The file of the MAC in a state. */
const CODE = "own";
const SECRET_BYTES = 32;
/** The largest file of the MAC, in bytes: it has a line for each sealed segment of a log that was trusted. */
const MAX_CODE_BYTES = 16 * 1024 * 1024;
const MAX_SEGMENT_BYTES = 512 * 1024 * 1024;
/** What an empty state may have: none of it starts any work. Of skills a person is asked by their texts. */
const EMPTY: ReadonlySet<string> = new Set([".gitignore", CODE, "skills"]);

/** What a process that was killed before there was a log has left in its place: nothing, or its lock, and what it was about to write. */
const isOfNoLog = (names: readonly string[]): boolean =>
	names.length === 0 ||
	(names.includes("wal.lock") && names.every((name) => name === "wal.lock" || name === "wal.jsonl.new.tmp"));

/**
 * @param secrets the directory of the user's secret: the same for all states, and in none of them
 * @param at where it was when it became known; default: where it is
 * @throws WalError `WAL_UNSAFE` when the state or the secret is not this user's own
 */
export async function stateOrigin(state: string, secrets: string, at = state): Promise<StateOrigin> {
	assertOwnDirectory(state);
	const names = namesIn(state);
	const { wal } = layoutOf(state);
	const isBegun = (name: string): boolean => join(state, name) === wal && isOfNoLog(namesIn(wal));
	if (names.every((name) => EMPTY.has(name) || isBegun(name))) return "new";
	const secret = await secretIn(secrets);
	const found = await codeIn(state);
	if (!secret || !found) return "unknown";
	const identity = identityIn(state);
	if (identity === "unknown") return "unknown";
	const [, ...lines] = found.toString("latin1").trimEnd().split("\n");
	const expected = Buffer.from(macOf(at, identity, lines, secret));
	if (found.length !== expected.length || !timingSafeEqual(found, expected)) return "unknown";
	// Only the newest MAC of this path counts: an older one may have been copied to somebody else, with its log.
	const newest = await newestCode(at, secrets);
	if (newest !== undefined && newest !== hash("sha256", found)) return "unknown";
	// All other segments were sealed when the log was trusted, and have to be unchanged, or were written later.
	for (const path of identity?.others() ?? []) {
		const line = lines.find((each) => each.startsWith(`${basename(path)} `));
		if (line === undefined || line !== (await lineOf(path).catch(unlessTooLarge))) return "unknown";
	}
	return "own";
}

/**
 * Makes sure that an unknown state stays unknown until a person trusts it. Call it before its log is repaired: a repair writes a new
 * segment with the identity of the log, whoever wrote the records in it.
 *
 * @throws WalError `WAL_UNSAFE` when the state or the secret is not this user's own
 */
export async function forgetUnknown(state: string, secrets: string): Promise<void> {
	if ((await stateOrigin(state, secrets)) === "unknown") await removeFiles(state, [CODE]);
}

/**
 * Makes a state this user's own, wherever it came from, because a person trusts it: at its present path and with its present log.
 *
 * @param options `seen`: the {@link stateFingerprint} of the state from before its content was shown to the person
 * @returns the torn tail that was cut off the log, as an opening reports it; the next opening finds none
 * @throws RuntimeError `RUNTIME_STATE_CHANGED` if the state has changed since, and nothing was trusted; WalError `WAL_UNSAFE` when the
 * state or the secret is not this user's own; and as `openWal` does
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
		// The log is locked by now, and not taken over yet: an error here leaves it as it was.
		async proven(logId) {
			if (seen !== undefined && seen !== (await stateFingerprint(state))) throw changed(state);
			for (const path of sealedIn(layout.wal)) assertSegment(path, await sizeOf(path));
			const theirs = areaIn(layout, "kept");
			await copyKept(fileBlobs(theirs), fileBlobs(kept), theirs);
			return newestSnapshot(fileSnapshots(areaIn(layout, "snapshots")), logId, [mainSession]);
		},
	}).catch((error) => {
		// If the log was taken over before the failure, it needs the copied states.
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
 * Makes a state this user's own whose log was made in this process. If there is no log yet, claim it again once there is one. A missing
 * directory is made.
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
 * A fingerprint of a state's content: all files that decide which records of the log count, and the kept states. Equal fingerprints
 * mean equal content.
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

/** The most bytes that a fingerprint reads: more takes seconds, and a stranger may have put gigabytes into the state. */
const MAX_SEEN_BYTES = 512 * 1024 * 1024;

const logFilesIn = (wal: string): readonly string[] =>
	namesIn(wal)
		.filter((name) => /^wal(?:-\d{20})?\.jsonl$|^wal\.(?:head|base)$/.test(name))
		.sort()
		.map((name) => join(wal, name));

const sealedIn = (wal: string): readonly string[] => logFilesIn(wal).filter((path) => /^wal-\d+/.test(basename(path)));

/** Checks a segment before a log is taken over: one too large to be hashed would leave the state unknown for ever. @throws WalError `WAL_TOO_LARGE` */
function assertSegment(path: string, bytes = 0): void {
	if (bytes <= MAX_SEGMENT_BYTES) return;
	throw new WalError(
		"WAL_TOO_LARGE",
		`${path} has ${bytes} bytes; expected a segment of at most ${MAX_SEGMENT_BYTES}. Nothing was trusted; bring it back from a copy`,
		{ path, bytes, limit: MAX_SEGMENT_BYTES },
	);
}

/** The `.broken` files of a log. If there is one, the log is read line by line; its content does not count. */
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

/** Of one that is not there any more, where it would be. */
const realPathOf = (state: string): string =>
	existsSync(state)
		? realpathSync.native(state)
		: join(realpathSync.native(dirname(resolve(state))), basename(resolve(state)));

/** The file outside of the state that knows the newest MAC for its path. */
const newestPath = (state: string, secrets: string): string =>
	join(placeIn(secrets), hash("sha256", realPathOf(state)));

async function newestCode(state: string, secrets: string): Promise<string | undefined> {
	return (await readOwnFile(newestPath(state, secrets), 64))?.toString("latin1");
}

/** Was the log taken over under this identity? A header is written whole, or not at all. */
function isAdopted(state: string, adopt: string): boolean {
	const identity = identityIn(state);
	return identity !== "unknown" && identity?.adopted === adopt;
}

/** The most kept blobs, and bytes of them, that are copied: more would take minutes, and fill a disk. */
const MAX_KEPT_BLOBS = 20_000;
const MAX_KEPT_BYTES = 1024 * 1024 * 1024;

/**
 * Copies the index, the states that it names, and the chunks that they share. Blobs that nothing refers to are left.
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

/** The names of the blobs that the index refers to, with shared chunks. */
async function keptNames(from: BlobStore): Promise<readonly string[]> {
	const bases = new Set(basesIn((await from.get(INDEX)) ?? Buffer.alloc(0)));
	return (await from.list("")).filter((name) => {
		const [, seq] = ROOT.exec(name) ?? [];
		return seq === undefined ? isKeptName(name) : bases.has(Number(seq));
	});
}

/** Is it a name of docs/formats/kept-v1.md? Reyn writes and reads no others there. */
const isKeptName = (name: string): boolean =>
	name === INDEX || /^(?:whole\/)?(?:log|chunks\/[0-9a-f]{64})$/.test(name) || ROOT.test(name);

const INDEX = "branches";
const ROOT = /^(?:whole\/)?roots\/[^/]+\/(\d{20})$/;
const index = z.object({ bases: z.array(z.object({ seq: z.int() })) });

/** The seqs whose states an index names; none if it cannot be read, which the next opening reports. */
function basesIn(bytes: Uint8Array): readonly number[] {
	try {
		const [, text = ""] = Buffer.from(bytes).toString().split("\n");
		return index.parse(JSON.parse(text)).bases.map(({ seq }) => seq);
	} catch {
		return [];
	}
}

/** The identity of the log; `unknown` if it has a log that does not say it. */
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

/** The MAC of a state. @param lines the segments that were sealed when the log was trusted, with their hashes */
function macOf(state: string, identity: LogIdentity | undefined, lines: readonly string[], secret: Buffer): string {
	// A state without a log has a MAC of its own, which does not fit a log that is put in later.
	const { log, adopted } = identity ?? {};
	const who = [log, ...(adopted === undefined ? [] : [adopted, ...lines])].filter((each) => each !== undefined);
	const said = JSON.stringify(["reyn state", realPathOf(state), ...who]);
	const mac = createHmac("sha256", secret).update(said).digest("hex");
	return [mac, ...lines, ""].join("\n");
}

async function lineOf(path: string): Promise<string> {
	const sha256 = (await hashOwnFile(path, MAX_SEGMENT_BYTES)) ?? hash("sha256", "");
	return `${basename(path)} ${sha256}`;
}

// A directory of its own, made by a rename: of two processes that make it at once, only one succeeds.
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
	// Removes no file; it is called for its sync, which makes the new directory name durable.
	if (namesIn(placeIn(secrets)).length > 0) await removeFiles(secrets, []);
	const secret = await secretIn(secrets);
	if (!secret) throw failure;
	return secret;
}
