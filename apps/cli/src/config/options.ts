/** What of a configuration reaches the runtime, the model and the collection of old history. */
import type { AiSdkSettings } from "@reyn/ai-sdk";
import type { Prices } from "@reyn/journal";
import type { Verb } from "@reyn/operator";
import type {
	BudgetOptions,
	PermissionMode,
	PermissionOptions,
	PermissionRule,
	ProposalOptions,
	RuntimeOptions,
} from "@reyn/runtime";
import type { SkillResume } from "@reyn/skill-resume";
import { type Config, defaults } from "./schema.ts";

/** @param inDoubtOfSkills what becomes of their steps in doubt, that was given with the command */
export function runtimeOptionsOf(
	{
		model_policy: policy = {},
		plan = {},
		plan_resume: { default: planResume, child_purity: childPurity } = {},
		limits = {},
		skill_resume: skills,
		in_doubt: inDoubt = {},
		scripts = {},
		files = {},
		events = {},
	}: Config,
	inDoubtOfSkills?: SkillResume["default"],
): Pick<
	RuntimeOptions,
	| "limits"
	| "onLimit"
	| "modelPolicy"
	| "planResume"
	| "childPurity"
	| "skillResume"
	| "inDoubt"
	| "isolate"
	| "images"
	| "turnRounds"
	| "trail"
> {
	const { tries, timeout_seconds: seconds } = policy;
	return {
		modelPolicy: {
			...(tries !== undefined && { retry: { maxAttempts: tries } }),
			...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
		},
		limits: said({
			concurrency: plan.concurrency,
			stepMaxIterations: plan.step_max_iterations,
			retryLimit: plan.retry_limit,
			stepTokens: plan.step_tokens,
			stepSeconds: plan.step_timeout_seconds,
			planTokens: plan.tokens,
		}),
		...((limits.on_limit !== undefined || limits.auto_extend_times !== undefined) && {
			onLimit: {
				unattended: limits.on_limit ?? defaults.limits.on_limit,
				times: limits.auto_extend_times ?? defaults.limits.auto_extend_times,
			},
		}),
		...skillResumeOf(inDoubtOfSkills === undefined ? skills : { default: inDoubtOfSkills }),
		inDoubt: said({ default: inDoubt.default, tools: inDoubt.per_tool }),
		...said({
			planResume,
			childPurity,
			isolate: scripts.isolate,
			images: files.images,
			turnRounds: limits.turn_rounds,
		}),
		trail: said({
			keepDays: events.keep_days,
			maxBytes: events.max_mb === undefined ? undefined : events.max_mb * 1_000_000,
		}),
	};
}

const skillResumeOf = (of: Config["skill_resume"]): Pick<RuntimeOptions, "skillResume"> =>
	of ? { skillResume: { default: of.default ?? defaults.skill_resume.default, per_skill: of.per_skill ?? {} } } : {};

/** @param offer that was given with the command */
export function plansOf({ plan = {} }: Config, offer?: ProposalOptions["offer"]): ProposalOptions {
	const { confirm, invalid_retries: invalidRetries } = plan;
	return said({ offer: offer ?? plan.offer, confirm, invalidRetries });
}

/** @param mode that was given with the command */
export function permissionsOf({ permissions: of = {} }: Config, mode?: PermissionMode): PermissionOptions {
	return { mode: mode ?? of.mode, rules: of.rules?.map(ruleOf) };
}

function ruleOf({
	allow,
	ask,
	deny,
	on,
	agent,
}: NonNullable<NonNullable<Config["permissions"]>["rules"]>[number]): PermissionRule {
	const [effect, action] = Object.entries({ allow, ask, deny }).find(([, each]) => each !== undefined) ?? [];
	return { effect: effect as PermissionRule["effect"], action: action as string, on, agent };
}

export const budgetOf = ({ budget: of = {} }: Config): BudgetOptions => ({
	turn: { tokens: of.turn_tokens, usd: of.turn_usd },
	plan: { tokens: of.plan_tokens, usd: of.plan_usd },
	session: { tokens: of.session_tokens, usd: of.session_usd },
	day: { tokens: of.day_tokens, usd: of.day_usd },
});

export const pricesOf = ({ prices = {} }: Config): Prices =>
	Object.fromEntries(
		Object.entries(prices).map(([model, { cached_input: cachedInput, ...price }]) => [
			model,
			{ ...price, cachedInput },
		]),
	);

export const modelSettingsOf = ({ model_settings: of = {} }: Config): AiSdkSettings =>
	said({
		maxInputTokens: of.max_input_tokens,
		maxOutputTokens: of.max_output_tokens,
		temperature: of.temperature,
		topP: of.top_p,
		reasoning: of.reasoning,
	});

/** Whether files go along with a rewind where nobody has said so. */
export const filesAlongOf = ({ rewind = {} }: Config): FilesAlong => rewind.files ?? defaults.rewind.files;

/** Whether the tasks of a state go along. */
export const tasksAlongOf = ({ rewind = {} }: Config): boolean => rewind.tasks ?? defaults.rewind.tasks;

export type FilesAlong = "ask" | "never" | "always";

/** With what the configuration says of files, where a verb may take them along: a part of history goes back without them. */
export function withFilesAlong(
	{ params }: Verb,
	raw: Readonly<Record<string, unknown>>,
	of: Config,
): Readonly<Record<string, unknown>> {
	const isOpen = params.files?.as === "flag" && raw.files === undefined && (raw.scope ?? "process") === "process";
	return isOpen && filesAlongOf(of) === "always" ? { ...raw, files: true } : raw;
}

/** What `reyn gc` keeps, where it is not told otherwise. */
export const retentionOf = ({ retention: of = {} }: Config) =>
	said({ keepDays: of.keep_days, keepCheckpoints: of.keep_checkpoints });

/** Without what was not said. */
const said = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
	Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
