/** The pieces of work of a conversation: open turns, and texts that wait to be shown. */
import { journalRecords, type SpilledText } from "@reyn/journal";
import type { View } from "@reyn/snapshot";
import type { Scope } from "@reyn/wal";
import type { Piece } from "../../kernel/feature.ts";
import { kindsOf, type Work } from "../../kernel/work.ts";
import { type ConversationItem, chainOf, conversation, since, titleOf } from "./conversation.ts";
import type { BackgroundMessage } from "./events.ts";
import { conversationRecords, messageDelivered } from "./records.ts";

/** The kind of piece of an open turn. */
export const TURN = "turn";

/** The kind of piece of a text that waits to be shown. */
export const MESSAGE = "message";

const kindsOfTurn = kindsOf([...conversationRecords.filter((each) => each !== messageDelivered), ...journalRecords]);

/** The work of a turn. All turns of a session have the same name, so they run one after the other. */
export const turnWork = (session: Scope): Work => ({ name: TURN, scope: session, kinds: kindsOfTurn });

export const deliveryWork = (session: Scope): Work => ({
	name: "deliver",
	scope: session,
	kinds: [messageDelivered.kind],
});

export function turnsIn(view: View): readonly Piece[] {
	const state = view.get(conversation);
	return state.open.map((turn) => ({
		kind: TURN,
		id: String(turn),
		work: turnWork(view.scope),
		status: "running",
		title: titleOf(state, turn),
		chain: chainOf(state, turn),
		since: turn,
	}));
}

export const messagesIn = (view: View): readonly Piece[] =>
	undeliveredIn(view).map(({ seq, text }) => ({
		kind: MESSAGE,
		id: String(seq),
		work: deliveryWork(view.scope),
		status: "running",
		title: text,
		since: seq,
	}));

/** A message that was not shown yet; only its beginning, if the whole lies beside the log. */
export type Undelivered = BackgroundMessage & { readonly spilled: SpilledText | undefined };

/** The messages that were not shown yet, oldest first. */
export function undeliveredIn(view: View): readonly Undelivered[] {
	const { scope } = view;
	const state = view.get(conversation);
	const { undelivered } = state;
	return since(state, undelivered[0] ?? Number.POSITIVE_INFINITY)
		.flatMap(([item]) => (item.type === "message" && undelivered.includes(item.seq) ? [messageOf(item, scope)] : []))
		.toArray()
		.reverse();
}

const messageOf = (
	{ seq, from, text, chain, spilled }: Extract<ConversationItem, { readonly type: "message" }>,
	scope: Scope,
): Undelivered => ({ seq, scope, from, text, ...(chain !== undefined && { chain }), spilled });
