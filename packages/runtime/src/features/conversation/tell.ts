/** Derives events from the records of turns. */
import { stepCompleted, type ToolCall } from "@reyn/journal";
import type { WalRecord } from "@reyn/wal";
import { sessionOf } from "../../kernel/sessions.ts";
import { turnOf } from "./conversation.ts";
import type { TurnEvent } from "./events.ts";
import { compactionAsked, conversationCompacted, toolFailed, turnCompleted, turnInterrupted } from "./records.ts";

export function tellTurn(record: WalRecord): readonly TurnEvent[] {
	const scope = sessionOf(record.scope);
	if (turnCompleted.is(record)) return [{ type: "turn_end", scope, turn: record.data.turn, outcome: "completed" }];
	if (turnInterrupted.is(record)) {
		const { turn, reason } = record.data;
		return [{ type: "turn_end", scope, turn, outcome: "interrupted", reason }];
	}
	if (toolFailed.is(record)) return [{ type: "tool_failed", scope, turn: record.data.turn, text: record.data.text }];
	if (compactionAsked.is(record)) return [{ type: "compacting", scope, turn: record.seq }];
	if (conversationCompacted.is(record)) {
		const { turn, by, tokens } = record.data;
		return [{ type: "compacted", scope, turn, ...(by && { by }), ...(tokens && { tokens }) }];
	}
	// Tool events come from the model's answer, which has the names and arguments; a tool's own step has no arguments.
	if (!stepCompleted.is(record) || record.data.kind !== "model" || turnOf(record.data.lane) === undefined) return [];
	const { toolCalls = [] } = (record.data.result ?? {}) as { toolCalls?: readonly ToolCall[] };
	return toolCalls.map(({ name, args }) => ({ type: "tool", scope, name, args }));
}
