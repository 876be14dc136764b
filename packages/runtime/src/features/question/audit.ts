/** The lines of questions in the audit trail. */
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";
import { questionAnswered, questionAsked } from "./records.ts";

export function auditQuestion(record: WalRecord): Audited | undefined {
	if (questionAsked.is(record)) {
		const { from, question } = record.data;
		return { kind: "question", what: "asked", from, subject: brief(question) };
	}
	if (!questionAnswered.is(record)) return undefined;
	const { question, text, by } = record.data;
	return { kind: "question", what: "answered", question, by, answer: decisionIn(text) };
}

/** A word that allows or denies. Any other answer is a text of a person, and does not belong in the trail. */
const decisionIn = (text: string): string | undefined => /^(?:yes|no|once|session|always)(?=: |$)/.exec(text)?.[0];
