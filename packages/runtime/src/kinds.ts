/** Every kind of record that the runtime writes, and which are talk and which are work: one table. */
import { journalRecords } from "@reyn/journal";
import { scriptRecords } from "@reyn/journal/script";
import { planRecords } from "@reyn/plan";
import { type Facets, rewindNote, rewindRecords } from "@reyn/rewind-modes";
import { skillRecords } from "@reyn/skill-resume";
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
} from "./records.ts";

export const allRecords: readonly AnyRecordKind[] = [
	...sessionRecords,
	...journalRecords,
	...planRecords,
	...skillRecords,
	...scriptRecords,
	...rewindRecords,
	...timetravelRecords,
];

export const facets: Facets = {
	conversation: [userPrompt, assistantMessage, turnCompleted, turnInterrupted, messageDelivered, rewindNote].map(
		({ kind }) => kind,
	),
	code: [sessionOpened, toolFailed, ...journalRecords, ...planRecords, ...skillRecords, ...scriptRecords].map(
		({ kind }) => kind,
	),
};
