/** The composition: sessions, turns, tools, plans, skills, checkpoints and restore over one durable log. */
export { type RewindMode, type RewindPlan, type RewindResult, rewindModes } from "@reyn/rewind-modes";
export type { Checkout, Checkpoint, Move, Stepped } from "@reyn/timetravel";
export { type ConversationItem, type ConversationState, conversation, messagesBefore } from "./conversation.ts";
export { type RuntimeCode, RuntimeError } from "./errors.ts";
export type { BackgroundMessage, RuntimeEvent } from "./events.ts";
export { type History, type HistoryEntry, readHistory } from "./history.ts";
export { allRecords, facets } from "./kinds.ts";
export { type Layout, layoutOf } from "./layout.ts";
export type { MeterReading } from "./meter.ts";
export { approximateTokens, offlineModel } from "./models/offline.ts";
export { tracedModel } from "./models/traced.ts";
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
export { parseRef } from "./refs.ts";
export { mainSession, openRuntime, type Restored, Runtime, type RuntimeOptions } from "./runtime.ts";
export type { SessionScope } from "./session.ts";
export { digestSkill } from "./skills/digest.ts";
export { reportState, type StateReport } from "./state-report.ts";
export { createFileTools } from "./tools/file-tools.ts";
export { topicsOf } from "./tools/topics.ts";
