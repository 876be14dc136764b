/** Amends a plan: changes, adds or drops steps that have not begun. */
import { type Decomposition, parseDecomposition } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import type { PlanRun } from "./plan-runs.ts";
import { stepOf } from "./step-status.ts";

export interface PlanAmendment {
	/** Steps as a proposal has them: one whose id the plan has takes the place of that step, another comes last in the list. */
	readonly put?: readonly unknown[] | undefined;
	/** Ids of steps to leave out. */
	readonly drop?: readonly string[] | undefined;
	/** Other descriptions of steps that stay as they are else, by id. */
	readonly describe?: Readonly<Record<string, string>> | undefined;
}

/**
 * The steps of a plan with an amendment, checked like a proposal.
 *
 * @throws PlanError `PLAN_INVALID`, which names the steps that can be changed
 */
export function amended(
	run: PlanRun,
	before: Decomposition,
	{ put = [], drop = [], describe = {} }: PlanAmendment,
	tools: readonly string[],
): Decomposition {
	const isPending = (id: string): boolean => stepOf(run, id).status === "pending";
	const ids = before.steps.map(({ id }) => id);
	const named = put.map((step) => (step as { id?: unknown } | null)?.id);
	const described = Object.keys(describe);
	const touched = [...drop, ...named, ...described].filter((id): id is string => typeof id === "string");
	const twice = touched.filter((id, at) => touched.indexOf(id) !== at);
	const problems = [
		...(touched.length + put.length === 0 ? ["nothing is changed, added or dropped"] : []),
		...drop.filter((id) => !ids.includes(id)).map((id) => `no step "${id}" to drop`),
		...described.filter((id) => !ids.includes(id)).map((id) => `no step "${id}" to describe`),
		...touched
			.filter((id) => ids.includes(id) && !isPending(id))
			.map((id) => `step "${id}" is ${stepOf(run, id).status}`),
		...new Set(twice.map((id) => `step "${id}" is named twice`)),
	];
	if (problems.length > 0) {
		const pending = ids.filter(isPending);
		const may = pending.length > 0 ? `these can be changed: ${pending.join(", ")}` : "no step can be changed any more";
		throw new PlanError("PLAN_INVALID", `the plan cannot be amended: ${problems.join("; ")}; ${may}`, {
			problems,
			pending,
		});
	}
	const other = new Map(Object.entries(describe));
	const steps = [
		...before.steps
			.filter(({ id }) => !drop.includes(id))
			.map((step) => put[named.indexOf(step.id)] ?? { ...step, description: other.get(step.id) ?? step.description }),
		...put.filter((_, at) => !ids.includes(named[at] as string)),
	];
	return parseDecomposition({ ...before, steps }, [...tools, ...before.steps.flatMap((step) => step.tools)]);
}
