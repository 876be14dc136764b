/**
 * Whether a state directory was made where it lies, by this user: what goes on by itself in one that came from elsewhere was
 * begun by somebody else. A state says so by a code over its real path and the id of its log, made with a secret that lies outside
 * all states: who puts files in it, as a pull of what git ignores does, has neither the secret nor the id.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { assertOwnDirectory, atomicWrite, logIdIn, readOwnFile, removeFiles, WalError } from "@reyn/wal";
import { layoutOf, namesIn } from "./layout.ts";

/** `new`: there is nothing in it. `own`: made, or trusted, at this path with this secret. `unknown`: anything else. */
export type StateOrigin = "new" | "own" | "unknown";

/** Where a state says it. */
const CODE = "own";
const SECRET_BYTES = 32;
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
	const expected = Buffer.from(codeOf(state, secret));
	return found.length === expected.length && timingSafeEqual(found, expected) ? "own" : "unknown";
}

/**
 * Makes a state this user's own, at the path where it lies and with the log that is in it. One that is made anew is so once its log
 * is there. A directory that is missing is made.
 *
 * @throws WalError `WAL_UNSAFE` when the state or the secret is not this user's own
 */
export async function trustState(state: string, secrets: string): Promise<void> {
	assertOwnDirectory(state);
	mkdirSync(state, { recursive: true, mode: 0o700 });
	const secret = (await secretIn(secrets)) ?? (await makeSecret(secrets));
	await atomicWrite(join(state, CODE), codeOf(state, secret));
}

async function codeIn(state: string): Promise<Buffer | undefined> {
	try {
		return await readOwnFile(join(state, CODE), 1000);
	} catch (error) {
		if ((error as WalError).code !== "WAL_TOO_LARGE") throw error;
		return undefined;
	}
}

function codeOf(state: string, secret: Buffer): string {
	const said = JSON.stringify(["reyn state", realpathSync.native(state), logIdIn(layoutOf(state).wal) ?? ""]);
	const mac = createHmac("sha256", secret).update(said);
	return `${mac.digest("hex")}\n`;
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
