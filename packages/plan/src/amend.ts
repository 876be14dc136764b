/** Amends a plan: changes, adds or drops steps that have not begun. */
import type { Appended, BlobStore, Draft } from "@reyn/wal";
import { keptOf, writeDecomposition } from "./artifact.ts";
import { type Decomposition, parseDecomposition } from "./decomposition.ts";
import { PlanError } from "./errors.ts";
import { findPlan } from "./operate.ts";
import type { PlanRun, PlanRuns } from "./plan-runs.ts";
import { planAmended } from "./records.ts";
import { isSettled, stepOf } from "./step-status.ts";

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
	models: readonly string[] = [],
): Decomposition {
	const isPending = (id: string): boolean => stepOf(run, id).status === "pending";
	const ids = before.steps.map(({ id }) => id);
	const named = put.map((step) => (step as { id?: unknown } | null)?.id);
	const described = Object.keys(describe);
	const touched = [...drop, ...named, ...described].filter((id): id is string => typeof id === "string");
	const twice = touched.filter((id, at) => touched.indexOf(id) !== at);
	// Its answer is there, or about to be.
	const isOver = ids.every((id) => isSettled(stepOf(run, id)));
	const problems = [
		...(isOver ? ["all steps are over"] : []),
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
	// What it names already may be gone since.
	return parseDecomposition(
		{ ...before, steps },
		[...tools, ...before.steps.flatMap((step) => step.tools)],
		[...models, ...before.steps.flatMap(({ model = [] }) => model)],
	);
}

/** Where a plan is amended. */
export interface AmendPorts {
	/** The plans as the log knows them now. */
	runs(): PlanRuns;
	readonly blobs: BlobStore;
	/** The names of the tools and of the classes of models that a step may name. */
	readonly tools: readonly string[];
	readonly models?: readonly string[];
	append(draft: Draft): Appended;
}

/** Gives a plan other pending steps, durably. @throws PlanError `PLAN_UNKNOWN`, `PLAN_LOST`, `PLAN_INVALID`; nothing is changed then */
export async function amend(plan: string, amendment: PlanAmendment, ports: AmendPorts): Promise<void> {
	const { blobs, tools, models } = ports;
	const before = findPlan(ports.runs(), plan);
	const made = await keptOf(before, plan, blobs);
	const next = (): Decomposition => amended(findPlan(ports.runs(), plan), made, amendment, tools, models);
	const decomposition = await writeDecomposition(next(), blobs);
	// Checked again, in one turn of the event loop with the record: a step may have begun meanwhile, or somebody else amended it.
	const { steps } = next();
	if (findPlan(ports.runs(), plan).decomposition !== before.decomposition)
		throw new PlanError("PLAN_INVALID", `plan ${plan} was amended meanwhile; look at its steps, and amend it again`, {
			plan,
		});
	await ports.append(planAmended({ plan, steps: steps.length, decomposition, by: "person" })).durable;
}
