/** A state that was made here is known, and one that came from elsewhere is not, whatever it brings along. */
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWal } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stateOrigin, trustState } from "../src/index.ts";

let home: string;
let state: string;
let secrets: string;
beforeEach(() => {
	home = mkdtempSync(join(tmpdir(), "reyn-trust-"));
	[state, secrets] = [join(home, ".reyn"), join(home, "secrets", "reyn")];
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A state with something in it, as `trustState` and then work leave it. */
async function ownState(): Promise<void> {
	await trustState(state, secrets);
	mkdirSync(join(state, "state"), { mode: 0o700 });
}

test("what is missing or has nothing in it is new", async () => {
	expect(await stateOrigin(state, secrets)).toBe("new");
	mkdirSync(state, { mode: 0o700 });
	writeFileSync(join(state, ".gitignore"), "*\n");
	expect(await stateOrigin(state, secrets)).toBe("new");
});

test("a state that was made here is known, through a link above it too", async () => {
	await ownState();
	expect(await stateOrigin(state, secrets)).toBe("own");
	symlinkSync(home, join(home, "other name"));
	expect(await stateOrigin(join(home, "other name", ".reyn"), secrets)).toBe("own");
});

test("a state whose log is another one is not known: files may come into it that nobody saw", async () => {
	const log = await openWal(join(state, "state"), { records: [] });
	await log.close();
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
	rmSync(join(state, "state"), { recursive: true });
	await (await openWal(join(state, "state"), { records: [] })).close();
	expect(await stateOrigin(state, secrets)).toBe("unknown");
});

test("a copy, a state that was moved, and one of another user are not", async () => {
	await ownState();
	cpSync(state, join(home, "copy"), { recursive: true });
	expect(await stateOrigin(join(home, "copy"), secrets)).toBe("unknown");
	expect(await stateOrigin(state, join(home, "of another user"))).toBe("unknown");
	await trustState(join(home, "third"), join(home, "of another user"));
	expect(await stateOrigin(state, join(home, "of another user"))).toBe("unknown");
	renameSync(state, join(home, "moved"));
	expect(await stateOrigin(join(home, "moved"), secrets)).toBe("unknown");
});

test.each([
	["no code", undefined],
	["none of its own", "0".repeat(64)],
	["an empty one", ""],
	["a large one", "0".repeat(10_000)],
])("a state with %s is not known until somebody trusts it", async (_, code) => {
	await ownState();
	if (code === undefined) rmSync(join(state, "own"));
	else writeFileSync(join(state, "own"), code);
	expect(await stateOrigin(state, secrets)).toBe("unknown");
	await trustState(state, secrets);
	expect(await stateOrigin(state, secrets)).toBe("own");
});

test("a secret that a crash has left half, and a link in its place, are refused with the path", async () => {
	await ownState();
	const path = join(secrets, "own-states", "secret");
	const secret = readFileSync(path);
	writeFileSync(path, secret.subarray(7));
	await expect(stateOrigin(state, secrets)).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path } });
	rmSync(path);
	writeFileSync(join(home, "target"), secret);
	symlinkSync(join(home, "target"), path);
	await expect(trustState(state, secrets)).rejects.toMatchObject({ code: "WAL_UNSAFE", detail: { path } });
});

test("many that begin at once agree on one secret, and leave nothing else behind", async () => {
	const states = Array.from({ length: 20 }, (_, at) => join(home, `${at}`));
	await Promise.all(states.map((each) => trustState(each, secrets)));
	for (const each of states) {
		mkdirSync(join(each, "state"));
		expect(await stateOrigin(each, secrets)).toBe("own");
	}
	expect(readdirSync(secrets)).toEqual(["own-states"]);
});
