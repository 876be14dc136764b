/** Derives events from the records of questions. */
import type { WalRecord } from "@reyn/wal";
import { sessionOf } from "../../kernel/sessions.ts";
import type { QuestionEvent } from "./events.ts";
import { questionAnswered, questionAsked } from "./records.ts";

export function tellQuestion(record: WalRecord): readonly QuestionEvent[] {
	const scope = sessionOf(record.scope);
	if (questionAsked.is(record)) {
		const { key: _key, lane: _lane, terms: _terms, ...asked } = record.data;
		return [{ type: "question", seq: record.seq, scope, ...asked }];
	}
	return questionAnswered.is(record) ? [{ type: "answered", scope, ...record.data }] : [];
}
