/** Every kind of record that the runtime writes, and which are talk and which are work: one table. */
import { journalRecords } from "@reyn/journal";
import { scriptRecords, scriptResumed, scriptStarted } from "@reyn/journal/script";
import { planRecords, planResumed, planStarted, planStepsReset } from "@reyn/plan";
import { type Facets, rewindNote, rewindRecords } from "@reyn/rewind-modes";
import { skillRecords, skillRunResumed, skillRunStarted } from "@reyn/skill-resume";
import { timetravelRecords } from "@reyn/timetravel";
import type { AnyRecordKind } from "@reyn/wal";
import {
	assistantMessage,
	messageDelivered,
	sessionOpened,
	sessionRecords,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "../features/conversation/records.ts";

export const allRecords: readonly AnyRecordKind[] = [
	...sessionRecords,
	...journalRecords,
	...planRecords,
	...skillRecords,
	...scriptRecords,
	...rewindRecords,
	...timetravelRecords,
];

/** Kinds that begin something, or set it going again: one that comes makes a preview stale. All others go on with what was begun. */
export const begins: readonly string[] = [
	sessionOpened,
	userPrompt,
	planStarted,
	planStepsReset,
	planResumed,
	skillRunStarted,
	skillRunResumed,
	scriptStarted,
	scriptResumed,
].map(({ kind }) => kind);

export const facets: Facets = {
	conversation: [userPrompt, assistantMessage, turnCompleted, turnInterrupted, messageDelivered, rewindNote].map(
		({ kind }) => kind,
	),
	code: [sessionOpened, toolFailed, ...journalRecords, ...planRecords, ...skillRecords, ...scriptRecords].map(
		({ kind }) => kind,
	),
};
