/** Durable steps: recall what already happened, or start durably, call, complete. */
export { agentLoop, type HandedOver, type LoopEnd, type LoopOptions } from "./agent-loop.ts";
export type { AttachedFile } from "./attached-file.ts";
export { callTool, shownOf, type ToolResult } from "./call-tool.ts";
export { defineTool, type ToolDefinition } from "./define-tool.ts";
export type { FailedTry, Identity, JournalEntry, Place, Recall, RecordedStep } from "./entry.ts";
export {
	type Divergence,
	type JournalCode,
	JournalError,
	NonRetryableError,
	type Reason,
	ReplayDivergenceError,
} from "./errors.ts";
export {
	type BeforeImage,
	type FileChange,
	type FileContent,
	fileChangeSchema,
	fileVersion,
	type WorkDirectories,
	type WorkFiles,
} from "./file-change.ts";
export type { ReadText } from "./hashed-texts.ts";
export { type JournalState, journal, recall } from "./journal.ts";
export { fingerprint } from "./key.ts";
export { Lane } from "./lane.ts";
export { askModel, type ModelReply } from "./model-step.ts";
export { type Journal, type OpenJournalOptions, openJournal, type StepOptions } from "./open-journal.ts";
export { Order, type OrderOptions } from "./order.ts";
export { type StepReport, stepOutcomes } from "./outcomes.ts";
export { type Payment, Payments } from "./payments.ts";
export type { GatedCall, Verdict } from "./permit.ts";
export type {
	Echo,
	FinishReason,
	Json,
	Keeping,
	Message,
	Model,
	ModelPart,
	ModelRequest,
	Tool,
	ToolAnswer,
	ToolCall,
	ToolContext,
	ToolSource,
	ToolSpec,
	Usage,
	Want,
} from "./ports.ts";
export { type Cost, costInWords, costOf, dollarsInWords, inDollars, type Price, type Prices } from "./price.ts";
export { runProgram } from "./program.ts";
export { type Purity, purities } from "./purity.ts";
export { Recorded } from "./recorded.ts";
export { journalRecords, laneClosed, laneFailed, stepCompleted, stepFailed, stepStarted } from "./records.ts";
export type { StoredResult } from "./results.ts";
export { type ModelPolicy, type RetryPolicy, whenSpace } from "./retry.ts";
export { spilledResults } from "./spilled-results.ts";
export { readText, type SpilledText, spillText } from "./spilled-text.ts";
export type { Called, InDoubt, InDoubtPolicy, Reconciled, Step, StepContext, StepEvent, Using } from "./step.ts";
export { type StepPorts, type Steppable, stepPorts } from "./step-ports.ts";
