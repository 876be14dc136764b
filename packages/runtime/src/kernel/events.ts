/** What is said whichever work goes on: of models, the disk, moves. */
import type { StepEvent } from "@reyn/journal";
import type { Checkpoint } from "@reyn/timetravel";
import type { Scope, Seq } from "@reyn/wal";

/** What the kernel says while work goes on, whichever work it is. */
export type KernelEvent =
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
	/** The history has moved: whoever shows a state looks again. What was told of what it left does not count any more. */
	| {
			readonly type: "moved";
			/** What has moved, with `kinds` of records; absent: all. */
			readonly scope: Scope;
			readonly kinds?: readonly string[];
			/** The state of this seq is the one of now. */
			readonly target: Seq;
			readonly mode: string;
			readonly actor: string;
	  }
	/** So much that no record says was given up, since the listener was slow: text as it comes, say. */
	| { readonly type: "missed"; readonly events: number }
	| { readonly type: "checkpoint"; readonly seq: Seq; readonly kind: Checkpoint["kind"]; readonly title: string }
	/** The log waits for space, and so does all that is to be recorded, until `disk_free`. What is recorded is safe. */
	| { readonly type: "disk_full"; readonly text: string }
	| { readonly type: "disk_free" }
	/** Work waits for space to keep something that lies beside the log. */
	| {
			readonly type: "waits_for_space";
			/** `plan p5`, say. */
			readonly work: string;
			readonly keeping: Keeping;
			readonly code: string;
			readonly reason: string;
	  }
	/**
	 * A call was under way when the process ended, and nobody knows whether it happened: what its far side or its policy makes of it.
	 * `waits`: the far side cannot be asked (`reason`), so the work has stopped, and asks again when it goes on.
	 */
	| {
			readonly type: "in_doubt";
			readonly scope: Scope;
			readonly lane: string;
			readonly name: string;
			readonly decision: Extract<StepEvent, { type: "in_doubt" }>["decision"];
			readonly reason?: string;
	  }
	/** What a call of the world gave is kept, since later work rests on it. */
	| { readonly type: "world_kept"; readonly scope: Scope; readonly lane: string; readonly name: string }
	/** Work in the background has stopped, and goes on with `resume` or at the next start. */
	| { readonly type: "stopped"; readonly scope: Scope; readonly work: string; readonly reason: string }
	/** A snapshot could not be stored: a start reads more of the log. Nothing is lost. */
	| { readonly type: "snapshot_failed"; readonly code: string; readonly reason: string }
	/** What a record says cannot be told; without a seq, what is recorded from now on. */
	| { readonly type: "untold"; readonly kind?: string; readonly reason: string };

/** What waits for space: a result, what was said, the steps of a plan, how work ended, or that a message was shown. */
export type Keeping = "result" | "said" | "steps" | "end" | "shown";
