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
export { type RewindMode, type RewindPreview, type RewindResult, rewindModes } from "@reyn/rewind-modes";
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
export {
	type BlastRadius,
	blastRadius,
	type Extent,
	type MoveTo,
	type PaidFor,
	paidAgainBy,
	type Unfinished,
	type WorkAgain,
} from "./blast-radius.ts";
export type { RuntimeEvent } from "./events.ts";
export type { SpentOnWork } from "./features/budget/budget-host.ts";
export type { BudgetLimit, BudgetOptions } from "./features/budget/options.ts";
export { budgetExtended } from "./features/budget/records.ts";
export type { ConfigFiles } from "./features/config/config-files.ts";
export type { Adoption } from "./features/conversation/adopted.ts";
export {
	type ConversationItem,
	type ConversationState,
	conversation,
	messagesBefore,
} from "./features/conversation/conversation.ts";
export type { BackgroundMessage } from "./features/conversation/events.ts";
export {
	assistantMessage,
	compactionAsked,
	conversationCompacted,
	conversationRecords,
	messageAdopted,
	messageDelivered,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "./features/conversation/records.ts";
export type { GivenFile, PromptOptions } from "./features/conversation/turns.ts";
export type { ComparedFile, FileBetween, FileHistory, FilesSince, TouchedFile } from "./features/files/file-history.ts";
export {
	adoptedPath,
	type FileChanged,
	type FilesPreview,
	type FilesRestored,
	type KeptFile,
	type Theirs,
} from "./features/files/file-restore.ts";
export type { FileWrite } from "./features/files/file-writes.ts";
export { allRecords, facets } from "./features/index.ts";
export {
	isUnreadable,
	type PermissionMode,
	type PermissionRule,
	permissionModes,
} from "./features/permission/decide.ts";
export type { Grant } from "./features/permission/grants.ts";
export type { PermissionOptions, Permissions } from "./features/permission/permission-host.ts";
export { permissionGranted, permissionRevoked } from "./features/permission/records.ts";
export type { AmendPreview, OnLimit, PlanResume, ResumePreview, StepOfPlan } from "./features/plan/plan-host.ts";
export type { ProposalOptions } from "./features/plan/proposal.ts";
export { questionAnswered, questionAsked } from "./features/question/records.ts";
export type { ScriptQuestion } from "./features/script/questions.ts";
export type { ScriptText } from "./features/script/script-files.ts";
export {
	checkScript,
	type ScriptAttempt,
	type ScriptEnd,
	type ScriptPreview,
	type ScriptResume,
	type ScriptRunEntry,
	type Scripts,
	type StartedScript,
	type Verification,
} from "./features/script/scripts.ts";
export type { FindSkills } from "./features/skill/known-skills.ts";
export type { ChildRun, ParentStep } from "./features/skill/pieces.ts";
export type { OpenTasks, OverRuntime, TaskAddition, TaskEntry, TaskOptions, Tasks } from "./features/task/task-host.ts";
export type { TasksAlong } from "./features/task/task-restore.ts";
export { taskLine, taskText } from "./features/task/task-tools.ts";
export type { Held, Holding, Waiting } from "./holding.ts";
export type { AgentOptions } from "./kernel/agents.ts";
export { type Audited, brief } from "./kernel/audit.ts";
export { type Ending, inBackground } from "./kernel/background.ts";
export { type RuntimeCode, RuntimeError } from "./kernel/errors.ts";
export type {
	Agent,
	Facet,
	Feature,
	FeatureHost,
	Frame,
	Kernel,
	Piece,
	Settled,
} from "./kernel/feature.ts";
export type { MeterReading } from "./kernel/meter.ts";
export type { Subscription, TellContext, Told } from "./kernel/pump.ts";
export { endsWork, sessionOpened } from "./kernel/records.ts";
export {
	type Answer,
	type AnyService,
	type Asker,
	type Asking,
	type AskPerson,
	asker,
	type BackgroundMessages,
	backgroundMessages,
	type CameOf,
	type From,
	type OpenQuestion,
	type Served,
	type Service,
	type StartedFor,
	type Starter,
	serve,
	service,
	skillStarter,
	turnStarter,
} from "./kernel/services.ts";
export type { Session, SessionScope } from "./kernel/session.ts";
export { mainSession, sessionOf } from "./kernel/sessions.ts";
export type { BlobArea, Gone, Store } from "./kernel/store.ts";
export { kindsOf, type Work } from "./kernel/work.ts";
export { redactSecrets } from "./redaction/redact-secrets.ts";
export { withoutSecrets } from "./redaction/secret-values.ts";
export {
	type Answered,
	type Confirmed,
	openRuntime,
	type PlanEntry,
	type Restored,
	Runtime,
	type RuntimeOptions,
	type StepWithChildren,
	type Unended,
} from "./runtime.ts";
export {
	type Archived,
	type ArchiveOptions,
	archiveState,
	besideState,
	finishArchive,
	keptByArchive,
} from "./stores/archive.ts";
export type { ArtifactsGone, Collection } from "./stores/artifacts.ts";
export { engineStore } from "./stores/engine.ts";
export { type Layout, layoutOf } from "./stores/layout.ts";
export { type FileStoreOptions, fileStore } from "./stores/state-directory.ts";
export { trailDirectory } from "./stores/trail-directory.ts";
export { type TrailFound, type TrailQuery, TrailReader } from "./stores/trail-reader.ts";
export {
	claimState,
	forgetUnknown,
	type StateOrigin,
	stateFingerprint,
	stateOrigin,
	trustState,
} from "./stores/trust.ts";
