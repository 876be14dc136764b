/** What is said whichever work goes on: of models, the disk, moves. */
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
	| { readonly type: "notice"; readonly text: string };
