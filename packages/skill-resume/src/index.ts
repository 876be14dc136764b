/** Skills: work in phases that goes on where a killed process stopped. */
export {
	type ChildCall,
	type ChildEnd,
	type ChildPorts,
	endChildrenBelow,
	type SkillChildren,
	skillChildren,
} from "./children.ts";
export {
	type AnySkill,
	defineSkill,
	done,
	type FunctionPhase,
	type ModelPhase,
	next,
	type Phase,
	type PhaseContext,
	type Skill,
	type SkillSource,
	type StepOptions,
	type Transition,
} from "./define-skill.ts";
export { endsRun, type SkillCode, SkillError } from "./errors.ts";
export { type FoundSkills, type SkillProblem, skillNamed } from "./found-skills.ts";
export { jsonSchemaOf } from "./json-schema.ts";
export { type OpenSkillsOptions, openSkills, type SkillEnd, type SkillLog, type Skills } from "./open-skills.ts";
export {
	type ChildPurity,
	childPuritySchema,
	decideChild,
	policyFor,
	type SkillResume,
	skillResumeSchema,
} from "./policy.ts";
export {
	phaseCompleted,
	phaseEntered,
	skillRecords,
	skillRunCompleted,
	skillRunDiscarded,
	skillRunFailed,
	skillRunPaused,
	skillRunResumed,
	skillRunStarted,
	skillRunStopped,
	skillRunWentOn,
} from "./records.ts";
export { analyze, type ResumePoint, runLane } from "./resume-point.ts";
export { runSkill, type SkillPorts, type SkillQuestion } from "./run-skill.ts";
export { runSkillIn, type SkillInPorts, type SkillSession } from "./run-skill-in.ts";
export {
	childrenBelow,
	findRun,
	inFlightRuns,
	isLive,
	type SkillRun,
	type SkillRuns,
	skillRunIn,
	skillRuns,
	skillRunsOf,
} from "./skill-runs.ts";
export { runText, type SkillCalls, skillTool, skillToolName, skillTools } from "./skill-tool.ts";
export { startRun } from "./start-run.ts";
