/** What the records of a turn tell. */
import { stepCompleted, type ToolCall } from "@reyn/journal";
import type { WalRecord } from "@reyn/wal";
import { sessionOf } from "../../kernel/sessions.ts";
import { turnOf } from "./conversation.ts";
import type { TurnEvent } from "./events.ts";
import { turnCompleted, turnInterrupted } from "./records.ts";

export function tellTurn(record: WalRecord): readonly TurnEvent[] {
	const scope = sessionOf(record.scope);
	if (turnCompleted.is(record)) return [{ type: "turn_end", scope, turn: record.data.turn, outcome: "completed" }];
	if (turnInterrupted.is(record)) {
		const { turn, reason } = record.data;
		return [{ type: "turn_end", scope, turn, outcome: "interrupted", reason }];
	}
	// The model's answer says which tools it asks for, and with what; a tool's own step says neither.
	if (!stepCompleted.is(record) || record.data.kind !== "model" || turnOf(record.data.lane) === undefined) return [];
	const { toolCalls = [] } = (record.data.result ?? {}) as { toolCalls?: readonly ToolCall[] };
	return toolCalls.map(({ name, args }) => ({ type: "tool", scope, name, args }));
}
