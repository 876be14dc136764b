/** The events of plans. */
import type { PlanProgress } from "@reyn/plan";
import type { Scope } from "@reyn/wal";

/** An event of a plan. */
export type PlanEvent =
	| {
			readonly type: "plan_started";
			readonly scope: Scope;
			readonly plan: string;
			readonly goal: string;
			readonly steps: readonly { readonly id: string; readonly description: string }[];
			/** Steps that were finished before: a resumed plan does not run them again. */
			readonly finished: number;
	  }
	/** It has these steps from here on. */
	| {
			readonly type: "plan_amended";
			readonly scope: Scope;
			readonly plan: string;
			readonly steps: readonly { readonly id: string; readonly description: string }[];
	  }
	| ({ readonly type: "plan_step"; readonly scope: Scope } & PlanProgress)
	| {
			readonly type: "plan_end";
			readonly scope: Scope;
			readonly plan: string;
			/** `stopped`: it goes on with `resume`. `paused`: it waits until it is resumed by name. */
			readonly outcome: "completed" | "stopped" | "paused" | "discarded";
			readonly failed: readonly string[];
			readonly reason?: string;
	  };
