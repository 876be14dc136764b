/** The lines of turns in the audit trail. */
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";
import {
	compactionAsked,
	conversationCompacted,
	messageAdopted,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "./records.ts";

export function auditTurn(record: WalRecord): Audited | undefined {
	if (userPrompt.is(record)) return { kind: "turn", what: "begun", turn: record.seq, by: record.data.by };
	if (turnCompleted.is(record)) return { kind: "turn", what: "ended", turn: record.data.turn };
	if (compactionAsked.is(record)) return { kind: "turn", what: "begun", turn: record.seq, by: "person", to: "compact" };
	if (conversationCompacted.is(record)) {
		const { turn, by, tokens } = record.data;
		return { kind: "turn", what: "compacted", turn, by, tokens };
	}
	if (messageAdopted.is(record)) {
		const { from, source, actor } = record.data;
		return { kind: "move", what: "adopted", target: from, ...source, actor };
	}
	if (!turnInterrupted.is(record)) return undefined;
	const { turn, reason } = record.data;
	return { kind: "turn", what: "interrupted", turn, why: brief(reason) };
}
