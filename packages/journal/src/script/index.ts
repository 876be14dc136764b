/** Scripts: TypeScript files over durable steps, that survive any crash and any edit. */

export type { Question } from "./ask.ts";
export type {
	AgentOptions,
	AskOptions,
	BranchesFailed,
	JsonSchema,
	ScriptCalls,
	ScriptContext,
	Stage,
} from "./context.ts";
export {
	type CallEvent,
	type CallState,
	callsOf,
	type EndStatus,
	emptyRunView,
	nextRunView,
	type RunView,
	type ScriptEvent,
} from "./events.ts";
export { type ExplainedCall, type ExplainPorts, type Explanation, explain } from "./explain.ts";
export { loadScript, type ScriptModule, type ScriptVersion } from "./load.ts";
export { type Memory, type Reuse, ScriptMemo } from "./memo.ts";
export { scriptCompleted, scriptFailed, scriptRecords, scriptResumed, scriptStarted } from "./records.ts";
export { checkScript, runScript, type ScriptPorts } from "./run-script.ts";
export { type ScriptRun, type ScriptRuns, scriptRuns } from "./script-runs.ts";
