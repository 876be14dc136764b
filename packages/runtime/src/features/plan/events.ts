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
	| ({ readonly type: "plan_step"; readonly scope: Scope } & PlanProgress)
	| {
			readonly type: "plan_end";
			readonly scope: Scope;
			readonly plan: string;
			readonly outcome: "completed" | "stopped" | "discarded";
			readonly failed: readonly string[];
			readonly reason?: string;
	  };
