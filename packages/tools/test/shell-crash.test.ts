/** A process that runs commands is killed: each command is begun once, and what became of it is known. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
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

const KILLS = Number(process.env.REYN_RUNS ?? sample(2, 30));
/** So many at a time: most of it is waiting for commands. */
const LANES = 4;

test(`of ${KILLS} kills each command is begun once, and none is in doubt that its process has survived`, async () => {
	const random = seeded(SEED);
	const pauses = Array.from({ length: KILLS }, () => random.below(2200));
	const lane = async (first: number): Promise<void> => {
		for (let kill = first; kill < KILLS; kill += LANES) await killed(kill, pauses[kill] ?? 0);
	};
	await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
});

/** @param ms an even kill is so long after the beginning: at any moment; an odd one in the middle of a command that outlives it */
async function killed(kill: number, ms: number): Promise<void> {
	const own = join(root, String(kill));
	await mkdir(own);
	const driver = (): ReturnType<typeof startSource> =>
		startSource(join(import.meta.dirname, "shelling.ts"), [own, "3"]);
	const ledger = (): Promise<string> => readFile(join(own, "files/ledger"), "utf8").catch(() => "");
	const process = driver();
	await process.line("begins");
	if (kill % 2 === 0) await pause(ms);
	else while (!(await ledger()).includes("2\n")) await pause(5);
	await process.kill();
	const { code, stdout, stderr } = await driver().ended;
	expect([code, stderr], stderr).toEqual([0, ""]);
	for (const i of [1, 2, 3]) expect(stdout).toMatch(new RegExp(`^${i}: it ended with 0 .*${i} is done$`, "m"));
	expect(await ledger()).toBe("1\n2\n3\n");
	expect(existsSync(join(own, "doubts"))).toBe(false);
}
