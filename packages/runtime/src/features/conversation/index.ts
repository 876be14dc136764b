/** Conversations: prompts and their turns, what comes from the background, and what a model is shown of it all. */
import type { Feature, FeatureHost, Kernel } from "../../kernel/feature.ts";
import { asker, backgroundMessages, serve, turnStarter } from "../../kernel/services.ts";
import { attachedToMessages } from "./attached-files.ts";
import { auditTurn } from "./audit.ts";
import { conversation } from "./conversation.ts";
import type { BackgroundMessage } from "./events.ts";
import { spilledMessages } from "./large-texts.ts";
import { Outbox } from "./outbox.ts";
import { messagesIn, TURN, turnsIn } from "./pieces.ts";
import {
	assistantMessage,
	compactionAsked,
	conversationCompacted,
	messageAdopted,
	messageDelivered,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "./records.ts";
import { starterOf } from "./starter.ts";
import { tellTurn } from "./tell.ts";
import { MENDINGS, TURN_ROUNDS } from "./turn.ts";
import { Turns } from "./turns.ts";

export interface ConversationOptions {
	/** Shows a text from the background to the user. Once it resolves, the text counts as delivered. */
	onMessage?(message: BackgroundMessage): Promise<void>;
	/** How many rounds of model and tools a turn may take before a person is asked whether it goes on. Default: 50. */
	readonly turnRounds?: number | undefined;
	/** How often a model may correct what it hands over in a turn, such as a plan that cannot be run. Default: 1. */
	readonly mendings?: number | undefined;
}

export interface ConversationHost extends FeatureHost {
	readonly turns: Turns;
	readonly outbox: Outbox;
}

export const conversationFeature = ({
	onMessage,
	turnRounds = TURN_ROUNDS,
	mendings = MENDINGS,
}: ConversationOptions = {}): Feature<ConversationHost> => ({
	name: "conversation",
	records: {
		conversation: [
			...[userPrompt, assistantMessage, turnCompleted, turnInterrupted],
			...[compactionAsked, conversationCompacted, messageAdopted, messageDelivered],
		],
		code: [toolFailed],
	},
	projections: [conversation],
	begins: [userPrompt, compactionAsked],
	undo: {
		[userPrompt.kind]: (record) => (userPrompt.is(record) && record.data.by === "person" ? "turn" : undefined),
		[conversationCompacted.kind]: (record) =>
			conversationCompacted.is(record) && record.data.by === "person"
				? { takenBackBy: { scope: record.scope, drop: [conversationCompacted.kind] } }
				: undefined,
		[messageAdopted.kind]: ({ scope }) => ({ takenBackBy: { scope, drop: [messageAdopted.kind] } }),
	},
	blobs: [spilledMessages, attachedToMessages],
	needs: [asker],
	provides: [backgroundMessages, turnStarter],
	pieces: (view) => [...turnsIn(view), ...messagesIn(view)],
	settle({ kind, id }, _before, along) {
		if (kind !== TURN) return undefined;
		if (along?.[TURN] === Number(id)) return { becomes: "running" };
		const reason = "a rewind went back into this turn";
		return { becomes: "over", draft: turnInterrupted({ turn: Number(id), reason }) };
	},
	end: ({ kind, id }, reason) => (kind === TURN ? [turnInterrupted({ turn: Number(id), reason })] : undefined),
	tell: tellTurn,
	audit: auditTurn,
	start(kernel: Kernel) {
		const outbox = new Outbox(kernel, onMessage);
		const turns = new Turns(kernel, turnRounds, mendings);
		return {
			turns,
			outbox,
			services: [serve(backgroundMessages, outbox), serve(turnStarter, starterOf(turns))],
			goOn(session, { kind }) {
				if (kind === TURN) turns.run(session);
				else outbox.deliverWaiting(session);
			},
		};
	},
});
