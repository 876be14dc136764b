/** The kinds of work that a runtime has by itself, in their order. */
import { PLAN_TOOL } from "@reyn/plan";
import { type Skill, skillToolName } from "@reyn/skill-resume";
import { compose } from "../kernel/compose.ts";
import type { Feature } from "../kernel/feature.ts";
import type { BudgetHost } from "./budget/budget-host.ts";
import { budgetFeature } from "./budget/index.ts";
import type { MoneyOptions } from "./budget/options.ts";
import type { ConfigFiles } from "./config/config-files.ts";
import { configFeature } from "./config/index.ts";
import { type ConversationHost, type ConversationOptions, conversationFeature } from "./conversation/index.ts";
import type { FileHistoryOptions } from "./files/file-history.ts";
import { type FileHost, filesFeature } from "./files/index.ts";
import { permissionFeature } from "./permission/index.ts";
import type { PermissionHost, PermissionOptions } from "./permission/permission-host.ts";
import { type PlanOptions, planFeature } from "./plan/index.ts";
import type { PlanHost } from "./plan/plan-host.ts";
import { ASK_USER } from "./question/ask-user.ts";
import { questionFeature } from "./question/index.ts";
import type { QuestionHost, QuestionOptions } from "./question/question-host.ts";
import { type ScriptHost, scriptFeature } from "./script/index.ts";
import type { ScriptOptions } from "./script/scripts.ts";
import { type SkillFeatureOptions, skillFeature } from "./skill/index.ts";
import { type FindSkills, KnownSkills } from "./skill/known-skills.ts";
import type { SkillHost } from "./skill/skill-host.ts";
import { taskFeature } from "./task/index.ts";
import type { TaskOptions, Tasks } from "./task/task-host.ts";
import { TASK_TOOLS } from "./task/task-tools.ts";

export interface BuiltIn {
	readonly question: Feature<QuestionHost>;
	readonly permission: Feature<PermissionHost>;
	readonly budget: Feature<BudgetHost>;
	readonly conversation: Feature<ConversationHost>;
	readonly plan: Feature<PlanHost>;
	readonly skill: Feature<SkillHost>;
	readonly script: Feature<ScriptHost>;
	readonly files: Feature<FileHost>;
	readonly config: Feature<ConfigFiles>;
	readonly task: Feature<Tasks>;
	readonly list: readonly Feature[];
}

export interface BuiltInOptions
	extends Omit<ConversationOptions, "mendings">,
		PlanOptions,
		ScriptOptions,
		QuestionOptions,
		MoneyOptions,
		FileHistoryOptions {
	readonly permissions?: PermissionOptions | undefined;
	readonly skills?: readonly Skill[];
	readonly findSkills?: FindSkills;
	readonly skillResume?: SkillFeatureOptions["resume"];
	readonly childPurity?: SkillFeatureOptions["childPurity"];
	readonly tasks?: TaskOptions | undefined;
}

export function builtIn({
	skills,
	findSkills,
	skillResume,
	childPurity,
	permissions,
	tasks,
	...options
}: BuiltInOptions): BuiltIn {
	const question = questionFeature(options);
	const permission = permissionFeature(permissions);
	const budget = budgetFeature(options);
	const conversation = conversationFeature({ ...options, mendings: options.plans?.invalidRetries });
	const plan = planFeature(options);
	const known = new KnownSkills(skills ?? [], findSkills);
	const skill = skillFeature({ skills: known, resume: skillResume, childPurity });
	const script = scriptFeature(options);
	// What a skill does is recorded by itself.
	const files = filesFeature(options, (name) =>
		[PLAN_TOOL, ASK_USER, ...TASK_TOOLS, ...known.now.skills.map(skillToolName)].includes(name),
	);
	const config = configFeature();
	const task = taskFeature(tasks);
	return {
		...{ question, permission, budget, conversation, plan, skill, script, files, config, task },
		list: [question, permission, budget, conversation, plan, skill, script, files, config, task],
	};
}

/** Every kind of record that a runtime writes that has no features of one's own, and which of them are talk and which are work. */
export const { records: allRecords, facets } = compose(builtIn({}).list);
