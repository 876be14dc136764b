/**
 * Skills that people write in a file, through the command line, in a project without a single package: written, run, killed in each phase,
 * edited, resumed; and what is said of each file that gives no skill.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { reyn } from "../cli.ts";
import { type Ended, startProcess } from "../kit/killable.ts";
import { some } from "../sample.ts";

let root: string;
let cwd: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-skill-files-"));
	cwd = join(root, "project");
	await mkdir(cwd);
	await writeFile(join(cwd, "harbour.md"), "The lighthouse keeper is called Ada Brandt.\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const env = () => ({
	...{ NO_COLOR: "1", XDG_STATE_HOME: join(root, "own-state"), XDG_CONFIG_HOME: join(root, "own-config") },
});

const run = (...args: readonly string[]): Promise<Ended> =>
	startProcess([process.execPath, ...reyn, "--cwd", cwd, ...args], { env: env() }).ended;

const jsonOf = async (...args: readonly string[]) => JSON.parse((await run("--json", ...args)).stdout);

const fileOf = (name: string): string => join(cwd, ".reyn/skills", name);

async function write(name: string, text: string): Promise<string> {
	await mkdir(join(fileOf(name), ".."), { recursive: true });
	await writeFile(fileOf(name), text);
	return fileOf(name);
}

/** What was done, in order, over all processes. */
const done = async (): Promise<readonly string[]> =>
	(await readFile(join(root, "done"), "utf8").catch(() => "")).split("\n").filter((line) => line !== "");

/** Three phases, each with an effect that is noted; it kills its own process where it is told to, once. */
const story = (more: { readonly first?: string; readonly last?: string } = {}): string => `
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const root: string = ${JSON.stringify(root)};
function here(place: string): void {
	const at = root + "/kill";
	if (!existsSync(at) || readFileSync(at, "utf8") !== place) return;
	rmSync(at);
	process.kill(process.pid, "SIGKILL");
}
const note = (what: string) => async () => (appendFileSync(root + "/done", what + "\\n"), what);

const known = (what: string) =>
	readFileSync(root + "/done", "utf8").split("\\n").includes(what) ? { kind: "done", result: what } as const : { kind: "not_done" } as const;

const phase = (name: string, then: (made: string, before: unknown) => ReturnType<typeof done>) =>
	async ({ step }: any, _input: unknown, before: unknown) => {
		note("begin " + name)();
		here(name + " before");
		const made = await step(name, note(name), { purity: "side_effect", reconcile: async () => known(name) });
		here(name + " after");
		return then(made, before);
	};

export default defineSkill({
	name: "story", description: "tells a story", input: z.object({ of: z.string() }), start: "one",
	phases: {
		one: phase("one", (made) => next("two", made + "${more.first ?? ""}")),
		two: phase("two", (made, before) => next("three", before + " " + made)),
		three: phase("three", (made, before) => done(before + " " + made + "${more.last ?? ""}")),
	},
});
`;

/** Runs it, and has it killed there. @returns the id of the run */
async function killed(place: string): Promise<string> {
	await write("story.ts", story());
	await writeFile(join(root, "kill"), place);
	const { signal } = await run("skill", "run", "story", "--input", '{"of":"a fox"}', "--trust");
	expect(signal).toBe("SIGKILL");
	const { runs } = await jsonOf("skill", "list");
	expect(runs).toMatchObject([{ skill: "story", status: "running" }]);
	return runs[0].run;
}

const phases = ["one", "two", "three"];
const places = phases.flatMap((phase) => [`${phase} before`, `${phase} after`]);

test.each(some(places, 6))("killed at %s it goes on there, and no effect is made twice", async (place) => {
	await killed(place);
	const { code, stdout } = await run("resume");
	expect([code, stdout]).toEqual([0, expect.stringContaining("one two three")]);
	const all = await done();
	const [at = "", when] = place.split(" ");
	const again = [`begin ${at}`];
	const expected = phases.flatMap((phase) => {
		if (phase !== at) return [`begin ${phase}`, phase];
		return when === "before" ? [...again, ...again, phase] : [...again, phase, ...again];
	});
	expect(all).toEqual(expected);
	expect((await jsonOf("skill", "list")).runs).toEqual([]);
});

test("edited between a kill and the resume: finished phases stay, what is recorded of the open one too, and a preview says so", async () => {
	const id = await killed("two after");
	await write("story.ts", story({ first: " edited", last: " edited" }));
	const { code, stderr } = await run("resume");
	expect([code, stderr]).toEqual([
		1,
		expect.stringContaining(
			`${fileOf("story.ts")}: nobody has said yet that story.ts may run, as it is now: read it, then say --trust`,
		),
	]);
	const preview = await run("skill", "resume", id, "--dry-run", "--trust");
	expect(preview.stdout.trimEnd().split("\n")).toEqual([
		`skill run ${id} of story goes on in phase two, visit 1`,
		"finished, and not run again: one",
		"its skill has changed since it began: calls of this phase that are as they were are not paid again. Which those are is known only when it runs; at most paid again: 0 model calls, 0 tokens",
		expect.stringMatching(
			/^in doubt: two, begun at #\d+; it is made again, unless it is known to have happened \(policy retry\)$/,
		),
	]);
	expect((await run("status")).stdout).toContain("its skill has changed since it began");
	const ended = await run("resume");
	expect([ended.code, ended.stdout]).toEqual([0, expect.stringMatching(/one two three edited$/m)]);
	expect(await done()).toEqual(["begin one", "one", "begin two", "two", "begin two", "begin three", "three"]);
});

test("a run whose file does not load waits, is said to, and goes on when it loads again; all else goes on", async () => {
	const id = await killed("two before");
	const path = await write("story.ts", "throw new Error('half written');");
	const why = `${path}:1: it throws when it is loaded: half written`;
	const { code, stderr } = await run("resume", "--trust");
	expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
	expect((await run("run", "-p", "Who is the lighthouse keeper?")).stdout).toContain("Ada Brandt");
	expect((await jsonOf("status")).skills).toMatchObject([{ run: id, status: "running", waits: why }]);
	expect((await run("skill", "run", "story")).stderr).toContain(why);
	await write("story.ts", story());
	expect(await run("resume", "--trust")).toMatchObject({ code: 0, stdout: expect.stringContaining("one two three") });
	expect(await done()).toEqual(["begin one", "one", "begin two", "begin two", "two", "begin three", "three"]);
});

describe("a template", () => {
	test("is written where there is none, runs as it is, and is trusted as it is", async () => {
		expect(await run("skill", "new", "report")).toMatchObject({ code: 0, stderr: "" });
		// There is no history yet, and none is made by looking.
		expect(await jsonOf("skill", "list")).toMatchObject({ runs: [], skills: [{ name: "digest" }, { name: "report" }] });
		expect(await jsonOf("task", "list")).toEqual([]);
		expect(await run("status")).toMatchObject({ code: 3 });
		const ended = await run("skill", "run", "report", "--input", '{"about":"lighthouse keeper"}');
		expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Ada Brandt") });
		expect(await run("skill", "new", "report")).toMatchObject({
			code: 4,
			stderr: `reyn: ${fileOf("report.ts")} is there already; give another name\n`,
		});
		expect((await run("skill", "new", "Report")).stderr).toBe(
			'reyn: a skill is called by small letters, digits and -, such as report; found "Report"\n',
		);
		const shown = await jsonOf("skill", "show", "report");
		expect(shown).toMatchObject({
			name: "report",
			path: fileOf("report.ts"),
			purity: "world",
			start: "gather",
			input: { required: ["about"] },
		});
		expect(shown.phases).toEqual([
			{ name: "gather", by: "function" },
			{ name: "tell", by: "function" },
		]);
		const { skills } = await jsonOf("skill", "list");
		expect(skills.map(({ name }: { name: string }) => name)).toEqual(["digest", "report"]);
		expect(await run("skill", "run", "report", "--input", "{}")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^reyn: the input of report does not fit: about: /),
		});
		await writeFile(join(root, "input.json"), '{"about":"harbour"}');
		expect(await run("skill", "run", "report", "--input-file", join(root, "input.json"))).toMatchObject({ code: 0 });
	});

	test("of a user is found in every directory, and a project takes its name not away", async () => {
		await run("skill", "new", "report", "--own");
		const own = join(root, "own-config/reyn/skills/report.ts");
		const path = await write("report.ts", story().replace('"story"', '"report"'));
		const ended = await run("skill", "run", "report", "--input", '{"about":"lighthouse keeper"}', "--trust");
		expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Ada Brandt") });
		expect(await jsonOf("skill", "list")).toMatchObject({
			skills: [{ name: "digest" }, { name: "report", path: own }],
			problems: [
				{ code: "SKILL_TWICE", message: `${path}: there is a skill report already, ${own}; call this one otherwise` },
			],
		});
	});
});

test("nothing of a project runs before a person says so, nor once it has changed", async () => {
	const ran = join(root, "ran");
	const path = await write(
		"evil.ts",
		`import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");`,
	);
	const asked = await run("run", "-p", "Who is the lighthouse keeper?");
	expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining("Ada Brandt") });
	expect(asked.stderr).toContain(
		`skills in ${join(cwd, ".reyn/skills")} are new, or have changed since you said that they may run: evil.ts. They do not run before you say --trust`,
	);
	expect((await jsonOf("skill", "list")).problems).toMatchObject([{ path, code: "SKILL_UNTRUSTED" }]);
	expect(await run("skill", "run", "evil")).toMatchObject({ code: 4 });
	expect(await run("skill", "show", "evil")).toMatchObject({
		code: 4,
		stderr: expect.stringMatching(
			/evil\.ts may run, as it is now: read it, then say --trust; .*: reyn .*skill show evil --trust\n$/,
		),
	});
	await run("resume");
	await expect(readFile(ran)).rejects.toMatchObject({ code: "ENOENT" });
	await run("skill", "run", "evil", "--trust");
	expect(await readFile(ran, "utf8")).toBe("");
});

test("a file in a directory names no package of skills; one's own configuration does", async () => {
	await writeFile(join(cwd, "reyn.yaml"), "skills:\n  - weekly\n");
	const refused = await run("run", "-p", "Who is the lighthouse keeper?");
	expect([refused.code, refused.stderr]).toEqual([
		2,
		expect.stringMatching(
			/^reyn: reyn\.yaml:\d+:\d+: skills: a file that lies in a directory names no packages of skills/,
		),
	]);
	await rm(join(cwd, "reyn.yaml"));
	const own = join(root, "own-config/reyn");
	await mkdir(join(own, "node_modules/weekly"), { recursive: true });
	await writeFile(join(own, "config.yaml"), "skills: [weekly, gone]\n");
	await writeFile(
		join(own, "node_modules/weekly/package.json"),
		'{ "name": "weekly", "type": "module", "exports": "./index.js" }',
	);
	const input = '{ "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } }';
	const text = `export default { name: "weekly", description: "by the week", input: ${input}, start: "a", phases: { a: async () => ({ kind: "done", output: "a week" }) } };`;
	await writeFile(join(own, "node_modules/weekly/index.js"), text);
	expect(await run("skill", "run", "weekly")).toMatchObject({ code: 0, stdout: expect.stringContaining("a week") });
	expect(await jsonOf("skill", "list")).toMatchObject({
		problems: [
			{ name: "gone", code: "SKILL_LOAD", message: expect.stringMatching(/^gone: .*Cannot find package 'gone'/) },
		],
	});
});

test("the skill of the guide runs as it stands there, killed in each phase", async () => {
	const guide = await readFile(join(import.meta.dirname, "../../docs/guides/write-a-skill.md"), "utf8");
	const [, text = ""] = /^```ts no-run\n([\s\S]*?)^```$/m.exec(guide) ?? [];
	const within = (...args: readonly string[]) =>
		startProcess(["sh", "-c", 'cd "$0" && exec "$@"', cwd, process.execPath, ...reyn, ...args], { env: env() }).ended;
	const page = join(cwd, "page.md");
	const kill = (at: string): string => text.replace(at, `process.kill(process.pid, "SIGKILL"); ${at}`);
	await write("tides.ts", kill('return next("sum"'));
	expect(await within("skill", "run", "tides", "--input", '{"about":"keeper"}', "--trust")).toMatchObject({
		signal: "SIGKILL",
	});
	for (const at of ["const { text } = await model", 'return done("written']) {
		await write("tides.ts", kill(at));
		expect(await within("resume", "--trust")).toMatchObject({ signal: "SIGKILL" });
	}
	await write("tides.ts", text);
	expect(await within("resume", "--trust")).toMatchObject({
		code: 0,
		stdout: expect.stringContaining("written to page.md"),
	});
	expect(await readFile(page, "utf8")).toMatch(/^# keeper\n\n[\s\S]*Ada Brandt/);
});
