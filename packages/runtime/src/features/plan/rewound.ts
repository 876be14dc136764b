/** The plans that a rewind has left behind: they are on no line that leads to now, and the log has them still. */
import { type PlanRun, planIn, planRuns, planStarted } from "@reyn/plan";
import { defineProjection, List, type View } from "@reyn/snapshot";
import { reset, type Timeline } from "@reyn/timetravel";
import { isReynError, type Seq, scopeKey } from "@reyn/wal";
import { z } from "zod";
import type { SessionScope } from "../../kernel/session.ts";
import { sessionOf } from "../../kernel/sessions.ts";

const begun = z.object({
	seq: z.int().positive(),
	scope: z.object({
		agent: z.string().exactOptional(),
		session: z.string().exactOptional(),
		run: z.string().exactOptional(),
	}),
	plan: z.string(),
});

/** Where each plan was begun, on whatever line of history. */
export const plansBegun = defineProjection({
	name: "plans_begun",
	version: 1,
	schema: z.object({}),
	lists: { begun },
	init: () => ({ begun: List.of<z.infer<typeof begun>>() }),
	follows: "log",
	mayBeginLate: true,
	handle: (on) => [
		on(planStarted, (state, { plan }, { seq, scope }) => ({ begun: state.begun.append({ seq, scope, plan }) })),
	],
});

/** A plan as it was when a move left it. */
export interface RewoundPlan {
	readonly scope: SessionScope;
	readonly plan: string;
	readonly run: PlanRun;
	/** The seq of that move. */
	readonly leftBy: Seq;
}

/** Oldest first; without those whose records a collection has taken away. One state is read for each move that has left some. */
export async function rewoundPlans(timeline: Timeline): Promise<readonly RewoundPlan[]> {
	const { lineage } = timeline;
	const { view } = await timeline.wholeLog.live();
	const { kind } = planStarted;
	const begun = view.get(plansBegun).begun.toArray();
	let gone = begun.filter(({ seq, scope }) => !lineage.isActive({ seq, scope, kind }));
	const found: RewoundPlan[] = [];
	for (const move of (await timeline.records()).filter((each) => reset.is(each)).toReversed()) {
		if (gone.length === 0) break;
		const before = move.seq - 1;
		const { left = [], others = [] } = Object.groupBy(gone, ({ seq, scope }) =>
			lineage.isAncestor(seq, scope, [kind], before) ? "left" : "others",
		);
		for (const [, plans] of Map.groupBy(left, ({ scope }) => scopeKey(sessionOf(scope)))) {
			const scope = sessionOf(plans[0]?.scope ?? {});
			const runs = (await stateAt(before, scope, timeline))?.get(planRuns);
			for (const { plan } of plans) {
				const run = runs && planIn(runs, plan);
				if (run) found.push({ scope, plan, run, leftBy: move.seq });
			}
		}
		gone = others;
	}
	return found.sort((a, b) => a.run.started - b.run.started);
}

/** Undefined: a collection has taken it away. */
async function stateAt(seq: Seq, scope: SessionScope, timeline: Timeline): Promise<View | undefined> {
	try {
		return await timeline.at(seq, scope);
	} catch (error) {
		if (isReynError(error, "TIMETRAVEL_PRUNED")) return undefined;
		throw error;
	}
}
