/** The events of the kernel, common to all kinds of work: models, moves, the disk. */
import type { StepEvent } from "@reyn/journal";
import type { Checkpoint } from "@reyn/timetravel";
import type { Scope, Seq } from "@reyn/wal";

/**
 * Work goes on with another model than it was begun with. What is recorded of turns and plans counts, and is not paid again; the open
 * phase of a skill asks anew, and a script that has answers of the first one stops with `REPLAY_DIVERGENCE` unless it was edited.
 */
export interface ModelChanged {
	readonly type: "model_changed";
	readonly scope: Scope;
	/** The piece of work: `turn`, `plan`, `skill`, `script`. */
	readonly kind: string;
	readonly id: string;
	/** The ids of the models. */
	readonly from: string;
	readonly to: string;
}

/** An event of the kernel. */
export type KernelEvent =
	| ModelChanged
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
	/**
	 * A model has counted fewer tokens (`read`) than its request has at `least`: a server that cuts a long prompt does not say so. Where
	 * it has not even read what was asked last, the answer is not taken (`MODEL_CUT`).
	 */
	| {
			readonly type: "model_unread";
			readonly scope: Scope;
			readonly lane: string;
			readonly model: string;
			readonly read: number;
			readonly least: number;
	  }
	/** The history has moved. A display of a state has to read it again; earlier events of the line that was left do not count. */
	| {
			readonly type: "moved";
			/** The scope that has moved, and the kinds of record; absent `kinds`: all. */
			readonly scope: Scope;
			readonly kinds?: readonly string[];
			/** The state of this seq is now the current one. */
			readonly target: Seq;
			readonly mode: string;
			readonly actor: string;
	  }
	/** A slow listener missed this many events that no record tells, such as pieces of text. */
	| { readonly type: "missed"; readonly events: number }
	| { readonly type: "checkpoint"; readonly seq: Seq; readonly kind: Checkpoint["kind"]; readonly title: string }
	/** The disk is full: new records wait until `disk_free`. Records so far are safe. */
	| { readonly type: "disk_full"; readonly text: string }
	| { readonly type: "disk_free" }
	/** The engine of the log cannot be asked: new records wait until `log_back`. */
	| { readonly type: "log_away"; readonly text: string }
	| { readonly type: "log_back" }
	/** Work waits for disk space to store something beside the log. */
	| {
			readonly type: "waits_for_space";
			/** The name of the work, such as `plan p5`. */
			readonly work: string;
			readonly keeping: Keeping;
			readonly code: string;
			readonly reason: string;
	  }
	/**
	 * A call was under way when the process ended, and was in doubt: what its far side or its policy decided. `waits`: the far side
	 * cannot be asked (`reason`), so the work has stopped, and asks again when it goes on.
	 */
	| {
			readonly type: "in_doubt";
			readonly scope: Scope;
			readonly lane: string;
			readonly name: string;
			readonly decision: Extract<StepEvent, { type: "in_doubt" }>["decision"];
			readonly reason?: string;
	  }
	/** The recorded answer of a world step stands, since later work rests on it. */
	| { readonly type: "world_kept"; readonly scope: Scope; readonly lane: string; readonly name: string }
	/** Work in the background has stopped, and goes on with `resume` or at the next start. */
	| { readonly type: "stopped"; readonly scope: Scope; readonly work: string; readonly reason: string }
	/** A snapshot could not be stored: a start reads more of the log. Nothing is lost. */
	| { readonly type: "snapshot_failed"; readonly code: string; readonly reason: string }
	/** The audit trail cannot be written; it is tried again, and goes on where it was. Told once, until it was written again. */
	| { readonly type: "trail_failed"; readonly reason: string }
	/** The events of a record cannot be told; without a seq, those of all records from now on. */
	| { readonly type: "untold"; readonly kind?: string; readonly reason: string };

/** What waits for space: a result, a text, the steps of a plan, the end of some work, or the record that a message was shown. */
export type Keeping = "result" | "said" | "steps" | "end" | "shown";
