import type { ScriptEvent } from "@reyn/journal/script";
import type { PlanProgress } from "@reyn/plan";
import type { Checkpoint } from "@reyn/timetravel";
import type { Scope, Seq } from "@reyn/wal";

/** What a runtime says while it works: for screens and streams. Nothing durable depends on who listens. */
export type RuntimeEvent =
	/** A piece of the answer as it comes. */
	| { readonly type: "text"; readonly scope: Scope; readonly turn: Seq; readonly delta: string }
	| { readonly type: "tool"; readonly scope: Scope; readonly name: string; readonly args: unknown }
	| {
			readonly type: "turn_end";
			readonly scope: Scope;
			readonly turn: Seq;
			/** `interrupted`: over without an answer, or cut; `stopped`: kept for want of the model, and `resume()` or a prompt goes on with it. */
			readonly outcome: "completed" | "interrupted" | "stopped";
			readonly reason?: string;
	  }
	/**
	 * A model gave no answer in the `attempt`-th try of `limit`, and is asked again after a pause. A text that had begun begins anew.
	 * Steps of plans say so in `plan_step`.
	 */
	| {
			readonly type: "model_retry";
			readonly scope: Scope;
			readonly lane: string;
			readonly model: string;
			readonly attempt: number;
			readonly limit: number;
			readonly reason: string;
			readonly pauseMs: number;
	  }
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
	  }
	| {
			readonly type: "skill_end";
			readonly scope: Scope;
			readonly run: string;
			readonly outcome: "completed" | "stopped" | "discarded";
			readonly reason?: string;
	  }
	| { readonly type: "script"; readonly scope: Scope; readonly run: string; readonly event: ScriptEvent }
	| { readonly type: "checkpoint"; readonly seq: Seq; readonly kind: Checkpoint["kind"]; readonly title: string }
	/** The log waits for space, and so does all that is to be recorded, until `disk_free`. What is recorded is safe. */
	| { readonly type: "disk_full"; readonly text: string }
	| { readonly type: "disk_free" }
	| { readonly type: "notice"; readonly text: string };

/** A text from the background, for the user. */
export interface BackgroundMessage {
	readonly seq: Seq;
	readonly scope: Scope;
	/** The plan or skill run that it comes from. */
	readonly from: string;
	readonly text: string;
}
