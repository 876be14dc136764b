/** The command line while the model is away. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Place, start } from "../cli.ts";
import { deepTest } from "../deep-test.ts";
import type { Ended } from "../kit/killable.ts";
import { some } from "../sample.ts";

const QUESTION = "where does a fox sleep?";
const preload = pathToFileURL(join(import.meta.dirname, "refusing-model.ts")).href;

let root: string;
let place: Place;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-outage-"));
	place = { cwd: join(root, "notes"), state: join(root, "state"), trace: join(root, "calls"), isOfSource: true };
	await mkdir(place.cwd);
	await writeFile(join(place.cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const reyn = (args: readonly string[], input?: string): Promise<Ended> =>
	start(place, args, input, ["env", `NODE_OPTIONS=--import=${preload} --disable-warning=ExperimentalWarning`]).ended;

const refuse = (calls: number): Promise<void> => writeFile(`${place.trace}.refusals`, String(calls));

/** The calls since the last time that this was asked. */
async function calls(): Promise<readonly string[]> {
	const lines = (await readFile(place.trace, "utf8")).split("\n").filter((line) => line !== "");
	await writeFile(place.trace, "");
	return lines;
}

async function calm(): Promise<{ readonly paid: number; readonly answer: string }> {
	const { stdout } = await reyn(["run", "-p", QUESTION]);
	const paid = (await calls()).length;
	await rm(place.state, { recursive: true });
	expect(stdout).toMatch(/A fox sleeps by day/);
	return { paid, answer: stdout };
}

test("a question that met an outage is answered by resume, or when it is asked again, and no call is paid twice", async () => {
	const { paid, answer } = await calm();
	for (const again of some([["resume"], ["run", "-p", QUESTION]], 2)) {
		await rm(place.state, { recursive: true, force: true });
		await refuse(1);
		const away = await reyn(["run", "-p", QUESTION]);
		expect([away.code, away.stdout]).toEqual([1, ""]);
		expect(away.stderr).toMatch(/no answer yet: .*in 1 try: 429: too many requests \(it says to ask again in 3600 s\)/);
		expect(away.stderr).toMatch(/go on with: reyn .* resume\n/);
		const back = await reyn(again);
		expect([back.code, back.stdout]).toEqual([0, answer]);
		expect((await calls()).filter((call) => call === "paid")).toHaveLength(paid);
		expect((await reyn(["resume"])).code).toBe(3);
	}
});

deepTest("chat says so, and goes on with /resume", async () => {
	const { paid } = await calm();
	await refuse(1);
	const { stdout } = await reyn(["chat"], `${QUESTION}\n/resume\n/resume\n/exit\n`);
	expect(stdout).toMatch(
		/no answer yet[\s\S]*go on with \/resume[\s\S]*it goes on[\s\S]*A fox sleeps by day[\s\S]*nothing is unfinished/,
	);
	expect(stdout).not.toContain("unfinished work is kept");
	expect((await calls()).filter((call) => call === "paid")).toHaveLength(paid);
});

test("chat that is left meanwhile says that it is kept", async () => {
	await refuse(1);
	const { code, stdout } = await reyn(["chat"], `${QUESTION}\n/exit\n`);
	expect([code, /unfinished work is kept; go on later with: reyn .* chat/.test(stdout)]).toEqual([0, true]);
});
