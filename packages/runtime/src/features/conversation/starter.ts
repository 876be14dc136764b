/** Starts turns for others, by an id of theirs: the chain of the turn, which its answer has too. */
import type { Seq } from "@reyn/wal";
import type { CameOf, StartedFor, Starter } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { chainOf, conversation, from } from "./conversation.ts";
import { turnWork } from "./pieces.ts";
import type { Turns } from "./turns.ts";

export const starterOf = (turns: Turns): Starter<{ readonly prompt: string }> => ({
	check: async () => {},
	async begin(session, work, { prompt }) {
		if (turnOf(session, work) === undefined) await turns.prompt(prompt, session.scope, [], { chain: work.id });
	},
	isOpen: ({ view }, { id }) => {
		const state = view.get(conversation);
		return state.open.some((turn) => chainOf(state, turn) === id);
	},
	under: (session) => session.over(turnWork(session.scope)),
	ended(session, work) {
		const state = session.view.get(conversation);
		const turn = turnOf(session, work);
		if (turn === undefined || state.open.includes(turn)) return undefined;
		let came: CameOf = { end: turn, isDone: false, text: "the turn was interrupted" };
		for (const item of from(state, turn)) {
			if (!("turn" in item)) continue;
			// Turns come one after the other.
			if (item.turn > turn) break;
			if (item.type === "reply") came = { end: item.seq, isDone: true, text: item.text };
		}
		return came;
	},
});

function turnOf({ view }: Session, work: StartedFor): Seq | undefined {
	for (const item of from(view.get(conversation), work.since))
		if (item.type === "prompt" && item.chain === work.id) return item.seq;
	return undefined;
}
