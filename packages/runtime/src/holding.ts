/** What sessions hold in a state, counted: shown side by side, as it is before a move and as it is after. Pure. */
import { scriptRuns } from "@reyn/journal/script";
import type { View } from "@reyn/snapshot";
import type { Scope, Seq } from "@reyn/wal";
import { type ConversationItem, conversation } from "./features/conversation/conversation.ts";
import { MESSAGE, TURN } from "./features/conversation/pieces.ts";
import { PLAN } from "./features/plan/pieces.ts";
import { unanswered } from "./features/question/questions.ts";
import { SCRIPT } from "./features/script/pieces.ts";
import { openQuestionsIn } from "./features/script/questions.ts";
import { SKILL } from "./features/skill/pieces.ts";
import type { Feature, Piece } from "./kernel/feature.ts";
import { isSame, type Settlement } from "./kernel/settle.ts";

/** How much there is of each, in all sessions together. */
export interface Holding {
	readonly sessions: number;
	/** What was said in conversations, and what was asked of tools: what `show` lists. */
	readonly messages: number;
	readonly plans: Held;
	/** Skill runs, without those that a step of a plan has called. */
	readonly runs: Held;
	readonly scripts: Held;
	/** Work of the embedder's own features. */
	readonly others: Held;
	/** The questions that wait for a person. */
	readonly questions: number;
}

export interface Held {
	/** With what is over. */
	readonly all: number;
	/** What goes on by itself, is paused, or waits. */
	readonly unfinished: number;
}

/** What waits for a person: a question for its answer, a text to be shown. */
export interface Waiting {
	readonly seq: Seq;
	readonly scope: Scope;
	readonly text: string;
}

/** A session in one state, with its work as a move leaves it. */
export interface HeldSession {
	readonly view: View;
	readonly pieces: readonly Piece[];
}

/** @param settled what a move has made of its work; none: it is as it stands there */
export const heldSession = (
	features: readonly Feature[],
	view: View,
	settled: readonly Settlement[] = [],
): HeldSession => ({
	view,
	pieces: piecesIn(features, view).map((piece) => {
		const becomes = settled.find((each) => isSame(each.piece, piece))?.becomes;
		return becomes === undefined ? piece : { ...piece, status: becomes };
	}),
});

export function holdingOf(sessions: readonly HeldSession[]): Holding {
	const pieces = sessions.flatMap((each) => each.pieces);
	const held = (isOne: (piece: Piece) => boolean): Held => {
		const found = pieces.filter(isOne);
		return { all: found.length, unfinished: found.filter(({ status }) => status !== "over").length };
	};
	const of = (wanted: string): Held => held(({ kind }) => kind === wanted);
	return {
		sessions: sessions.length,
		messages: sessions.reduce((sum, { view }) => sum + [...said(view)].length, 0),
		...{ plans: of(PLAN), runs: of(SKILL), scripts: of(SCRIPT), others: held(isOther) },
		questions: sessions.flatMap(questionsOf).length,
	};
}

/** The questions of a session that wait for a person, by scripts too. */
export function questionsOf({ view, pieces }: HeldSession): readonly Waiting[] {
	const { scope } = view;
	const ofWork = unanswered(view, ({ kind, id }) => pieces.find((each) => isSame(each, { kind, id }))?.status);
	const ofScripts = Object.keys(view.get(scriptRuns)).flatMap((run) => openQuestionsIn(view, run));
	return [...ofWork, ...ofScripts].map(({ seq, question: text }) => ({ seq, scope, text }));
}

/** The texts of a session that are still to be shown. */
export const messagesOf = ({ view: { scope }, pieces }: HeldSession): readonly Waiting[] =>
	pieces.filter(({ kind }) => kind === MESSAGE).map(({ since: seq, title: text }) => ({ seq, scope, text }));

export const piecesIn = (features: readonly Feature[], view: View): readonly Piece[] =>
	features.flatMap((feature) => feature.pieces?.(view) ?? []);

/** Is a piece of one of the embedder's own features? */
export const isOther = ({ kind }: Piece): boolean => ![TURN, MESSAGE, PLAN, SKILL, SCRIPT].includes(kind);

/** What was said in a conversation, and what was asked of tools: what `show` lists. */
export function* said(view: View): Generator<ConversationItem> {
	for (const item of view.get(conversation).items) if (item.type !== "result") yield item;
}
