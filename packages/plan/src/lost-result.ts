/** A finished step whose result is lost beside the log: it runs again as if it never had, and its record says why. */
import { type BlobStore, isReynError, type Scope } from "@reyn/wal";
import type { PlanPorts } from "./execute.ts";
import { patiently } from "./patiently.ts";
import type { PlanRun } from "./plan-runs.ts";
import { planLane, planStepsReset } from "./records.ts";
import { stepOf, textOf } from "./step-status.ts";

export class LostResult extends Error {
	readonly step: string;
	/** The attempt that had it. */
	readonly attempt: number;

	constructor(step: string, attempt: number, cause: unknown) {
		super("its result is lost: it is missing or changed beside the log", { cause });
		this.step = step;
		this.attempt = attempt;
	}
}

/** As `textOf`, of a step of a plan. @throws LostResult */
export async function resultOf(run: PlanRun, id: string, results?: BlobStore): Promise<string> {
	const step = stepOf(run, id);
	try {
		return await textOf(step, results);
	} catch (error) {
		throw isReynError(error, "RESULT_LOST") ? new LostResult(id, step.attempt, error) : error;
	}
}

/** Lets the steps of one execution of a plan run again. */
export class LostResults {
	readonly #plan: string;
	readonly #scope: Scope;
	readonly #ports: PlanPorts;
	readonly #attempts = new Map<string, number>();

	constructor(plan: string, scope: Scope, ports: PlanPorts) {
		this.#plan = plan;
		this.#scope = scope;
		this.#ports = ports;
	}

	/**
	 * Records that a step runs again; once, though several may miss its result.
	 *
	 * @throws JournalError `RESULT_LOST` when the next attempt's is lost too: where nothing is kept, it would be paid for without end
	 */
	async runAgain({ step, attempt, message, cause }: LostResult): Promise<void> {
		if ((this.#attempts.get(step) ?? attempt) !== attempt) throw cause;
		this.#attempts.set(step, attempt);
		const reset = planStepsReset({ plan: this.#plan, steps: [step], why: message });
		const written = await patiently(planLane(this.#plan), this.#ports, () => {
			const now = stepOf(this.#ports.run(), step);
			return now.status === "completed" && now.attempt === attempt
				? this.#ports.log.append(reset, this.#scope)
				: undefined;
		});
		await written?.durable;
	}
}
