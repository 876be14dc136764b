/** The audit trail of a runtime: what it has of real work, what it changes (nothing), and what is there after a kill. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileTools } from "@reyn/tools";
import { memoryEngine, systemTimers } from "@reyn/wal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { builtIn } from "../src/features/index.ts";
import {
	engineStore,
	fileStore,
	layoutOf,
	mainSession,
	type Runtime,
	type RuntimeOptions,
	TrailReader,
	trailDirectory,
} from "../src/index.ts";
import { auditOwn } from "../src/kernel/audit.ts";
import { cutAfter, kindsIn, removeState } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { makeProject, open, type Project, scripted, until } from "./project.ts";

const onFiles = filesTest("an audit trail lies in a directory");

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const audits = [auditOwn, ...builtIn({}).list.flatMap((feature) => feature.audit?.bind(feature) ?? [])];

/** Edits a file once it is told to. */
const editing = () =>
	scripted((request) => {
		const last = request.messages.at(-1);
		if (last?.role === "tool") return "done";
		return [{ name: "edit", args: { path: "src/parser.ts", old: "Reads", new: "Parses" } }];
	});

const opened = async (options: Partial<RuntimeOptions> = {}, state = project.state) =>
	open(
		{ ...project, state },
		{ model: editing(), tools: createFileTools(project.cwd, { writes: true }), timers: systemTimers, ...options },
		options.store ?? fileStore(state),
	);

const linesIn = async (state: string) =>
	(await new TrailReader(trailDirectory(layoutOf(state).events)).newest({}, Number.POSITIVE_INFINITY)).lines;

/** The seqs of the records of a log that are worth a line. */
async function audited({ wal }: Runtime): Promise<readonly number[]> {
	const seqs: number[] = [];
	for await (const record of wal.read()) if (audits.some((audit) => audit(record))) seqs.push(record.seq);
	return seqs;
}

onFiles("a turn that asks for a permission leaves who allowed what, and no text of it", async () => {
	const { runtime } = await opened({ permissions: {} });
	await runtime.prompt("a private matter");
	await until(() => runtime.questions().length > 0);
	await runtime.answer(runtime.questions()[0]?.seq ?? 0, "always", "ada");
	await runtime.idle();
	const [grant] = (await runtime.permissions()).grants;
	await runtime.revokePermission(grant?.seq ?? 0, "bob");
	const seqs = await audited(runtime);
	await runtime.close();
	const lines = await linesIn(project.state);
	expect(lines.map(({ seq }) => seq)).toEqual(seqs);
	expect(lines.map(({ kind, what }) => `${kind} ${what}`)).toEqual([
		"process opened",
		"turn begun",
		"model ended",
		"question asked",
		"question answered",
		"permission granted",
		"tool started",
		"tool ended",
		"model ended",
		"turn ended",
		"permission revoked",
	]);
	expect(lines[3]).toMatchObject({ subject: "write src/parser.ts?", scope: mainSession });
	expect(lines[4]).toMatchObject({ by: "ada", answer: "always" });
	expect(lines[5]).toMatchObject({ by: "ada", action: "write", subject: "src/**", agent: "default" });
	expect(lines[6]).toMatchObject({ name: "edit", subject: "src/parser.ts" });
	expect(lines[10]).toMatchObject({ by: "bob", grant: grant?.seq });
	expect(JSON.stringify(lines)).not.toContain("private");
	const { events } = layoutOf(project.state);
	expect((await stat(events)).mode & 0o777).toBe(0o700);
	for (const name of await readdir(events)) expect((await stat(join(events, name))).mode & 0o777).toBe(0o600);
});

/** Takes some turns and moves, and ends as a process does, or is cut off by a closed log. */
async function live(runtime: Runtime, random: ReturnType<typeof seeded>): Promise<void> {
	for (let n = random.below(3); n >= 0; n--) {
		await runtime.prompt(`question ${random.below(1000)}`);
		await runtime.idle();
		if (random.chance(0.3)) await runtime.checkout(random.below(runtime.wal.tip), "ada").catch(() => {});
		if (random.chance(0.2)) await runtime.undo("ada").catch(() => {});
	}
}

onFiles.each(Array.from({ length: sample(3, 10) }, (_, at) => SEED + at))(
	"over restarts, gc and deletions the trail has each line once, and the state is the one without a trail: %i",
	async (seed) => {
		const { events } = layoutOf(project.state);
		const without = join(project.root, "without");
		const hashes: string[] = [];
		const all = new Set<number>();
		for (const state of [project.state, without]) {
			const random = seeded(seed);
			for (let life = 0; life < 5; life++) {
				const { trail: _none, ...bare } = fileStore(state);
				const { runtime } = await opened(
					{ model: scripted(() => "fine"), ...(state === without && { store: bare }) },
					state,
				);
				await live(runtime, random);
				const collects = random.chance(0.4);
				if (collects) await runtime.gc({ keepDays: 0, keepCheckpoints: 2 });
				const deletes = random.chance(0.3);
				if (state === project.state) {
					for (const seq of await audited(runtime)) all.add(seq);
					if (life === 4) hashes.push(runtime.view().hash());
				} else if (life === 4) hashes.push(runtime.view().hash());
				await runtime.close();
				if (state === without || life === 4) continue;
				if (!deletes) continue;
				await rm(events, { recursive: true, force: true });
				all.clear();
			}
		}
		expect(hashes[1]).toBe(hashes[0]);
		expect(existsSync(layoutOf(without).events)).toBe(false);
		const seqs = (await linesIn(project.state)).filter(({ kind }) => kind !== "trail").map(({ seq }) => seq);
		expect(seqs).toEqual([...all].sort((a, b) => a - b));
	},
);

onFiles("the log cut after any record, the trail goes on with what is there", async () => {
	const { runtime } = await opened();
	await runtime.prompt("edit it");
	await runtime.idle();
	await runtime.close();
	const { length } = await kindsIn(project);
	for (let seq = 1; seq <= length; seq++) {
		const state = await cutAfter(project, seq);
		// The trail is never ahead of the log; here it is behind, and its last line is torn.
		const lines = (await linesIn(state)).filter((line) => line.seq <= seq).map((line) => `${JSON.stringify(line)}\n`);
		const [name = ""] = await readdir(layoutOf(state).events);
		await writeFile(join(layoutOf(state).events, name), lines.join("").slice(0, -10 * (seq % 3)) || "\0");
		const next = await opened({}, state);
		next.runtime.resume();
		await next.runtime.idle();
		const seqs = await audited(next.runtime);
		await next.runtime.close();
		expect(
			(await linesIn(state)).map((line) => line.seq),
			`cut after ${seq}`,
		).toEqual(seqs);
		await removeState(state);
	}
});

onFiles("a process that is killed anywhere leaves a trail that the next one makes whole", async () => {
	const program = join(import.meta.dirname, "trail-writer.ts");
	for (let n = 0; n < sample(3, 10); n++) {
		const process = startSource(program, [project.state]);
		await process.line((line) => Number(line) > 5 * (n + 1));
		await process.kill();
	}
	const { runtime } = await opened();
	const seqs = await audited(runtime);
	await runtime.close();
	expect(seqs.length).toBeGreaterThan(10);
	expect((await linesIn(project.state)).map(({ seq }) => seq)).toEqual(seqs);
});

onFiles("where it cannot be written that is told once, and everything else is done", async () => {
	const { events: directory } = layoutOf(project.state);
	for (const plant of [
		() => writeFile(directory, "in the way"),
		() => symlink(project.cwd, directory),
		async () => {
			await mkdir(directory);
			await chmod(directory, 0o777);
		},
	]) {
		await mkdir(project.state, { recursive: true });
		await plant();
		const { runtime, events } = await opened({ model: scripted(() => "fine") });
		await runtime.prompt("hello");
		await runtime.idle();
		await until(() => events.some(({ type }) => type === "trail_failed"));
		await runtime.close();
		expect(events.filter(({ type }) => type === "trail_failed")).toEqual([
			{ type: "trail_failed", reason: expect.stringContaining(directory) },
		]);
		expect(events.some((event) => event.type === "turn_end" && event.outcome === "completed")).toBe(true);
		await rm(directory, { recursive: true });
	}
	expect((await readdir(project.cwd)).sort()).toEqual(["README.md", "src", "test"]);
});

onFiles("who only reads writes none, and goes on seeing what is there", async () => {
	const { runtime } = await opened({ model: scripted(() => "fine") });
	await runtime.prompt("hello");
	await runtime.idle();
	await runtime.close();
	const { events } = layoutOf(project.state);
	await rm(events, { recursive: true });
	const reader = await opened({ readOnly: true });
	await reader.runtime.refresh();
	await reader.runtime.close();
	expect(existsSync(events)).toBe(false);
});

test("over an engine there is none", async () => {
	const store = engineStore(memoryEngine());
	expect(store.trail).toBeUndefined();
	const { runtime } = await opened({ store, model: scripted(() => "fine") });
	await runtime.prompt("hello");
	await runtime.close();
	expect(existsSync(layoutOf(project.state).events)).toBe(false);
});

onFiles("a kind of work of one's own has its lines", async () => {
	const { runtime } = await opened({
		model: scripted(() => "fine"),
		features: [
			{
				name: "greeter",
				audit: ({ kind, seq }) =>
					kind === "checkpoint" ? { kind: "greeting", what: "said", at: "never", n: seq } : undefined,
				start: () => ({}),
			},
		],
	});
	await runtime.prompt("hello");
	await runtime.idle();
	await runtime.close();
	const line = (await linesIn(project.state)).find(({ kind }) => kind === "greeting");
	expect(line).toMatchObject({ what: "said", n: line?.seq, at: expect.stringMatching(/^2/) });
	const [name = ""] = await readdir(layoutOf(project.state).events);
	expect(await readFile(join(layoutOf(project.state).events, name), "utf8")).toMatch(/\}\n$/);
});
