/** What code of others leaves open keeps no command from ending: a timer that nobody stops, a phase that does not heed its signal. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { reyn } from "../cli.ts";
import { type Ended, type Killable, startProcess } from "../kit/killable.ts";
import { pageOf } from "../kit/page.ts";

/** A project with a skill `idle`, whose only phase leaves a timer behind. */
class Project implements AsyncDisposable {
	readonly #root: string;
	readonly #started: Killable[] = [];

	private constructor(root: string) {
		this.#root = root;
	}

	static async of(phase: string): Promise<Project> {
		const project = new Project(await mkdtemp(join(tmpdir(), "reyn-left-open-")));
		await mkdir(project.#skills, { recursive: true });
		await writeFile(join(project.#root, "project/harbour.md"), "The lighthouse keeper is called Ada Brandt.\n");
		await project.write(phase);
		return project;
	}

	get #skills(): string {
		return join(this.#root, "project/.reyn/skills");
	}

	write(phase: string): Promise<void> {
		return writeFile(
			join(this.#skills, "idle.ts"),
			`import { defineSkill, done } from "@reyn/skill-resume";
import { z } from "zod";
const a = async () => { setInterval(() => {}, 1000); ${phase} };
export default defineSkill({ name: "idle", description: "idles", input: z.object({}), start: "a", phases: { a } });`,
		);
	}

	start(args: readonly string[], input?: string): Killable {
		const own = { XDG_STATE_HOME: join(this.#root, "own-state"), XDG_CONFIG_HOME: join(this.#root, "own-config") };
		const started = startProcess(
			[process.execPath, ...reyn, "--cwd", join(this.#root, "project"), "--trust", ...args],
			{
				env: { NO_COLOR: "1", ...own },
				...(input !== undefined && { input }),
			},
		);
		this.#started.push(started);
		return started;
	}

	run(...args: readonly string[]): Promise<Ended> {
		return this.start(args).ended;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all(this.#started.map(({ kill }) => kill()));
		await rm(this.#root, { recursive: true, force: true });
	}
}

const ENDS = 'return done("it is over");';
const NEVER_ENDS = 'console.log("begun"); await new Promise(() => {}); return done("");';
const LOOPS = 'console.log("begun"); for (;;) await new Promise((resolve) => setTimeout(resolve, 10));';

describe.concurrent("what is left open", () => {
	test("a timer that a skill leaves: the command ends, and so does a chat", async ({ expect }) => {
		await using project = await Project.of(ENDS);
		expect(await project.run("skill", "run", "idle")).toMatchObject({
			code: 0,
			stdout: expect.stringContaining("it is over"),
			stderr: expect.stringContaining("paid now: 0 model calls"),
		});
		expect(await project.start(["chat"], "/skill run idle\n/exit\n").ended).toMatchObject({
			code: 0,
			stdout: expect.stringContaining("it is over"),
		});
	});

	test("a phase that does not heed its signal: a stop leaves it, closes all that is durable, and it goes on with the next start", async ({
		expect,
	}) => {
		await using project = await Project.of(NEVER_ENDS);
		const working = project.start(["skill", "run", "idle"]);
		await working.line("begun");
		working.child.kill("SIGTERM");
		const { code, stderr } = await working.ended;
		expect([code, stderr]).toEqual([143, expect.stringContaining("stopped; what is unfinished is kept")]);
		expect(stderr).toMatch(/^reyn: skill s\w+ did not stop in time, and was left; what was recorded of it stays/m);
		const { runs } = JSON.parse((await project.run("--json", "skill", "list")).stdout);
		expect(runs).toMatchObject([{ skill: "idle", status: "running" }]);
		const trail = (await project.run("--json", "events")).stdout;
		expect(trail).toContain('"phase started"');
		await project.write(ENDS);
		expect(await project.run("resume")).toMatchObject({ code: 0, stdout: expect.stringContaining("it is over") });
	});

	test("a chat with such a phase in flight ends when it is stopped, and says how to go on", async ({ expect }) => {
		await using project = await Project.of(NEVER_ENDS);
		const talking = project.start(["chat"], "/skill run idle\n/exit\n");
		await talking.line("begun");
		talking.child.kill("SIGINT");
		expect(await talking.ended).toMatchObject({
			code: 130,
			stdout: expect.stringContaining("unfinished work is kept; go on later with: reyn"),
			stderr: expect.stringContaining("did not stop in time"),
		});
	});

	test.each([
		["waits for ever", NEVER_ENDS],
		["goes round for ever", LOOPS],
	])("a page with a phase in flight that %s: a stop leaves it, and its log is whole", async (_, phase) => {
		await using project = await Project.of(phase);
		// A page shows what there is.
		await project.run("task", "add", "keep the light");
		const shown = await pageOf(project.start(["ui"]));
		expect(await shown.ask("/api/begin", { verb: "skill run", given: { name: "idle" } })).toMatchObject({
			status: 200,
		});
		await shown.process.line("begun");
		shown.process.child.kill("SIGTERM");
		const { code, stderr } = await shown.process.ended;
		expect([code, stderr]).toEqual([
			143,
			expect.stringMatching(/^reyn: skill s\w+ did not stop in time, and was left/m),
		]);
		expect(await project.run("wal", "verify")).toMatchObject({ code: 0 });
		const { runs } = JSON.parse((await project.run("--json", "skill", "list")).stdout);
		expect(runs).toMatchObject([{ skill: "idle", status: "running" }]);
		await project.write(ENDS);
		expect(await project.run("resume")).toMatchObject({ code: 0, stdout: expect.stringContaining("it is over") });
	});
});
