/** The configuration: what is wrong in it is said with its place, what is stronger counts, and each key reaches the code. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Verb, verbs } from "@reyn/operator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { carryOut } from "../../../tests/carry-out.ts";
import {
	budgetOf,
	filesAlongOf,
	modelSettingsOf,
	permissionsOf,
	plansOf,
	pricesOf,
	retentionOf,
	runtimeOptionsOf,
	tasksAlongOf,
	withFilesAlong,
} from "../src/config/options.ts";
import { type Config, configSchema, defaults } from "../src/config/schema.ts";
import { allSettings, type Setting, settingsOf } from "../src/config/settings.ts";
import { variable } from "../src/config/variables.ts";
import { unchosen } from "../src/models.ts";

let cwd: string;
let state: string;
let env: Record<string, string>;
beforeEach(async () => {
	cwd = await mkdtemp(join(tmpdir(), "reyn-config-"));
	state = join(cwd, ".reyn");
	env = { XDG_CONFIG_HOME: join(cwd, "home") };
	await mkdir(join(cwd, "home/reyn"), { recursive: true });
});
afterEach(() => rm(cwd, { recursive: true }));

const write = (name: string, text: string): Promise<void> => writeFile(join(cwd, name), text);
const OWN = "home/reyn/config.yaml";

test.each([
	[
		"plan:\n  concurency: 3",
		/^reyn.yaml:2:3: plan.concurency: there is no such key; there are concurrency, step_max_iterations, retry_limit, step_tokens, tokens, step_timeout_seconds, offer, confirm, invalid_retries$/,
	],
	[
		"plans: {}",
		/^reyn.yaml:1:1: plans: there is no such key; there are model, models, model_settings, .*retention, events$/,
	],
	[
		"plan:\n  concurrency: three",
		/^reyn.yaml:2:16: plan.concurrency: expected number, received string; found "three"$/,
	],
	["plan:\n\n  concurrency: 0", /^reyn.yaml:3:16: plan.concurrency: .*>0; found 0$/],
	[
		"skill_resume:\n  default: maybe",
		/^reyn.yaml:2:12: skill_resume.default: expected one of "retry"\|"skip"\|"discard_skill"\|"prompt"; found "maybe"$/,
	],
	["plan_resume:\n  child_purity: { pur: adopt }", /^reyn.yaml:2:19: plan_resume.child_purity/],
	[
		"plan_resume:\n  child_purity: { pure: adopt, external: cancel }",
		/^reyn.yaml:2:42: plan_resume.child_purity.external: a file that lies in a directory has no effect made again/,
	],
	[
		"plan_resume:\n  default: redo",
		/^reyn.yaml:2:12: plan_resume.default: expected one of "retry_pending"\|"discard"; found "redo"$/,
	],
	[
		"in_doubt:\n  default: stop",
		/^reyn.yaml:2:12: in_doubt.default: expected one of "retry"\|"skip"\|"ask"; found "stop"$/,
	],
	[
		"in_doubt:\n  default: retry",
		/^reyn.yaml:2:12: in_doubt.default: a file that lies in a directory has nothing made again/,
	],
	[
		"in_doubt:\n  per_tool:\n    pay: ask\n    shell: retry",
		/^reyn.yaml:4:12: in_doubt.per_tool.shell: a file that lies in a directory has nothing made again/,
	],
	["skill_resume:\n  per_skill:\n    digest: no", /^reyn.yaml:3:13: skill_resume.per_skill.digest: /],
	[
		"events: { keep_days: 1 }",
		/^reyn.yaml:1:9: events: a file that lies in a directory says nothing of the audit trail/,
	],
	["skills: [weekly]", /^reyn.yaml:1:9: skills: a file that lies in a directory names no packages of skills/],
	["skills: [../x]", /^reyn.yaml:1:10: skills.0: expected the name of a package/],
	["model: anthropic/x", /^reyn.yaml:1:8: model: a file that lies in a directory chooses no model/],
	["models: { small: anthropic/x }", /^reyn.yaml:1:9: models: a file that lies in a directory chooses no model/],
	["models: { S: anthropic/x }", /^reyn.yaml:1:14: models.S: expected a short name such as small/],
	[
		"scripts:\n  isolate: false",
		/^reyn.yaml:2:12: scripts.isolate: a file that lies in a directory can switch this on, and not off/,
	],
	[
		"files:\n  images: true",
		/^reyn.yaml:2:11: files.images: a file that lies in a directory does not decide what is kept/,
	],
	["permissions:\n  mode: edits", /^reyn.yaml:2:9: permissions.mode: a file that lies in a directory allows nothing/],
	[
		"permissions:\n  rules:\n    - deny: read\n    - allow: read",
		/^reyn.yaml:4:7: permissions.rules.1: a file that lies in a directory allows nothing/,
	],
	["permissions:\n  rules:\n    - deny: wrte", /^reyn.yaml:3:13: permissions.rules.0.deny: .*"write".*; found "wrte"$/],
	[
		"permissions:\n  rules:\n    - { deny: read, allow: read }",
		/^reyn.yaml:3:7: permissions.rules.0: a rule has one of allow, ask and deny/,
	],
	["permissions:\n  rules:\n    - { deny: read, on: /etc }", /permissions.rules.0.on: a path below the directory/],
	[
		"permissions:\n  rules:\n    - { deny: read, agent: a }",
		/permissions.rules.0: what may not be read is closed to all/,
	],
	[
		"prices:\n  openai/gpt-5: { input: 0, output: 0 }",
		/^reyn.yaml:2:3: prices: a file that lies in a directory says no prices/,
	],
	[
		"prices:\n  a: { input: 0.0000001, output: 1 }",
		/^reyn.yaml:2:15: prices.a.input: at most six decimals; found 1e-7$/,
	],
	["prices:\n  a: { input: 1 }", /^reyn.yaml:\d+:\d+: prices.a.output: expected number/],
	[
		"prices:\n  a: { input: 1, output: 1, cached: 1 }",
		/^reyn.yaml:2:29: prices.a.cached: there is no such key; there are input, output, cached_input$/,
	],
	[
		"prices:\n  offline: { input: 1, output: 1 }",
		/^reyn.yaml:2:12: prices.offline: it computes here and costs nothing/,
	],
	[
		"permissions:\n  rules:\n    - { deny: read, om: a }",
		/permissions.rules.0.om: there is no such key; there are allow, ask, deny, on, agent$/,
	],
	[
		"permissions:\n  rules:\n    - deny: shell",
		/^reyn.yaml:3:13: permissions.rules.0.deny: a command is run, whatever tool runs it; there are \*, read, .*run, fetch, skill; found "shell"$/,
	],
	["budget:\n  day_usd: 0", /^reyn.yaml:2:12: budget.day_usd: .*>0; found 0$/],
	["budget:\n  turn_tokens: 1.5", /^reyn.yaml:2:16: budget.turn_tokens: .*int.*; found 1.5$/],
	["plan:\n  concurrency: 1000000", /^reyn.yaml:2:16: plan.concurrency: .*<=64; found 1000000$/],
	["- a\n- b", /^reyn.yaml:1:1: expected (object|record)/],
	["plan: [1", /^reyn.yaml:\d+:\d+: this is no YAML: /],
	[
		"a: &a [x]\nb: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]",
		/^reyn.yaml/,
	],
	["\u0000", /^reyn.yaml/],
])("%j is refused, with its place and what may stand there", async (text, said) => {
	await write("reyn.yaml", `${text}\n`);
	await expect(settingsOf({ cwd, state }, env)).rejects.toMatchObject({
		code: "CLI_CONFIG",
		message: expect.stringMatching(said),
	});
});

test("a file that is too large to be one, a directory, a link or a pipe is refused", async () => {
	await write("reyn.yaml", `# ${"x".repeat(70_000)}`);
	await expect(settingsOf({ cwd, state }, env)).rejects.toThrow("reyn.yaml is larger than 64 KiB");
	await rm(join(cwd, "reyn.yaml"));
	await mkdir(join(cwd, "reyn.yaml"));
	await expect(settingsOf({ cwd, state }, env)).rejects.toThrow("reyn.yaml is no plain file");
	await rm(join(cwd, "reyn.yaml"), { recursive: true });
	await write("other.yaml", "plan: { concurrency: 2 }\n");
	await symlink(join(cwd, "other.yaml"), join(cwd, "reyn.yaml"));
	await expect(settingsOf({ cwd, state }, env)).rejects.toThrow("reyn.yaml is no plain file");
	await rm(join(cwd, "reyn.yaml"));
	execFileSync("mkfifo", [join(cwd, "reyn.yaml")]);
	await expect(settingsOf({ cwd, state }, env)).rejects.toThrow("reyn.yaml is no plain file");
});

test("a variable that is near a setting, and is none, is said to do nothing; one of other programs is not", async () => {
	const given = { REYN_MODLE: "ollama/a", REYN_PLAN_CONCURENCY: "2", REYN_PLAN_SIZE: "2", REYN_OTHER: "1" };
	const { unknown, from } = await settingsOf({ cwd, state }, { ...env, ...given, REYN_MODEL_TRACE: "x" });
	expect(unknown).toEqual([
		"REYN_MODLE is not known; did you mean REYN_MODEL?",
		"REYN_PLAN_CONCURENCY is not known; did you mean REYN_PLAN_CONCURRENCY?",
		"REYN_PLAN_SIZE is not known; reyn config schema has what may be set",
	]);
	expect(from.size).toBe(0);
});

test("who has chosen no model is told who answers, and how to choose", () => {
	const said = (setting?: Setting, keys = {}): string | undefined => unchosen(setting, keys);
	expect(said()).toMatch(/^no model is chosen, so the offline one answers: .*--model .*REYN_MODEL.*reyn config path/);
	expect(said(undefined, { OPENAI_API_KEY: "x" })).toMatch(/^OPENAI_API_KEY is set and not used/);
	expect(said({ value: "offline", source: "--model" })).toBeUndefined();
	expect(said({ value: "ollama/a", source: "REYN_MODEL" })).toBeUndefined();
});

test("without a word the defaults hold; what is stronger counts, and each value says where it comes from", async () => {
	const sourcesOf = async (model?: string) =>
		Object.fromEntries(
			[...(await allSettings({ cwd, state, model }, env))].map(([path, { value, source }]) => [path, [value, source]]),
		);
	expect(await sourcesOf()).toMatchObject({ model: ["offline", "default"], "plan.concurrency": [3, "default"] });
	await write(OWN, "model: ollama/a\nplan: { concurrency: 4, retry_limit: 4 }\n");
	expect(await sourcesOf()).toMatchObject({
		model: ["ollama/a", `${join(cwd, OWN)}:1`],
		"plan.retry_limit": [4, `${join(cwd, OWN)}:2`],
	});
	await write("reyn.yaml", "plan:\n  concurrency: 5\n  step_max_iterations: 5\n");
	await write("reyn.local.yaml", "plan:\n  step_max_iterations: 6\n");
	env.REYN_PLAN_RETRY_LIMIT = "7";
	env.REYN_MODEL = "ollama/b";
	expect(await sourcesOf("ollama/c")).toMatchObject({
		model: ["ollama/c", "--model"],
		"plan.concurrency": [5, "reyn.yaml:2"],
		"plan.step_max_iterations": [6, "reyn.local.yaml:2"],
		"plan.retry_limit": [7, "REYN_PLAN_RETRY_LIMIT"],
	});
	expect((await settingsOf({ cwd, state }, env)).config).toEqual({
		model: "ollama/b",
		plan: { concurrency: 5, step_max_iterations: 6, retry_limit: 7 },
	});
	env.REYN_PLAN_RETRY_LIMIT = "few";
	await expect(settingsOf({ cwd, state }, env)).rejects.toThrow(
		/^REYN_PLAN_RETRY_LIMIT: expected number, .*found "few"/,
	);
	env.REYN_PLAN_RETRY_LIMIT = "";
	expect(await sourcesOf()).toMatchObject({ "plan.retry_limit": [4, `${join(cwd, OWN)}:2`] });
});

test("a file of a directory narrows what is allowed, adds to what is denied, and takes nothing of either back", async () => {
	const held = async () => {
		const { config } = await settingsOf({ cwd, state }, env);
		const { mode, rules } = permissionsOf(config);
		return [mode, rules?.map(({ effect, action, on }) => `${effect} ${action} ${on ?? ""}`.trim())];
	};
	await write(OWN, "permissions:\n  mode: edits\n  rules: [{ deny: read, on: keys }, { allow: write, on: docs/** }]\n");
	await write("reyn.yaml", "permissions:\n  mode: read-only\n  rules: [{ ask: read }]\n");
	await write("reyn.local.yaml", "permissions:\n  mode: ask\n  rules: []\n");
	expect(await held()).toEqual(["read-only", ["deny read keys", "allow write docs/**", "ask read"]]);
	expect((await settingsOf({ cwd, state }, env)).from.get("permissions.mode")?.source).toBe("reyn.yaml:2");
	await rm(join(cwd, "reyn.yaml"));
	expect(await held()).toEqual(["ask", ["deny read keys", "allow write docs/**"]]);
	await write(OWN, "permissions: { mode: read-only }\n");
	expect((await held())[0]).toBe("read-only");
	env.REYN_PERMISSIONS_MODE = "all";
	expect((await held())[0]).toBe("all");
});

test("a file of a directory sets a budget lower than your own, and not higher", async () => {
	const held = async () => (await settingsOf({ cwd, state }, env)).config.budget;
	await write("reyn.yaml", "budget: { turn_tokens: 100, day_usd: 5 }\n");
	expect(await held()).toEqual({ turn_tokens: 100, day_usd: 5 });
	await write(OWN, "budget: { turn_tokens: 50, day_usd: 9 }\n");
	await write("reyn.local.yaml", "budget: { turn_tokens: 60, day_usd: 6 }\n");
	expect(await held()).toEqual({ turn_tokens: 50, day_usd: 5 });
	env.REYN_BUDGET_DAY_USD = "20";
	expect((await held())?.day_usd).toBe(20);
});

test("a file of a directory has a plan asked about or not offered, and takes neither back", async () => {
	const held = async () => plansOf((await settingsOf({ cwd, state }, env)).config);
	await write("reyn.yaml", "plan: { offer: auto, confirm: never }\n");
	await write(OWN, "plan: { offer: never, confirm: ask }\n");
	expect(await held()).toEqual({ offer: "never", confirm: "ask" });
	await write(OWN, "plan: { offer: auto }\n");
	await write("reyn.yaml", "plan: { offer: never, confirm: ask }\n");
	await write("reyn.local.yaml", "plan: { offer: auto, confirm: never }\n");
	expect(await held()).toEqual({ offer: "never", confirm: "ask" });
	expect(plansOf((await settingsOf({ cwd, state }, env)).config, "auto").offer).toBe("auto");
});

test("what becomes of a call in doubt is said by tool: a file of a directory adds to what you have said", async () => {
	await write(OWN, "in_doubt:\n  per_tool: { pay: ask, send: retry }\n");
	await write("reyn.yaml", "in_doubt:\n  per_tool: { send: skip }\n");
	expect(runtimeOptionsOf((await settingsOf({ cwd, state }, env)).config).inDoubt).toEqual({
		tools: { pay: "ask", send: "skip" },
	});
});

test.each([
	["ask", {}, undefined],
	["never", {}, undefined],
	["always", {}, true],
	["always", { scope: "process", mode: "code_only" }, true],
	["always", { scope: "session" }, undefined],
	["always", { files: false }, false],
	["never", { files: true }, true],
] as const)("with rewind.files: %s, %j takes files along: %s", async (files, raw, along) => {
	await write(OWN, stringify({ rewind: { files } }));
	const { config } = await settingsOf({ cwd, state }, env);
	const verb = verbs.find(({ name }) => name === "rewind") as Verb;
	expect(withFilesAlong(verb, raw, config).files).toBe(along);
});

test("a file of a directory has no files taken along, and may keep them where they are", async () => {
	const held = async () => filesAlongOf((await settingsOf({ cwd, state }, env)).config);
	await write("reyn.yaml", "rewind: { files: always }\n");
	expect(await held()).toBe("ask");
	await write(OWN, "rewind: { files: always }\n");
	expect(await held()).toBe("always");
	await write("reyn.yaml", "rewind: { files: never }\n");
	expect(await held()).toBe("never");
});

test("a file of a directory has no tasks taken along, and may keep them where they are", async () => {
	const held = async () => tasksAlongOf((await settingsOf({ cwd, state }, env)).config);
	await write("reyn.yaml", "rewind: { tasks: true }\n");
	expect(await held()).toBe(false);
	await write(OWN, "rewind: { tasks: true }\n");
	expect(await held()).toBe(true);
	await write("reyn.yaml", "rewind: { tasks: false }\n");
	expect(await held()).toBe(false);
});

/** Of each key: a value that is not the default, and what of the code has it then. */
const keys: Readonly<Record<string, readonly [value: unknown, reached: (config: Config) => unknown, as: unknown]>> = {
	model: ["ollama/a", ({ model }) => model, "ollama/a"],
	models: [{ small: "ollama/a", large: "ollama/b" }, ({ models }) => models, { small: "ollama/a", large: "ollama/b" }],
	"model_settings.max_input_tokens": [9000, (config) => modelSettingsOf(config), { maxInputTokens: 9000 }],
	"model_settings.max_output_tokens": [800, (config) => modelSettingsOf(config), { maxOutputTokens: 800 }],
	"model_settings.temperature": [0.5, (config) => modelSettingsOf(config), { temperature: 0.5 }],
	"model_settings.top_p": [0.5, (config) => modelSettingsOf(config), { topP: 0.5 }],
	"model_settings.reasoning": ["low", (config) => modelSettingsOf(config), { reasoning: "low" }],
	"model_policy.tries": [2, (config) => runtimeOptionsOf(config).modelPolicy, { retry: { maxAttempts: 2 } }],
	"model_policy.timeout_seconds": [9, (config) => runtimeOptionsOf(config).modelPolicy, { timeoutMs: 9000 }],
	"plan.concurrency": [1, (config) => runtimeOptionsOf(config).limits, { concurrency: 1 }],
	"plan.step_max_iterations": [2, (config) => runtimeOptionsOf(config).limits, { stepMaxIterations: 2 }],
	"plan.retry_limit": [0, (config) => runtimeOptionsOf(config).limits, { retryLimit: 0 }],
	"plan.step_tokens": [900, (config) => runtimeOptionsOf(config).limits, { stepTokens: 900 }],
	"plan.tokens": [9000, (config) => runtimeOptionsOf(config).limits, { planTokens: 9000 }],
	"plan.step_timeout_seconds": [9, (config) => runtimeOptionsOf(config).limits, { stepSeconds: 9 }],
	"plan.offer": ["never", (config) => plansOf(config), { offer: "never" }],
	"plan.confirm": ["ask", (config) => plansOf(config), { confirm: "ask" }],
	"plan.invalid_retries": [0, (config) => plansOf(config), { invalidRetries: 0 }],
	"plan_resume.default": ["discard", (config) => runtimeOptionsOf(config).planResume, "discard"],
	"plan_resume.child_purity": [
		{ pure: "adopt", external: "cancel" },
		(config) => runtimeOptionsOf(config).childPurity,
		{ pure: "adopt", external: "cancel" },
	],
	"limits.turn_rounds": [9, (config) => runtimeOptionsOf(config).turnRounds, 9],
	"limits.on_limit": ["extend", (config) => runtimeOptionsOf(config).onLimit, { unattended: "extend", times: 1 }],
	"limits.auto_extend_times": [4, (config) => runtimeOptionsOf(config).onLimit, { unattended: "refuse", times: 4 }],
	skills: [["weekly"], (config) => config.skills, ["weekly"]],
	"skill_resume.default": [
		"skip",
		(config) => runtimeOptionsOf(config).skillResume,
		{ default: "skip", per_skill: {} },
	],
	"skill_resume.per_skill": [
		{ digest: "skip" },
		(config) => runtimeOptionsOf(config).skillResume,
		{ default: "retry", per_skill: { digest: "skip" } },
	],
	"in_doubt.default": ["ask", (config) => runtimeOptionsOf(config).inDoubt, { default: "ask" }],
	"in_doubt.per_tool": [{ shell: "skip" }, (config) => runtimeOptionsOf(config).inDoubt, { tools: { shell: "skip" } }],
	"scripts.isolate": [true, (config) => runtimeOptionsOf(config).isolate, true],
	"files.images": [false, (config) => runtimeOptionsOf(config).images, false],
	"rewind.files": ["always", (config) => filesAlongOf(config), "always"],
	"rewind.tasks": [true, (config) => tasksAlongOf(config), true],
	"permissions.mode": ["read-only", (config) => permissionsOf(config).mode, "read-only"],
	"permissions.rules": [
		[
			{ deny: "read", on: "secrets/**" },
			{ allow: "edit", agent: "writer" },
		],
		(config) => permissionsOf(config).rules,
		[
			{ effect: "deny", action: "read", on: "secrets/**" },
			{ effect: "allow", action: "edit", agent: "writer" },
		],
	],
	prices: [
		{ "openai/gpt-5": { input: 1.25, output: 10, cached_input: 0.125 } },
		(config) => pricesOf(config),
		{ "openai/gpt-5": { input: 1.25, output: 10, cachedInput: 0.125 } },
	],
	"budget.turn_tokens": [9, (config) => budgetOf(config).turn, { tokens: 9 }],
	"budget.turn_usd": [0.5, (config) => budgetOf(config).turn, { usd: 0.5 }],
	"budget.plan_tokens": [9, (config) => budgetOf(config).plan, { tokens: 9 }],
	"budget.plan_usd": [0.5, (config) => budgetOf(config).plan, { usd: 0.5 }],
	"budget.session_tokens": [9, (config) => budgetOf(config).session, { tokens: 9 }],
	"budget.session_usd": [0.5, (config) => budgetOf(config).session, { usd: 0.5 }],
	"budget.day_tokens": [9, (config) => budgetOf(config).day, { tokens: 9 }],
	"budget.day_usd": [0.5, (config) => budgetOf(config).day, { usd: 0.5 }],
	"retention.keep_days": [7, (config) => retentionOf(config), { keepDays: 7 }],
	"retention.keep_checkpoints": [9, (config) => retentionOf(config), { keepCheckpoints: 9 }],
	"events.keep_days": [7, (config) => runtimeOptionsOf(config).trail, { keepDays: 7 }],
	"events.max_mb": [5, (config) => runtimeOptionsOf(config).trail, { maxBytes: 5_000_000 }],
};

test("what becomes of steps of skills in doubt is as a command says, for all skills", () => {
	const config: Config = { skill_resume: { default: "skip", per_skill: { digest: "skip" } } };
	expect(runtimeOptionsOf(config, "discard_skill").skillResume).toEqual({ default: "discard_skill", per_skill: {} });
});

describe("each key", () => {
	test("is looked at here", () => {
		const all = Object.entries(configSchema.shape).flatMap(([group, schema]) => {
			const inner = schema.unwrap() as { shape?: object };
			return inner.shape ? Object.keys(inner.shape).map((key) => `${group}.${key}`) : [group];
		});
		expect(Object.keys(keys)).toEqual(all);
		for (const { description } of Object.values(configSchema.shape).map((schema) => schema.unwrap()))
			expect(description).toBeTruthy();
		expect(configSchema.safeParse(defaults).success).toBe(true);
	});

	test.each(Object.entries(keys))(
		"%s reaches the code, from a file and from a variable",
		async (path, [value, reached, as]) => {
			const [group = "", key] = path.split(".");
			await write(OWN, stringify(key === undefined ? { [group]: value } : { [group]: { [key]: value } }));
			expect(reached((await settingsOf({ cwd, state }, env)).config)).toEqual(as);
			await rm(join(cwd, OWN));
			const name = variable(path.split("."));
			env[name] = typeof value === "string" ? value : JSON.stringify(value);
			const { config, from } = await settingsOf({ cwd, state }, env);
			expect(reached(config)).toEqual(as);
			expect(from.get(path)?.source).toBe(name);
		},
	);
});

test("what init writes sets nothing as it is; without the signs of a comment each line sets what it says", async () => {
	expect(await carryOut({ cwd, state, trace: join(cwd, "calls.jsonl") }, ["init"])).toMatchObject({ code: 0 });
	const template = await readFile(join(cwd, "reyn.yaml"), "utf8");
	expect(parse(template)).toBeNull();
	const uncommented = (text: string): string =>
		[...text.matchAll(/^# ( *[^A-Z ].*\n)/gm)].map(([, line]) => line).join("");
	await write(OWN, uncommented(template));
	await rm(join(cwd, "reyn.yaml"));
	expect((await settingsOf({ cwd, state }, env)).config).toEqual(parse(uncommented(template)));

	// In a directory what is no narrower than without it is passed over.
	await rm(join(cwd, OWN));
	const [, ofBoth = ""] = template.split("# Here, or there:\n");
	await write("reyn.yaml", uncommented(ofBoth));
	const { config } = await settingsOf({ cwd, state }, env);
	expect(parse(uncommented(ofBoth))).toMatchObject(config);
	expect(Object.keys(config)).toContain("permissions");
});
