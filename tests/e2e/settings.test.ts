/** Settings of other things than plans, each from a configuration of one's own through the command line to what a server on this machine is asked, and what is on the disk. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { carryOut } from "../carry-out.ts";
import { type Place, start } from "../cli.ts";
import type { Ended, Killable } from "../kit/killable.ts";
import { recordsIn } from "../kit/log-lines.ts";
import { some } from "../sample.ts";

let root: string;
let places = 0;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-settings-"));
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rm(root, { recursive: true, force: true }));

const MODEL = "openai/gpt-x";

interface World {
	readonly place: Place;
	readonly wire: Wire;
	/** Carries out a command here. */
	run(...args: readonly string[]): Promise<Ended>;
	/** In a process of its own. */
	start(...args: readonly string[]): Killable;
}

/** A directory whose user has this configuration. */
async function inWorld(yaml: string, see: (world: World) => unknown): Promise<unknown> {
	const cwd = join(root, `${places++}`);
	const place = { cwd, state: join(cwd, ".reyn"), trace: `${cwd}.jsonl` };
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "A fox sleeps by day.\n");
	await mkdir(`${cwd}-home/reyn`, { recursive: true });
	await writeFile(`${cwd}-home/reyn/config.yaml`, `${yaml}\n`);
	await using wire = await openWire(chat);
	const env = {
		...{ XDG_CONFIG_HOME: `${cwd}-home`, XDG_STATE_HOME: `${cwd}-own`, REYN_MODEL: MODEL },
		...{ OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url },
	};
	for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
	return await see({
		...{ place, wire },
		run: (...args) => carryOut(place, args),
		start: (...args) => start(place, args),
	});
}

const call = (name: string, args: object): Reply => ({
	calls: [{ id: `call_${name}`, name, args: JSON.stringify(args) }],
});

const prompt = (...more: readonly string[]): readonly string[] => ["run", "-p", "Where does a fox sleep?", ...more];

/** What is asked of a person, off a terminal, and how often the model was asked by then: by one turn with two rounds, and by two more. */
const askedAtLimit =
	(...agains: readonly (readonly string[])[]) =>
	async ({ run, wire }: World): Promise<unknown> => {
		wire.replies.push(call("read", { path: "foxes.md" }));
		for (const args of [prompt(), ...agains]) {
			const { code, stderr } = await run(...args);
			if (code !== 0) return [wire.asked.length, /((?:\S+ ){1,3}has spent .*)\. Go on/.exec(stderr)?.[1] ?? stderr];
		}
		return [wire.asked.length];
	};

/** A command that ends its process, who runs it, and itself: nobody knows then how it ended. @returns how often it was begun, and how the next one has ended */
async function cutCommand({ start, run, wire, place }: World): Promise<unknown> {
	const working = start(...prompt("--mode", "all"));
	const command = `echo begun >> begun; [ -e once ] || { touch once; kill -9 ${working.child.pid} $PPID; }`;
	wire.replies.push(call("shell", { command }));
	expect(await working.ended).toMatchObject({ signal: "SIGKILL" });
	const { code } = await run("resume", "--mode", "all");
	return [(await readFile(join(place.cwd, "begun"), "utf8")).split("\n").length - 1, code];
}

/** A change of a file that a power cut has taken the end of, which nobody can tell from what the file holds since. @returns what the model is told of it */
async function cutEdit({ run, wire, place: { cwd, state } }: World): Promise<unknown> {
	wire.replies.push(call("edit", { path: "foxes.md", old: "day", new: "night" }));
	expect(await run(...prompt("--mode", "all"))).toMatchObject({ code: 0 });
	const log = join(state, "state/wal.jsonl");
	const lines = (await readFile(log, "utf8")).split("\n");
	const left = lines.slice(0, 1 + lines.findIndex((line) => line.includes('"kind":"step_started"')));
	await writeFile(log, `${left.join("\n")}\n`);
	for (const name of ["wal.head", "snapshots"]) await rm(join(state, "state", name), { recursive: true, force: true });
	await writeFile(join(cwd, "foxes.md"), "A fox sleeps.\n");
	const { code, stderr } = await run("resume", "--mode", "all");
	const told = wire.asked[2]?.messages as readonly { readonly content: string }[] | undefined;
	return [code, told?.at(-1)?.content ?? stderr];
}

const skill = (root: string): string => `
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { defineSkill, done } from "@reyn/skill-resume";
import { z } from "zod";

const pay = async () => {
	appendFileSync(${JSON.stringify(join(root, "paid"))}, "paid\\n");
	if (existsSync(${JSON.stringify(join(root, "once"))})) return "paid";
	writeFileSync(${JSON.stringify(join(root, "once"))}, "");
	process.kill(process.pid, "SIGKILL");
};
export default defineSkill({
	name: "payer", description: "pays", input: z.object({}), start: "one",
	phases: { one: async ({ step }: any) => done(String(await step("pay", pay, { purity: "external" }))) },
});
`;

/** A skill that is killed in an effect of its own. @returns how often it had that, and what has become of the run */
async function cutSkill({ start, run, place }: World): Promise<unknown> {
	await mkdir(join(place.state, "skills"), { recursive: true });
	await writeFile(join(place.state, "skills/payer.ts"), skill(place.cwd));
	const args = ["skill", "run", "payer", "--input", "{}", "--trust", "--mode", "all"];
	expect(await start(...args).ended).toMatchObject({ signal: "SIGKILL" });
	await run("resume", "--mode", "all");
	const ends = (await recordsIn(place.state)).filter(({ kind }) => /^skill_run_(completed|discarded)$/.test(kind));
	return [(await readFile(join(place.cwd, "paid"), "utf8")).split("\n").length - 1, ...ends.map(({ kind }) => kind)];
}

/** Files of a trail of other days, of 300 kB each. @returns those that are there after a command */
async function trailAfter({ run, place: { state } }: World): Promise<unknown> {
	await run(...prompt());
	const today = await readdir(join(state, "events"));
	for (const day of ["2026-01-01", "2026-01-02", "2026-01-03"])
		await writeFile(join(state, `events/${day}.jsonl`), `${"x".repeat(300_000)}\n`);
	await run(...prompt());
	return (await readdir(join(state, "events")))
		.filter((name) => !today.includes(name))
		.map((name) => name.slice(9, 10));
}

interface Row {
	readonly see: (world: World) => unknown;
	/** Of each configuration: what is seen then. */
	readonly cases: readonly (readonly [yaml: string, seen: unknown])[];
}

const price = `prices: { ${MODEL}: { input: 1, output: 1 } }\n`;
const again = [prompt(), prompt("--session", "side")];

const rows: Readonly<Record<string, Row>> = {
	"model_settings.temperature, .top_p, .reasoning": {
		async see({ run, wire }) {
			expect(await run(...prompt())).toMatchObject({ code: 0 });
			const { temperature, top_p, reasoning_effort } = wire.asked[0] ?? {};
			return { temperature, top_p, reasoning_effort };
		},
		cases: [
			[
				"model_settings: { temperature: 0.3, top_p: 0.9, reasoning: low }",
				{ temperature: 0.3, top_p: 0.9, reasoning_effort: "low" },
			],
			["", {}],
		],
	},
	"model_settings.max_input_tokens": {
		async see({ run, wire }) {
			const { code, stderr } = await run(...prompt());
			return [code, wire.asked.length, /reads \d+/.exec(stderr)?.[0]];
		},
		cases: [
			["model_settings: { max_input_tokens: 100 }", [1, 0, "reads 100"]],
			["model_settings: { max_input_tokens: 100000 }", [0, 1, undefined]],
		],
	},
	"model_policy.timeout_seconds": {
		async see({ run, wire }) {
			wire.replies.push({ isSilent: true });
			return (await run(...prompt())).stderr;
		},
		cases: [
			["model_policy: { tries: 1, timeout_seconds: 1 }", expect.stringMatching(/1000 ms|1 s\b/)],
			["model_policy: { tries: 1, timeout_seconds: 2 }", expect.stringMatching(/2000 ms|2 s\b/)],
		],
	},
	"in_doubt.default": {
		see: cutEdit,
		cases: [
			["in_doubt: { default: retry }", [0, expect.stringContaining("is not in foxes.md as it is now")]],
			["in_doubt: { default: skip }", [0, expect.stringContaining("(skipped: nobody knows")]],
		],
	},
	"in_doubt.per_tool": {
		see: cutCommand,
		cases: [
			["in_doubt: { default: retry, per_tool: { shell: skip } }", [1, 0]],
			["in_doubt: { default: skip, per_tool: { shell: retry } }", [2, 0]],
		],
	},
	"skill_resume.default": {
		see: cutSkill,
		cases: [
			["skill_resume: { default: skip }", [1, "skill_run_completed"]],
			["skill_resume: { default: discard_skill }", [1, "skill_run_discarded"]],
		],
	},
	"skill_resume.per_skill": {
		see: cutSkill,
		cases: [["skill_resume: { default: retry, per_skill: { payer: skip } }", [1, "skill_run_completed"]]],
	},
	// In a process of its own its host believes no name of any length.
	"scripts.isolate": {
		async see({ run, place }) {
			const file = join(place.cwd, "long.ts");
			await writeFile(file, 'export default async (ctx) => ctx.phase("x".repeat(1001), () => ctx.agent("one"));\n');
			const { code, stderr } = await run("script", "run", file);
			return [code, stderr.includes("the process that long.ts ran in is lost")];
		},
		cases: [
			["scripts: { isolate: true }", [1, true]],
			["scripts: { isolate: false }", [0, false]],
		],
	},
	"files.images": {
		async see({ run, wire, place }) {
			wire.replies.push(call("edit", { path: "foxes.md", old: "day", new: "night" }));
			expect(await run(...prompt("--mode", "edits"))).toMatchObject({ code: 0 });
			const kept = join(place.state, "state/images");
			return existsSync(kept) ? (await readdir(kept)).length : 0;
		},
		cases: [
			["files: { images: true }", 1],
			["files: { images: false }", 0],
		],
	},
	"budget.turn_usd": {
		see: askedAtLimit(...again),
		cases: [
			[`${price}budget: { turn_usd: 0.00005 }`, [1, expect.stringMatching(/turn \d+ has spent/)]],
			[`${price}budget: { turn_usd: 1 }`, [4]],
		],
	},
	"budget.session_tokens": {
		see: askedAtLimit(...again),
		cases: [
			["budget: { session_tokens: 100 }", [2, expect.stringMatching(/this session has spent 110 of 100 tokens/)]],
			["budget: { session_tokens: 150 }", [4]],
		],
	},
	"budget.day_tokens": {
		see: askedAtLimit(...again),
		cases: [
			["budget: { day_tokens: 150 }", [3, expect.stringMatching(/has spent 165 of 150 tokens/)]],
			["budget: { day_tokens: 1000 }", [4]],
		],
	},
	"budget.day_usd": {
		see: askedAtLimit(...again),
		cases: [
			[`${price}budget: { day_usd: 0.00015 }`, [3, expect.stringMatching(/has spent \$0\.0002 of \$0\.0002/)]],
			[`${price}budget: { day_usd: 1 }`, [4]],
		],
	},
	"retention.keep_checkpoints": {
		async see({ run }) {
			await run(...prompt());
			return (await run("gc", "--dry-run")).stdout;
		},
		cases: [
			["retention: { keep_checkpoints: 7 }", expect.stringMatching(/\b7 checkpoints/)],
			["retention: { keep_checkpoints: 9 }", expect.stringMatching(/\b9 checkpoints/)],
		],
	},
	"events.keep_days": {
		see: trailAfter,
		cases: [
			["events: { keep_days: 1 }", ["3"]],
			["events: { keep_days: 2 }", ["2", "3"]],
		],
	},
	"events.max_mb": {
		see: trailAfter,
		cases: [
			["events: { max_mb: 1 }", ["2", "3"]],
			["events: { max_mb: 2 }", ["1", "2", "3"]],
		],
	},
};

const all = Object.entries(rows).flatMap(([key, { cases, see }]) =>
	cases.map(([yaml, expected]) => ({ key, yaml, expected, see })),
);

test.each(some(all, 7))("$key: $yaml", async ({ yaml, expected, see }) => {
	expect(await inWorld(yaml, see)).toEqual(expected);
});
