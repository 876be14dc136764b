/** The events of plans. */
import type { PlanProgress, PlanStep, StepContext } from "@reyn/plan";
import type { Scope } from "@reyn/wal";

/** A step as a plan has it: the class of models that does it, and its most tokens, where it says so. */
export type StepTold = Pick<PlanStep, "id" | "description" | "model" | "max_tokens">;

/** An event of a plan. */
export type PlanEvent =
	| {
			readonly type: "plan_started";
			readonly scope: Scope;
			readonly plan: string;
			readonly goal: string;
			readonly steps: readonly StepTold[];
			/** Who waits for its answer, as the prompt said that it comes of. Absent: nobody has said so. */
			readonly chain?: string;
			/** Steps that were finished before: a resumed plan does not run them again. */
			readonly finished: number;
	  }
	/** It has these steps from here on. */
	| {
			readonly type: "plan_amended";
			readonly scope: Scope;
			readonly plan: string;
			readonly steps: readonly StepTold[];
	  }
	| ({ readonly type: "plan_step"; readonly scope: Scope } & PlanProgress)
	/** What a step is shown as it begins, or goes on, by part. */
	| ({ readonly type: "plan_step_context"; readonly scope: Scope } & StepContext)
	| {
			readonly type: "plan_end";
			readonly scope: Scope;
			readonly plan: string;
			/** As of `plan_started`. */
			readonly chain?: string;
			/**
			 * `failed`: it has its answer, though its last step has failed. `stopped`: it goes on with `resume`. `paused`: it waits until it is resumed by name. `rewound`: it is not there any more, and
			 * somebody waits for it.
			 */
			readonly outcome: "completed" | "failed" | "stopped" | "paused" | "discarded" | "rewound";
			readonly failed: readonly string[];
			readonly reason?: string;
	  };
