/** The composition: sessions, turns, tools, plans, skills, checkpoints and restore over one durable log. */
export {
	type CallEvent,
	callsOf,
	type ExplainedCall,
	type Explanation,
	emptyRunView,
	nextRunView,
	type Question,
	type RunView,
	type ScriptEvent,
} from "@reyn/journal/script";
export { type RewindMode, type RewindPlan, type RewindResult, rewindModes } from "@reyn/rewind-modes";
export {
	type Change,
	type Checkout,
	type Checkpoint,
	diffLines,
	type Move,
	type StateDiff,
	type StepOptions,
	type Stepped,
} from "@reyn/timetravel";
export type { ArtifactsGone, Collection } from "./artifacts.ts";
export { type BlastRadius, blastRadius, type Extent, type Unfinished } from "./blast-radius.ts";
export { type ConversationItem, type ConversationState, conversation, messagesBefore } from "./conversation.ts";
export { type RuntimeCode, RuntimeError } from "./errors.ts";
export type { BackgroundMessage, RuntimeEvent } from "./events.ts";
export { type History, type HistoryEntry, readHistory } from "./history.ts";
export { allRecords, facets } from "./kinds.ts";
export { type Layout, layoutOf } from "./layout.ts";
export type { MeterReading } from "./meter.ts";
export {
	assistantMessage,
	messageDelivered,
	sessionOpened,
	sessionRecords,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "./records.ts";
export { redactSecrets } from "./redact-secrets.ts";
export { parseRef, type ScopeWidth, scopeAt, scopeWidths } from "./refs.ts";
export { type Confirmed, openRuntime, type Restored, Runtime, type RuntimeOptions } from "./runtime.ts";
export type { ScriptText } from "./script-files.ts";
export {
	checkScript,
	type ScriptEnd,
	type ScriptResume,
	type ScriptRunEntry,
	type Scripts,
	type StartedScript,
	type Verification,
} from "./scripts.ts";
export type { SessionScope } from "./session.ts";
export { mainSession, sessionOf } from "./sessions.ts";
export { digestSkill } from "./skills/digest.ts";
export { reportState, type StateReport } from "./state-report.ts";
export { claimState, type StateOrigin, stateOrigin, trustState } from "./trust.ts";
