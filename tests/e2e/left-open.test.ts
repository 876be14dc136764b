/** What code of others leaves open keeps no command from ending: a timer that nobody stops, a phase that does not heed its signal. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reyn } from "../cli.ts";
import { type Killable, startProcess } from "../kit/killable.ts";

let root: string;
let cwd: string;
const open: Killable[] = [];
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-left-open-"));
	cwd = join(root, "project");
	await mkdir(join(cwd, ".reyn/skills"), { recursive: true });
	await writeFile(join(cwd, "harbour.md"), "The lighthouse keeper is called Ada Brandt.\n");
});
afterEach(async () => {
	await Promise.all(open.splice(0).map(({ kill }) => kill()));
	await rm(root, { recursive: true, force: true });
});

function start(args: readonly string[], input?: string): Killable {
	const env = { NO_COLOR: "1", XDG_STATE_HOME: join(root, "own-state"), XDG_CONFIG_HOME: join(root, "own-config") };
	const started = startProcess([process.execPath, ...reyn, "--cwd", cwd, "--trust", ...args], {
		env,
		...(input !== undefined && { input }),
	});
	open.push(started);
	return started;
}

const run = (...args: readonly string[]) => start(args).ended;

/** A skill `idle` whose only phase leaves a timer behind. */
const write = (phase: string): Promise<void> =>
	writeFile(
		join(cwd, ".reyn/skills/idle.ts"),
		`import { defineSkill, done } from "@reyn/skill-resume";
import { z } from "zod";
const a = async () => { setInterval(() => {}, 1000); ${phase} };
export default defineSkill({ name: "idle", description: "idles", input: z.object({}), start: "a", phases: { a } });`,
	);

const ENDS = 'return done("it is over");';
const NEVER_ENDS = 'console.log("begun"); await new Promise(() => {}); return done("");';

test("a timer that a skill leaves: the command ends, and so does a chat", async () => {
	await write(ENDS);
	expect(await run("skill", "run", "idle")).toMatchObject({
		code: 0,
		stdout: expect.stringContaining("it is over"),
		stderr: expect.stringContaining("paid now: 0 model calls"),
	});
	expect(await start(["chat"], "/skill run idle\n/exit\n").ended).toMatchObject({
		code: 0,
		stdout: expect.stringContaining("it is over"),
	});
});

test("a phase that does not heed its signal: a stop leaves it, closes all that is durable, and it goes on with the next start", async () => {
	await write(NEVER_ENDS);
	const working = start(["skill", "run", "idle"]);
	await working.line("begun");
	working.child.kill("SIGTERM");
	const { code, stderr } = await working.ended;
	expect([code, stderr]).toEqual([143, expect.stringContaining("stopped; what is unfinished is kept")]);
	expect(stderr).toMatch(/^reyn: skill s\w+ did not stop in time, and was left; what was recorded of it stays/m);
	const { runs } = JSON.parse((await run("--json", "skill", "list")).stdout);
	expect(runs).toMatchObject([{ skill: "idle", status: "running" }]);
	const trail = (await run("--json", "events")).stdout;
	expect(trail).toContain('"phase started"');
	await write(ENDS);
	expect(await run("resume")).toMatchObject({ code: 0, stdout: expect.stringContaining("it is over") });
});

test("a chat with such a phase in flight ends when it is stopped, and says how to go on", async () => {
	await write(NEVER_ENDS);
	const talking = start(["chat"], "/skill run idle\n/exit\n");
	await talking.line("begun");
	talking.child.kill("SIGINT");
	expect(await talking.ended).toMatchObject({
		code: 130,
		stdout: expect.stringContaining("unfinished work is kept; go on later with: reyn"),
		stderr: expect.stringContaining("did not stop in time"),
	});
});
