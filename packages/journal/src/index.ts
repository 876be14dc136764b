/** Durable steps: recall what already happened, or start durably, call, complete. */
export { isRetryable, type JournalCode, JournalError, type Reason, reasonOf } from "./errors.ts";
export {
	isAwaited,
	type JournalEntry,
	type JournalState,
	journal,
	openStarts,
	type Recall,
	recall,
} from "./journal.ts";
export { fingerprint } from "./key.ts";
export { answerCall, askModel, type ModelReply, type ToolAnswer } from "./model-step.ts";
export {
	type InDoubtPolicy,
	Lane,
	type Reconciled,
	type Step,
	type StepContext,
	type StepEvent,
	type Using,
} from "./perform.ts";
export type { Message, Model, ModelPart, ModelRequest, Tool, ToolCall, ToolContext, ToolSpec, Usage } from "./ports.ts";
export { leavesOutcome, type Purity, purities, startsDurably } from "./purity.ts";
export { journalRecords, laneClosed, stepCompleted, stepFailed, stepStarted } from "./records.ts";
