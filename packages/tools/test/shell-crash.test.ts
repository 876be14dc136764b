/** A process that runs commands is killed: each command is begun once, and what became of it is known. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-shell-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const KILLS = sample(2, 50);

test(`of ${KILLS} kills each command is begun once, and none is in doubt that its process has survived`, async () => {
	const random = seeded(SEED);
	const driver = (): ReturnType<typeof startSource> =>
		startSource(join(import.meta.dirname, "shelling.ts"), [root, "3"]);
	for (let kill = 0; kill < KILLS; kill++) {
		const process = driver();
		const ledger = (): Promise<string> => readFile(join(root, "files/ledger"), "utf8").catch(() => "");
		await process.line("begins");
		// At any moment, and in the middle of a command that outlives that.
		if (kill % 2 === 0) await pause(random.below(2200));
		else {
			const last = "2\n";
			while (!(await ledger()).endsWith(last)) await pause(5);
		}
		await process.kill();
		const { code, stdout, stderr } = await driver().ended;
		expect([code, stderr], stderr).toEqual([0, ""]);
		for (const i of [1, 2, 3]) expect(stdout).toMatch(new RegExp(`^${i}: it ended with 0 .*${i} is done$`, "m"));
		expect(await ledger()).toBe("1\n2\n3\n");
		expect(existsSync(join(root, "doubts"))).toBe(false);
		for (const each of ["files", "commands", "state"]) await rm(join(root, each), { recursive: true });
	}
});
