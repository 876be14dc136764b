/** What people do to a durable agent, each verb once for every face: a command line, a chat, a page. */
export { type ClosedDesk, carryOut, carryOutClosed, type Desk, doneLines, type Told } from "./carry-out.ts";
export { documentSchema, jsonSchemaOf } from "./document.ts";
export { type OperatorCode, OperatorError } from "./errors.ts";
export { type History, type HistoryEntry, type HistoryWindow, readHistory } from "./history.ts";
export { act, type Places } from "./holder/act.ts";
export { type Begun, type BegunAnywhere, beginAnywhere, beginThere } from "./holder/begin.ts";
export { holderOf, whenGone } from "./holder/call.ts";
export { type Followed, type FollowOptions, followWork } from "./holder/follow.ts";
export { type Holder, type ServeOptions, serveVerbs } from "./holder/serve.ts";
export { parentText } from "./lines/parent.ts";
export { outcomeText, ownTexts, tokensText, tookText } from "./lines/plan.ts";
export { answersText, askerText, questionLines } from "./lines/question.ts";
export { scopeText, sessionText } from "./lines/scope.ts";
export { scriptEndLines, scriptEventLines, scriptResultText, scriptViewLines } from "./lines/script.ts";
export { type Side, sidesLines } from "./lines/sides.ts";
export { trailLines, unreadLines } from "./lines/trail.ts";
export { isOptional, type Param, type Params, typedName } from "./param.ts";
export { type Patch, patchOf } from "./patch.ts";
export { parseRef, type ScopeWidth, scopeAt, scopeWidths } from "./refs.ts";
export type { Say } from "./say.ts";
export { reportState, type StateReport } from "./state-report.ts";
export {
	type ClosedVerb,
	type FilesVerb,
	givenFor,
	type HolderOf,
	type Moment,
	type ReadVerb,
	type StreamVerb,
	type Verb,
	type WorkVerb,
	type WriteVerb,
} from "./verb.ts";
export { trailOf } from "./verbs/events.ts";
export { verbs } from "./verbs/index.ts";
