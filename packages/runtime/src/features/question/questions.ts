/** The questions of a session whose work may still ask for the answer. */
import { laneClosed, stepCompleted, stepStarted } from "@reyn/journal";
import { callKey } from "@reyn/journal/internal";
import { defineProjection, type View } from "@reyn/snapshot";
import { z } from "zod";
import type { Piece } from "../../kernel/feature.ts";
import { startKey } from "../../kernel/services.ts";
import { askedSchema, questionAnswered, questionAsked } from "./records.ts";

const seq = z.int().positive();

const asked = askedSchema.extend({
	seq,
	answer: z.object({ seq, text: z.string(), by: z.string() }).exactOptional(),
});

/** A question, and its answer once there is one. */
export type Asked = z.infer<typeof asked>;

/** A question leaves the state when nobody can ask for its answer any more: the call that it is about is over, or the work. */
export const questions = defineProjection<readonly Asked[]>({
	name: "questions",
	version: 1,
	schema: z.array(asked),
	init: () => [],
	handle: (on) => [
		// In other terms it is asked anew, and what was asked before is of no use.
		on(questionAsked, (state, data, { seq }) => [...without(state, ({ key }) => key === data.key), { ...data, seq }]),
		on(questionAnswered, (state, { question, text, by }, { seq }) =>
			state.map((each) => (each.seq === question ? { ...each, answer: { seq, text, by } } : each)),
		),
		// An effect that is made again was asked about for this once.
		on(stepStarted, (state, step) =>
			state.length === 0 ? state : without(state, ({ key }) => key === againKey(callKey(step))),
		),
		on(stepCompleted, (state, step) => {
			// The world is asked again by a turn that is resumed, and was allowed.
			if (state.length === 0 || step.purity === "world") return state;
			const over = [callKey(step), ...(step.started === undefined ? [] : [startKey(step.started)])];
			return without(state, ({ key }) => over.some((each) => key === each || key === againKey(each)));
		}),
		on(laneClosed, (state, { lane }) =>
			without(
				state,
				({ key, lane: asks, from: { kind, id } }) =>
					lane === `${kind}/${id}` || isBelow(key, lane) || (asks !== undefined && `${asks}/`.startsWith(`${lane}/`)),
			),
		),
	],
	// Questions are younger than the steps whose ends are folded too.
	mayBeginLate: true,
});

/** The questions that wait for a person: whoever wants to know is not over. */
export const unanswered = (
	view: View,
	statusOf: (from: Asked["from"]) => Piece["status"] | undefined,
): readonly Asked[] => view.get(questions).filter(({ answer, from }) => !answer && isUnfinished(statusOf(from)));

const isUnfinished = (status: Piece["status"] | undefined): boolean =>
	status === "running" || status === "waiting" || status === "paused";

/** The key of whether a call is made a second time. */
export const againKey = (call: string): string => `again ${call}`;

/** Is it about a call in this lane, or below it? */
const isBelow = (key: string, lane: string): boolean =>
	[`${lane} `, `${lane}/`].some((begin) => key.replace(/^again /, "").startsWith(begin));

/** The same state, where none leaves. */
function without(state: readonly Asked[], isOver: (each: Asked) => boolean): readonly Asked[] {
	return state.some(isOver) ? state.filter((each) => !isOver(each)) : state;
}
