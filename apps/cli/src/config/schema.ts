/** What a configuration may say. Each key has its help here, its default where there is one, and one place in the code that it reaches. */
import { dollarsSchema } from "@reyn/journal/internal";
import { permissionModes } from "@reyn/runtime";
import { childPuritySchema, skillResumeSchema } from "@reyn/skill-resume";
import { z } from "zod";

const count = (most: number) => z.int().positive().max(most);
const share = z.number().nonnegative().max(2);
const shape = <T extends z.core.$ZodLooseShape>(fields: T, help: string) =>
	z.strictObject(fields).partial().describe(help);

const skills = skillResumeSchema.shape;

const inDoubt = z.enum(["retry", "skip", "ask"]);

const dollars = dollarsSchema.positive();

const price = z
	.strictObject({
		input: dollarsSchema.describe("US dollars for a million tokens"),
		output: dollarsSchema.describe("US dollars for a million tokens"),
		cached_input: dollarsSchema.optional().describe("input that came from a cache; else as input"),
	})
	.describe("what the provider says that it costs; what a model without a price costs is unknown");

/** What tools do, and the names of tools. */
const actions = ["*", "read", "list", "search", "write", "edit", "remove", "run", "fetch", "skill"] as const;

/** What the tool `shell` does is named as in each question about it. */
const action = z.enum(actions, {
	error: ({ input }) =>
		input === "shell" ? `a command is run, whatever tool runs it; there are ${actions.join(", ")}` : undefined,
});

const rule = z
	.strictObject({
		allow: action,
		ask: action,
		deny: action,
		on: z
			.string()
			.min(1)
			.max(500)
			.describe(
				"paths below the directory, such as src/**; of run, the words that a command begins with; of fetch, hosts; of skill, their names",
			),
		agent: z.string().min(1).max(200),
	})
	.partial()
	.describe(
		"one of allow, ask and deny names what is done: read (list and search too), write (edit and remove too), run (a command), fetch (a page), skill (one that a step of a plan starts), or a tool",
	)
	.refine(
		({ allow, ask, deny }) => [allow, ask, deny].filter((each) => each !== undefined).length === 1,
		"a rule has one of allow, ask and deny",
	)
	.refine(
		({ allow, ask, deny, on = "" }) =>
			["run", "fetch"].includes(allow ?? ask ?? deny ?? "") || (!on.startsWith("/") && !on.split("/").includes("..")),
		{ path: ["on"], message: "a path below the directory, such as src/**" },
	)
	.refine(
		({ ask, deny, on }) =>
			on === undefined ||
			!(["*", "read", "list", "search"].includes(ask ?? "") || ["list", "search"].includes(deny ?? "")),
		"what lies at a path is shown by tools that were asked for something else, so nobody can be asked about it, nor one tool denied it: deny: read closes it to all",
	)
	.refine(
		({ deny, agent }) => agent === undefined || (deny !== "read" && deny !== "*"),
		"what may not be read is closed to all agents; leave agent out",
	);

export const configSchema = shape(
	{
		model: z
			.string()
			.min(1)
			.describe(
				"offline, or <provider>/<model>; not in a file of a directory, which may come from a stranger: it costs money",
			),
		models: z
			.record(z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/), z.string().min(1), {
				error: ({ code }) => (code === "invalid_key" ? "expected a short name such as small" : undefined),
			})
			.describe(
				"classes of models that a step of a plan may be given to, such as small: openai/gpt-5-mini, where there is more than one; not in a file of a directory, as model",
			),
		model_settings: shape(
			{
				max_input_tokens: count(100_000_000).describe(
					"at most so many tokens a request: what is longer is shortened, and old talk is told in short",
				),
				max_output_tokens: count(1_000_000).describe("at most so many tokens an answer"),
				temperature: share.describe("how much chance there is in an answer"),
				top_p: z.number().positive().max(1).describe("the share of likely words that are drawn from"),
				reasoning: z
					.enum(["none", "minimal", "low", "medium", "high", "xhigh"])
					.describe("how much a model thinks before it answers"),
			},
			"absent ones are as the provider has them",
		),
		model_policy: shape(
			{
				tries: count(100).describe("how often a model is asked for one answer, while its failures may pass"),
				timeout_seconds: count(86_400).describe("how long one try may take"),
			},
			"what an outage costs",
		),
		plan: shape(
			{
				concurrency: count(64).describe("steps at a time"),
				step_max_iterations: count(1000).describe("model calls of one step"),
				retry_limit: z.int().nonnegative().max(100).describe("tries of a model call behind the first"),
				step_tokens: count(1e12).describe("tokens of one step; absent: as many as it takes"),
				tokens: count(1e12).describe(
					"tokens of all steps of one plan, of all their tries; absent: as many as it takes",
				),
				step_timeout_seconds: count(86_400).describe(
					"for how long a step may work in one process; absent: as long as it takes",
				),
				offer: z.enum(["auto", "never"]).describe("auto: the model may propose one; never: it may not"),
				confirm: z
					.enum(["never", "ask"])
					.describe(
						"ask: you see the steps first, and say yes, no, or what to change; where nobody is here that is a no",
					),
				invalid_retries: z
					.int()
					.nonnegative()
					.max(10)
					.describe("how often the model may mend, in one turn, a plan that cannot be run"),
			},
			"plans",
		),
		plan_resume: shape(
			{
				default: z
					.enum(["retry_pending", "discard"])
					.describe(
						"retry_pending: it goes on, and finished steps are not paid again; discard: it is given up, and you are asked to ask again",
					),
				child_purity: childPuritySchema.describe(
					"what becomes of a skill that a step has started, by what that does (pure, world, side_effect, external, llm): cancel ends it and runs it anew, adopt goes on with it; pure ones are cancelled, others adopted",
				),
			},
			"what becomes of a plan whose process ended, when work goes on",
		),
		limits: shape(
			{
				turn_rounds: count(1000).describe(
					"rounds of model and tools in a turn, before you are asked whether it goes on",
				),
				on_limit: z
					.enum(["refuse", "extend"])
					.describe(
						"a step of a plan at one of its limits where nobody can be asked: refuse fails it, extend gives it as much again",
					),
				auto_extend_times: count(100).describe("how often each limit of a step is extended so"),
			},
			"when you are asked whether work goes on",
		),
		skills: z
			.array(
				z
					.string()
					.max(214)
					.regex(/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:\/[\w.-]+)*$/, "expected the name of a package"),
			)
			.max(100)
			.describe(
				"packages whose default export is a skill, or a list of skills, installed beside your own configuration (npm install --prefix); not in a file of a directory, as their code runs here",
			),
		skill_resume: shape(
			{ default: skills.default.unwrap(), per_skill: skills.per_skill.unwrap() },
			"what to do with effects of skills that may or may not have happened",
		),
		in_doubt: shape(
			{
				default: inDoubt.describe("of tools that say nothing themselves"),
				per_tool: z
					.record(z.string().min(1).max(200), inDoubt)
					.describe("by the name of a tool, whatever it says itself"),
			},
			"what becomes of a call that a crash cut, of which nobody can say whether it happened: retry makes it again, skip does not, ask does as permissions say; in a file of a directory, skip or ask",
		),
		scripts: shape({ isolate: z.boolean().describe("run scripts in a process of their own") }, "scripts"),
		files: shape(
			{ images: z.boolean().describe("keep what a file held before a tool changes it, secrets in it too") },
			"files",
		),
		rewind: shape(
			{
				files: z
					.enum(["ask", "never", "always"])
					.describe(
						"files that tools have changed: ask leaves them, unless one says so (--files, a key of the chat), never offers it nowhere, always takes them along; in a file of a directory, never",
					),
				tasks: z
					.boolean()
					.describe(
						"the tasks of this state: true takes all of them along with a move of all history, whoever has changed them, false leaves them; in a file of a directory, false",
					),
			},
			"what goes back with a rewind or a checkout",
		),
		permissions: shape(
			{
				mode: z
					.enum(permissionModes)
					.describe(
						"what tools do without a question: ask (look), edits (and change files), all, or read-only (nothing else, and nothing is asked)",
					),
				rules: z
					.array(rule)
					.max(500)
					.describe("what denies comes before what a person has granted, then what asks, then what allows"),
			},
			"what tools may do",
		),
		prices: z
			.record(z.string().min(1).max(200), price)
			.refine((prices) => !Object.hasOwn(prices, "offline"), {
				path: ["offline"],
				message: "it computes here and costs nothing; prices are of models that somebody is paid for",
			})
			.describe("by model, such as openai/gpt-5; not in a file of a directory, which may come from a stranger"),
		budget: shape(
			{
				turn_tokens: count(1e12).describe("tokens of one turn"),
				turn_usd: dollars.describe("US dollars of one turn"),
				plan_tokens: count(1e12).describe("tokens of one plan"),
				plan_usd: dollars.describe("US dollars of one plan"),
				session_tokens: count(1e12).describe("tokens of one session: its turns, plans, skills and scripts"),
				session_usd: dollars.describe("US dollars of one session"),
				day_tokens: count(1e12).describe("tokens of one day (UTC), in all sessions of a state"),
				day_usd: dollars.describe("US dollars of one day (UTC)"),
			},
			"how much may be spent before you are asked; absent: as much as it takes",
		),
		retention: shape(
			{
				keep_days: z.int().nonnegative().describe("days that reyn gc keeps, at least"),
				keep_checkpoints: z.int().nonnegative().describe("checkpoints that it keeps, at least"),
			},
			"what reyn gc keeps",
		),
		events: shape(
			{
				keep_days: count(36_500).describe("days of it that are kept, of those on which something was written"),
				max_mb: count(100_000).describe("megabytes that all of it may have; the oldest files go"),
			},
			"the audit trail, reyn events; not in a file of a directory, which could make it forget",
		),
	},
	"the configuration of reyn",
);

export type Config = z.infer<typeof configSchema>;

/** What holds where nothing is said. */
export const defaults = {
	model: "offline",
	model_policy: { tries: 6, timeout_seconds: 600 },
	plan: {
		concurrency: 3,
		step_max_iterations: 5,
		retry_limit: 3,
		offer: "auto",
		confirm: "never",
		invalid_retries: 1,
	},
	plan_resume: { default: "retry_pending" },
	limits: { on_limit: "refuse", auto_extend_times: 1 },
	skill_resume: { default: "retry" },
	in_doubt: { default: "retry" },
	scripts: { isolate: false },
	files: { images: true },
	rewind: { files: "ask", tasks: false },
	permissions: { mode: "ask", rules: [] },
	retention: { keep_days: 30, keep_checkpoints: 200 },
	events: { keep_days: 90, max_mb: 100 },
} as const satisfies Config;
