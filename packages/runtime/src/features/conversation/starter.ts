/** Starts turns for others, by an id of theirs: the chain of the turn, which its answer has too. */
import type { Seq } from "@reyn/wal";
import type { StartedFor, Starter } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { conversation, since } from "./conversation.ts";
import { turnWork } from "./pieces.ts";
import type { Turns } from "./turns.ts";

export const starterOf = (turns: Turns): Starter<{ readonly prompt: string }> => ({
	check: async () => {},
	async begin(session, work, { prompt }) {
		if (turnOf(session, work) === undefined) await turns.prompt(prompt, session.scope, [], { chain: work.id });
	},
	under: (session) => session.over(turnWork(session.scope)),
	ended(session, work) {
		const state = session.view.get(conversation);
		const turn = turnOf(session, work);
		if (turn === undefined || state.open.includes(turn)) return undefined;
		for (const [item] of since(state, turn))
			if (item.type === "reply" && item.turn === turn) return { isDone: true, text: item.text };
		return { isDone: false, text: "the turn was interrupted" };
	},
});

function turnOf({ view }: Session, work: StartedFor): Seq | undefined {
	for (const [item] of since(view.get(conversation), work.since))
		if (item.type === "prompt" && item.chain === work.id) return item.seq;
	return undefined;
}
