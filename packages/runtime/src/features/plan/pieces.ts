/** The plans of a session as pieces of work, for the kernel. */
import { journalRecords } from "@reyn/journal";
import { type PlanRun, planRecords, planRuns, plansOf } from "@reyn/plan";
import { costOf, isInFlight } from "@reyn/plan/internal";
import type { View } from "@reyn/snapshot";
import type { Scope } from "@reyn/wal";
import type { Piece } from "../../kernel/feature.ts";
import { kindsOf, type Work } from "../../kernel/work.ts";

export const PLAN = "plan";

const kindsOfPlan = kindsOf([...planRecords, ...journalRecords]);

export const planWork = (session: Scope, plan: string): Work => ({
	name: `${PLAN} ${plan}`,
	scope: { ...session, run: plan },
	kinds: kindsOfPlan,
});

export const plansIn = (view: View): readonly Piece[] =>
	plansOf(view.get(planRuns)).map(([id, run]) => {
		const { calls, tokens } = costOf(run);
		return {
			kind: PLAN,
			id,
			work: planWork(view.scope, id),
			status: statusOf(run),
			title: run.goal,
			chain: run.chain,
			since: run.since,
			...(run.by && { pausedBy: run.by }),
			...unsaidOf(run),
			spent: { calls, tokens },
		};
	});

/** The piece of a plan that is there. */
export const planPiece = (view: View, plan: string): Piece => plansIn(view).find(({ id }) => id === plan) as Piece;

function statusOf(run: PlanRun): Piece["status"] {
	if (isInFlight(run)) return run.status === "paused" ? "paused" : "running";
	return run.ended ? "ending" : "over";
}

function unsaidOf({ ended }: PlanRun): Pick<Piece, "unsaid"> {
	return ended?.tell === undefined ? {} : { unsaid: { seq: ended.seq, text: ended.tell } };
}
