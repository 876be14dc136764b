/** What other packages of Reyn need of this one, and nobody else: `@reyn/journal/internal`. It may change in any version. */

export {
	assertShown,
	assertSize,
	assertTaken,
	attach,
	attachable,
	attachedAs,
	attachedFileSchema,
	filesOf,
	labelled,
	labelOf,
	MOST_FILE_BYTES,
	mediaTypeOf,
	readAttached,
} from "./attached-file.ts";
export { attachedNames } from "./attached-names.ts";
export { toolStepThatThrows } from "./call-tool.ts";
export { nowStep, sleepStep } from "./clock-steps.ts";
export { type Conversation, converse, type Read, readJson, withSchema } from "./converse.ts";
export { type Dict, dictOf, emptyDict, entriesIn, getIn, setIn } from "./dict.ts";
export { callKey } from "./entry.ts";
export { reasonOf } from "./errors.ts";
export { endedBy, endedForNow, isBeneath, ProgramEnded } from "./failure.ts";
export { fileChangeOf, imageNameOf, readImage } from "./file-change.ts";
export { hashedTexts } from "./hashed-texts.ts";
export { callName, keyOf, startOf } from "./idempotency-key.ts";
export { entriesOf, firstBelow, lanesOf, openStarts, recordedIn } from "./journal.ts";
export { type OwnLog, type OwnLogOptions, type OwnSession, openOwnLog, type WorkingSession } from "./own-log.ts";
export { OwnWork } from "./own-work.ts";
export { callsAround, dayOf, paymentOf, workOf } from "./payments.ts";
export { Bill, costSince, dollarsSchema, picodollars, priceFor, pricesSchema } from "./price.ts";
export { assertPurity } from "./purity.ts";
export { INLINE_BYTES, toJson } from "./results.ts";
export { unlessAborted } from "./retry.ts";
export { agentCall, agentStep, findTool } from "./script/agent.ts";
export { askCall, askStep } from "./script/ask.ts";
export { Draws } from "./script/draws.ts";
export { eventOfRecord, eventOfStep } from "./script/events.ts";
export { scriptLane } from "./script/records.ts";
export { openRuns } from "./script/script-runs.ts";
export { spilledTextSchema } from "./spilled-text.ts";
export {
	approximateTokens,
	scaleOf,
	shortened,
	shortText,
	TOKEN_BYTES,
} from "./window.ts";
