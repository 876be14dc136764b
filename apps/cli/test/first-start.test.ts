/** A first start that is killed at any change of its log: the next one goes on without a word. What a stranger adds is asked about. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stateOrigin } from "@reyn/runtime";
import { defineRecord, fileEngine, openWal } from "@reyn/wal";
import { MortalDisk } from "@reyn/wal/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { assertOurs } from "../src/context.ts";
import { secretsDirectory } from "../src/trust.ts";

const said = defineRecord("user_prompt", z.object({ text: z.string(), by: z.string() }));

let root: string;
beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "reyn-first-"));
	vi.stubEnv("XDG_STATE_HOME", join(root, "user"));
});
afterEach(() => {
	vi.unstubAllEnvs();
	rmSync(root, { recursive: true });
});

/** What a process has left that died at its n-th change of the log, in a directory; `isWhole`: it did not die. */
async function left(n: number, more: (wal: Awaited<ReturnType<typeof openWal>>) => Promise<unknown> = async () => {}) {
	const disk = new MortalDisk([], ["/"]);
	disk.dieAt(n);
	try {
		const wal = await openWal(fileEngine("/state", { disk }), { records: [said] });
		await more(wal);
		disk.dieAt(1);
		await wal.close();
	} catch (error) {
		if (!disk.dead) throw error;
	}
	const state = join(root, `${n}`);
	for (const path of disk.directories) mkdirSync(join(state, path), { recursive: true, mode: 0o700 });
	// A real disk has a file for the lock, before all others.
	if (disk.files.size > 0) writeFileSync(join(state, "state/wal.lock"), "", { mode: 0o600 });
	for (const [path, { bytes }] of disk.files) {
		mkdirSync(dirname(join(state, path)), { recursive: true, mode: 0o700 });
		writeFileSync(join(state, path), bytes, { mode: 0o600 });
	}
	return state;
}

const start = (state: string): Promise<void> => assertOurs({ cwd: root, state, pace: 0 });

test("after a kill at any change of the log the next start asks nobody", async () => {
	const opened = vi.fn(async () => {});
	for (let n = 1; opened.mock.calls.length === 0; n++) {
		const state = await left(n, opened);
		await expect(start(state), `change ${n}`).resolves.toBeUndefined();
	}
});

test("what somebody else puts there is asked about, wherever the first start was killed", async () => {
	for (let n = 3; n < 12; n += 2) {
		for (const name of [
			"agents/a/note",
			"state/kept/branches.blob",
			"state/snapshots/log.blob",
			"state/scripts/x",
			"state/wal-00000000000000000001.jsonl",
		]) {
			const state = await left(n);
			mkdirSync(dirname(join(state, name)), { recursive: true, mode: 0o700 });
			writeFileSync(join(state, name), "theirs", { mode: 0o600 });
			await expect(start(state), `${name} beside change ${n}`).rejects.toThrow();
			expect(await stateOrigin(state, secretsDirectory())).toBe("unknown");
			rmSync(state, { recursive: true });
		}
	}
	const prompted = await left(1000, (wal) => wal.append(said({ text: "do it", by: "person" }), {}).durable);
	await expect(start(prompted)).rejects.toMatchObject({ code: "CLI_REFUSED" });
});
