/** `reyn rewind --run` of a skill run, while another process works on it and after a kill; and what `--policy` decides once of what the move brings back in doubt. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { modelCalls, type Place, run, start } from "../cli.ts";
import { some } from "../sample.ts";

let root: string;
let here: Place;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-rewind-run-"));
	here = { cwd: join(root, "project"), state: join(root, "project/.reyn"), trace: join(root, "calls") };
	await mkdir(join(here.state, "skills"), { recursive: true });
	await writeFile(join(here.cwd, "harbour.md"), "The lighthouse keeper is called Ada Brandt.\n");
	await writeFile(join(here.state, "skills/story.ts"), story);
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Each phase has an effect, asks a model, and has another effect. Where a file says so, it kills its process in an effect, or rests. */
const story = `
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const near = (name: string): string => process.cwd() + "/" + name;
const note = (what: string) => async () => {
	appendFileSync(near("done"), what + "\\n");
	if (existsSync(near("kill")) && readFileSync(near("kill"), "utf8") === what) {
		rmSync(near("kill"));
		process.kill(process.pid, "SIGKILL");
	}
	return what;
};
const phase = (name: string, to?: string) => async ({ step, agent, sleep }: any, _input: unknown, before?: string) => {
	const effect = { purity: "side_effect", empty: "nothing" };
	const first = await step(name + " first", note(name + " first"), effect);
	await agent("Who is the lighthouse keeper?");
	const last = await step(name + " last", note(name + " last"), effect);
	if (existsSync(near("rest in " + name))) await sleep(3_600_000);
	const all = [...(before === undefined ? [] : [before]), first, last].join(", ");
	return to === undefined ? done(all) : next(to, all);
};

export default defineSkill({
	name: "story", description: "tells a story", input: z.unknown(), start: "one",
	phases: { one: phase("one", "two"), two: phase("two", "three"), three: phase("three") },
});
`;

const via = (): readonly string[] => ["sh", "-c", 'cd "$0" && exec "$@"', root];

/** @returns what it says on stdout */
async function reyn(...args: readonly string[]): Promise<string> {
	const { code, stdout, stderr } = await run(here, args, undefined, via());
	expect([args, code], stderr).toEqual([args, 0]);
	return stdout;
}

const jsonOf = async (...args: readonly string[]) => JSON.parse(await reyn("--json", ...args));

/** What was done, in order, over all processes. */
const done = async (): Promise<readonly string[]> => (await readFile(join(root, "done"), "utf8")).trim().split("\n");

/** The seq of the newest record of a kind, of a step of that name or of none. */
async function seqOf(kind: string, name?: string): Promise<string> {
	const lines = (await readFile(join(here.state, "state/wal.jsonl"), "utf8")).split("\n");
	const found = lines.findLast((line) => line.includes(`"${kind}"`) && (name === undefined || line.includes(name)));
	return String(JSON.parse(found ?? "{}").seq);
}

const runIn = async (): Promise<string> => (await jsonOf("skill", "list")).runs[0].run;

const all = ["one", "two", "three"].flatMap((phase) => [`${phase} first`, `${phase} last`]);

test("of one that another process works on: that goes on from there, and recalls and pays what was said before", async () => {
	await writeFile(join(root, "rest in three"), "");
	const working = start(here, ["skill", "run", "story", "--input", "{}", "--trust"], undefined, via());
	await expect.poll(async () => existsSync(join(root, "done")) && (await done()).length >= all.length).toBe(true);
	const [id, ref] = [await runIn(), await seqOf("step_completed", "two first")];
	const seen = await jsonOf("rewind", ref, "--run", id, "--dry-run");
	const { runs, paid } = seen.blastRadius.relaunches;
	expect([runs, paid.calls]).toEqual([[id], 2]);
	await rm(join(root, "rest in three"));
	expect(await reyn("rewind", ref, "--run", id, "--yes")).toContain(`the state is as of #${ref}`);
	const { code, stdout, stderr } = await working.ended;
	expect([code, stdout], stderr).toEqual([0, `[${id}] ${all.join(", ")}\n`]);
	expect(await done()).toEqual([...all, "two last", "three first", "three last"]);
	expect(modelCalls(here)).toHaveLength(3 + paid.calls);
	expect((await jsonOf("skill", "list")).runs).toEqual([]);
});

/** Killed in the first effect of phase two; rewound to the end of phase one, so that nothing is in doubt any more. */
async function killedAndRewound(): Promise<string> {
	await writeFile(join(root, "kill"), "two first");
	const args = ["skill", "run", "story", "--input", "{}", "--trust"];
	expect((await run(here, args, undefined, via())).signal).toBe("SIGKILL");
	const id = await runIn();
	const doubt = async () => (await jsonOf("skill", "resume", id, "--dry-run")).inDoubt;
	expect(await doubt()).toMatchObject([{ name: "two first" }]);
	await reyn("rewind", await seqOf("checkpoint"), "--run", id, "--yes");
	expect(await doubt()).toEqual([]);
	return id;
}

test("of one that a kill has left: a start beyond it is in doubt no more, and what was there before is not made again", async () => {
	const id = await killedAndRewound();
	const { stdout, stderr } = await run(here, ["resume", "--policy", "skip"], undefined, via());
	expect([stdout, stderr]).toEqual([`[${id}] ${all.join(", ")}\n`, expect.not.stringContaining("skipped")]);
	expect(await done()).toEqual([...all.slice(0, 3), ...all.slice(2)]);
	expect(modelCalls(here)).toHaveLength(3);
});

const policies = [
	["retry", [...all.slice(0, 3), ...all.slice(2)], all.join(", ")],
	["prompt", [...all.slice(0, 3), ...all.slice(2)], all.join(", ")],
	["skip", all, all.join(", ").replace("two first", "nothing")],
	["discard_skill", all.slice(0, 3), "was discarded: two first was started before the process ended"],
] as const;

test.each(some(policies, 4))(
	"what an undo brings back in doubt is decided by --policy %s, this once",
	async (policy, made, said) => {
		const id = await killedAndRewound();
		await reyn("undo", "--yes");
		const asked = ["skill", "resume", id, "--dry-run"];
		expect((await jsonOf(...asked)).policy).toBe("retry");
		const means = { retry: "retry", prompt: "retry", skip: "skip", discard_skill: "discard" }[policy];
		expect((await jsonOf(...asked, "--policy", policy)).policy).toBe(means);
		const how = policy === "skip" ? ["skill", "resume", id] : ["resume"];
		expect(await reyn(...how, "--policy", policy)).toContain(said);
		expect(await done()).toEqual(made);
	},
);
