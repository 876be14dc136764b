/** After a rewind: makes the work of a session match the state that it went back to. Pure: it says what to do. */
import { inFlight, planRuns } from "@reyn/plan";
import { inFlightRuns, skillRuns } from "@reyn/skill-resume";
import type { View } from "@reyn/snapshot";
import type { Coverage } from "@reyn/timetravel";
import type { Seq } from "@reyn/wal";
import { conversation } from "../features/conversation/conversation.ts";
import { isCovered, planWork, skillWork, turnWork } from "./work.ts";

export interface Settlement {
	/** Turns that have no answer there: they are closed without asking the model. */
	readonly interrupt: readonly Seq[];
	/** Work that was live before the rewind and is in flight there: it goes on from that state. */
	readonly relaunch: { readonly plans: readonly string[]; readonly runs: readonly string[] };
	/** Work that is in flight there and was over before the rewind: it waits for a person, since it costs again. */
	readonly pause: { readonly plans: readonly string[]; readonly runs: readonly string[] };
}

/**
 * @param before the state just before the reset
 * @param now the state that the reset made current
 * @param reset what it covered: of the rest nothing is settled, since nothing of it has moved
 */
export function settlement(before: View, now: View, reset: Coverage): Settlement {
	const { scope } = now;
	const livePlans = running(inFlight(before.get(planRuns)));
	const liveRuns = running(inFlightRuns(before.get(skillRuns)));
	const plans = running(inFlight(now.get(planRuns))).filter((id) => isCovered(planWork(scope, id), reset));
	const runs = running(inFlightRuns(now.get(skillRuns))).filter((id) => isCovered(skillWork(scope, id), reset));
	return {
		interrupt: isCovered(turnWork(scope), reset) ? now.get(conversation).open : [],
		relaunch: { plans: plans.filter((id) => livePlans.includes(id)), runs: runs.filter((id) => liveRuns.includes(id)) },
		pause: { plans: plans.filter((id) => !livePlans.includes(id)), runs: runs.filter((id) => !liveRuns.includes(id)) },
	};
}

function running(work: readonly (readonly [id: string, { readonly status: string }])[]): readonly string[] {
	return work.filter(([, { status }]) => status === "running").map(([id]) => id);
}
