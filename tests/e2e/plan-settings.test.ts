/** The settings of plans, each from a configuration of one's own through the command line to what a server on this machine is asked, and how often. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { startProcess } from "../kit/killable.ts";
import { type Line, recordsIn } from "../kit/log-lines.ts";
import { some } from "../sample.ts";

let root: string;
let places = 0;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plan-settings-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const step = (id: string, tools: readonly string[], ...needs: string[]) => ({
	...{ id, description: `Do ${id}`, tools, depends_on: needs },
});
/** Two steps beside each other, and one that waits for both. */
const steps = [step("a", ["list", "skill_digest"]), step("b", []), step("c", [], "a", "b")];

/** What a request is for: a step, the skill, or the turn. */
function forWhat(body: object): string {
	const text = JSON.stringify(body);
	return /\\nStep (\w+):/.exec(text)?.[1] ?? (text.includes('"Sum up') ? "skill" : "turn");
}

const propose = (all: readonly object[]): Reply => ({
	calls: [{ id: "call_plan", name: "plan", args: JSON.stringify({ goal: "g", steps: all }) }],
});
const call = (name: string, args: object): Reply => ({
	calls: [{ id: `call_${name}`, name, args: JSON.stringify(args) }],
});
const busy: Reply = {
	refusal: { status: 429, headers: { "retry-after-ms": "1" }, body: { error: { message: "busy" } } },
};
const forbidden: Reply = { refusal: { status: 403, body: { error: { message: "no" } } } };
const silent: Reply = { isSilent: true };

/** What is said to a request, by what it is for and how often that was asked for before. Absent: that it is done. */
type Says = Readonly<Record<string, (before: number) => Reply | undefined>>;

interface Seen {
	/** How often it was asked for each. */
	readonly asked: Readonly<Record<string, number>>;
	readonly records: readonly Line[];
	readonly stdout: string;
}

/** Runs the plan with a configuration; where something was to stay without an answer, kills it there, and resumes it. */
async function seenWith(yaml: string, says: Says, killedAt?: string): Promise<Seen> {
	const [cwd, state] = [join(root, `${places}`), join(root, `${places++}-state`)];
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	const home = join(root, `${places}-home`);
	await mkdir(join(home, "reyn"), { recursive: true });
	await writeFile(join(home, "reyn/config.yaml"), yaml);
	const asked: Record<string, number> = {};
	await using wire = await openWire(chat, (body) => {
		const what = forWhat(body);
		asked[what] = (asked[what] ?? 0) + 1;
		return says[what]?.(asked[what] - 1) ?? (what === "turn" ? propose(steps) : { text: `did ${what}` });
	});
	const start = (...args: readonly string[]) =>
		startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args, "--mode", "all"], {
			env: {
				...{ NO_COLOR: "1", XDG_CONFIG_HOME: home },
				...{ REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url },
			},
		});
	const first = start("run", "-p", "Plan it.");
	if (killedAt !== undefined) {
		let isOver = false;
		void first.ended.then(() => {
			isOver = true;
		});
		while (!asked[killedAt] && !isOver) await pause(2);
		expect(await first.kill()).toMatchObject({ signal: "SIGKILL" });
	}
	const { stdout } = killedAt === undefined ? await first.ended : await start("resume").ended;
	return { asked, records: await recordsIn(state), stdout };
}

const count = ({ records }: Seen, kind: string): number => records.filter((each) => each.kind === kind).length;
const asksOf =
	(what: string) =>
	({ asked }: Seen): number =>
		asked[what] ?? 0;

/** How many steps have worked at once, at most. */
function mostAtOnce({ records }: Seen): number {
	let [now, most] = [0, 0];
	for (const { kind } of records) {
		if (kind === "plan_step_started") now++;
		if (kind === "plan_step_completed") now--;
		most = Math.max(most, now);
	}
	return most;
}

const failureOf = ({ records }: Seen): string =>
	records.find(({ kind }) => kind === "plan_step_failed")?.data.reason ?? "none";

interface Row {
	readonly says: Says;
	readonly killedAt?: string;
	readonly see: (seen: Seen) => unknown;
	/** Of each configuration: what is seen then. */
	readonly cases: readonly (readonly [yaml: string, seen: unknown])[];
}

const looksOn: Says = { a: () => call("list", { path: "." }) };
const digest: Says = {
	a: (before) => (before === 0 ? call("skill_digest", { topic: "fox" }) : undefined),
	skill: (before) => (before === 0 ? silent : undefined),
};
const rounds = "plan: { step_max_iterations: 2 }\n";

const priced = "prices: { openai/gpt-x: { input: 1, output: 1 } }\nplan: { step_max_iterations: 3, concurrency: 1 }\n";

const rows: Readonly<Record<string, Row>> = {
	"plan.retry_limit": {
		...{ says: { a: () => busy }, see: asksOf("a") },
		cases: [
			["plan: { retry_limit: 0 }", 1],
			["plan: { retry_limit: 2 }", 3],
		],
	},
	"plan.concurrency": {
		...{ says: {}, see: mostAtOnce },
		cases: [
			["plan: { concurrency: 1 }", 1],
			["plan: { concurrency: 2 }", 2],
		],
	},
	"plan.invalid_retries": {
		...{ says: { turn: () => propose([]) }, see: asksOf("turn") },
		cases: [
			["plan: { invalid_retries: 0 }", 1],
			["plan: { invalid_retries: 2 }", 3],
		],
	},
	"plan.step_max_iterations": {
		...{ says: looksOn, see: asksOf("a") },
		cases: [
			["plan: { step_max_iterations: 2 }", 2],
			["plan: { step_max_iterations: 3 }", 3],
		],
	},
	"plan.step_timeout_seconds": {
		...{ says: { a: () => silent }, see: failureOf },
		cases: [
			["plan: { step_timeout_seconds: 1 }", expect.stringMatching(/worked for 1 s/)],
			["plan: { step_timeout_seconds: 2 }", expect.stringMatching(/worked for 2 s/)],
		],
	},
	// Each answer takes 55 tokens: those of a step that is tried again, and of steps beside it, count.
	"plan.tokens": {
		...{
			says: { a: looksOn.a as Says[string] },
			see: (seen) => [asksOf("a")(seen), asksOf("b")(seen), failureOf(seen)],
		},
		cases: [
			["plan: { concurrency: 1, tokens: 110 }", [2, 0, expect.stringMatching(/the plan has used 110 tokens of 110/)]],
			[
				"plan: { concurrency: 1, step_max_iterations: 3, tokens: 170 }\nlimits: { on_limit: extend }",
				[6, 1, expect.stringMatching(/after 6 turns/)],
			],
		],
	},
	"limits.on_limit": {
		...{ says: looksOn, see: asksOf("a") },
		cases: [
			[`${rounds}limits: { on_limit: refuse }`, 2],
			[`${rounds}limits: { on_limit: extend }`, 4],
		],
	},
	"limits.auto_extend_times": {
		...{ says: looksOn, see: asksOf("a") },
		cases: [
			[`${rounds}limits: { on_limit: extend, auto_extend_times: 1 }`, 4],
			[`${rounds}limits: { on_limit: extend, auto_extend_times: 2 }`, 6],
		],
	},
	"plan_resume.default": {
		...{ says: { c: (before) => (before === 0 ? silent : undefined) }, killedAt: "c" },
		see: (seen) => [asksOf("c")(seen), count(seen, "plan_aborted"), count(seen, "plan_completed")],
		cases: [
			["plan_resume: { default: retry_pending }", [2, 0, 1]],
			["plan_resume: { default: discard }", [1, 1, 0]],
		],
	},
	"plan_resume.child_purity": {
		...{ says: digest, killedAt: "skill", see: (seen) => count(seen, "skill_run_started") },
		cases: [
			["plan_resume: { child_purity: { side_effect: adopt } }", 1],
			["plan_resume: { child_purity: { side_effect: cancel } }", 2],
		],
	},
	// Each answer takes 55 tokens; what a budget refuses is not asked for again.
	"budget.plan_tokens": {
		...{ says: { a: looksOn.a as Says[string] }, see: (seen) => [asksOf("a")(seen), asksOf("c")(seen)] },
		cases: [
			["plan: { step_max_iterations: 3, concurrency: 1 }\nbudget: { plan_tokens: 100 }", [2, 0]],
			["plan: { step_max_iterations: 3, concurrency: 1 }\nbudget: { plan_tokens: 100000 }", [3, 1]],
		],
	},
	"budget.plan_usd": {
		...{ says: { a: looksOn.a as Says[string] }, see: (seen) => [asksOf("a")(seen), asksOf("c")(seen)] },
		cases: [
			[`${priced}budget: { plan_usd: 0.0001 }`, [2, 0]],
			[`${priced}budget: { plan_usd: 1 }`, [3, 1]],
		],
	},
	// A tool that is denied is not called, and that is told once; a key that may not is asked with once.
	"what is forbidden, which is no setting of tries": {
		...{
			says: { a: (before: number) => (before === 0 ? call("list", { path: "." }) : undefined), b: () => forbidden },
		},
		see: (seen) => [asksOf("a")(seen), asksOf("b")(seen)],
		cases: [["plan: { retry_limit: 5 }\npermissions: { rules: [{ deny: list }] }", [2, 1]]],
	},
};

const all = Object.entries(rows).flatMap(([key, { cases, ...row }]) =>
	cases.map(([yaml, expected]) => ({ key, yaml, expected, row })),
);

test.each(some(all, 5))("$key: $yaml", async ({ yaml, expected, row }) => {
	const seen = await seenWith(`${yaml}\n`, row.says, row.killedAt);
	expect(row.see(seen), seen.stdout).toEqual(expected);
});
