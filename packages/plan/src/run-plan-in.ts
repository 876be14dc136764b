/** Runs a plan in a session: the same call starts it, and goes on with it after a kill or a rewind. */
import { type StepPorts, type Steppable, stepPorts } from "@reyn/journal";
import type { BlobStore, Scope } from "@reyn/wal";
import type { PlanResult } from "./answer.ts";
import { keptOf, writeDecomposition } from "./artifact.ts";
import { type Decomposition, parseDecomposition } from "./decomposition.ts";
import { defaultPlanLimits, execute, type PlanPorts } from "./execute.ts";
import { findPlan } from "./operate.ts";
import { type PlanRun, planIn, planRuns } from "./plan-runs.ts";
import { planStarted } from "./records.ts";

/** What `openSession` of @reyn/timetravel gives; `planRuns` and `journal` are among its projections. */
export interface PlanSession extends Steppable {
	readonly scope: Scope;
	checkpoint(kind: string, title: string, scope: Scope): Promise<unknown>;
}

export interface PlanInPorts
	extends StepPorts,
		Pick<PlanPorts, "model" | "tools">,
		Partial<Pick<PlanPorts, "limits" | "models" | "progress" | "context" | "deliver" | "atLimit">> {
	/** The store of the plan's decomposition, which is never made a second time. */
	readonly blobs: BlobStore;
	/** Who waits for the answer, by a name of theirs, which the plan is started with. */
	readonly chain?: string | undefined;
}

/**
 * Goes on with a plan wherever it stands; one that the session does not know is started first.
 *
 * @param proposal the decomposition as a model proposed it; it is ignored if the plan was started already
 * @throws PlanError `PLAN_INVALID`, `PLAN_UNKNOWN`: nothing is written then; `PLAN_LOST`; and as {@link execute} does
 */
export async function runPlanIn(
	session: PlanSession,
	plan: string,
	proposal: unknown,
	ports: PlanInPorts,
): Promise<PlanResult> {
	const { blobs, chain, limits = defaultPlanLimits, ...rest } = ports;
	const scope = { ...session.scope, run: plan };
	const run = (): PlanRun | undefined => planIn(session.view.get(planRuns), plan);
	// Taken now: after a rewind during this call, work of the line that was left must not write to the new one.
	const using = stepPorts(session, rest);
	if (!run() && proposal !== undefined) {
		const made = parseDecomposition(
			proposal,
			ports.tools.map(({ name }) => name),
			Object.keys(ports.models ?? {}),
		);
		const { goal, steps } = made;
		const decomposition = await writeDecomposition(made, blobs);
		const started = planStarted({
			plan,
			goal,
			steps: steps.length,
			decomposition,
			...(chain !== undefined && { chain }),
		});
		await using.log.append(started, scope).durable;
	}
	const steps = (): Promise<Decomposition> => keptOf(findPlan(session.view.get(planRuns), plan), plan, blobs);
	return execute(plan, await steps(), scope, {
		steps,
		progress() {},
		deliver: async () => {},
		...rest,
		...using,
		limits,
		run: () => run() as PlanRun,
		onBoundary: async (kind, title, at) => void (await session.checkpoint(kind, title, at)),
	});
}
