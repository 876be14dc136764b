/** The events of turns, and the type of a text from the background. */
import type { Scope, Seq } from "@reyn/wal";

/** An event of a turn. */
export type TurnEvent =
	/** A piece of the answer as it comes. Each round of model and tools has a text of its own; what was said before tools were called is not told again by a later run. */
	| { readonly type: "text"; readonly scope: Scope; readonly turn: Seq; readonly round: number; readonly delta: string }
	| { readonly type: "tool"; readonly scope: Scope; readonly name: string; readonly args: unknown }
	/** A call of a tool was not made, or failed: what the model is told of it, such as that it is denied. */
	| { readonly type: "tool_failed"; readonly scope: Scope; readonly turn: Seq; readonly text: string }
	| {
			readonly type: "turn_end";
			readonly scope: Scope;
			readonly turn: Seq;
			/** `interrupted`: over without an answer, or cut; `stopped`: kept, since the model is away; `resume()` or a prompt goes on with it. */
			readonly outcome: "completed" | "interrupted" | "stopped";
			readonly reason?: string;
	  }
	/** A person wants what was said before to be told in short: this turn does that alone. */
	| { readonly type: "compacting"; readonly scope: Scope; readonly turn: Seq }
	/** What was said before is told to the model in short, from this turn on. */
	| {
			readonly type: "compacted";
			readonly scope: Scope;
			readonly turn: Seq;
			/** Who has asked for it. Absent: nobody, it was due. */
			readonly by?: "person";
			/** What a model is shown of what was said, before and after it, as tokens are guessed. Absent: unknown. */
			readonly tokens?: { readonly before: number; readonly after: number };
	  }
	/** Something that looks like a secret was taken out of a prompt: it is not recorded, and the model does not see it. */
	| { readonly type: "prompt_redacted"; readonly scope: Scope }
	/** The same prompt is open already: its turn goes on, and nothing is paid for twice. */
	| { readonly type: "prompt_known"; readonly scope: Scope; readonly turn: Seq }
	/** A text from the background could not be shown, or it could not be recorded that it was shown: `resume()` shows it again. */
	| {
			readonly type: "undelivered";
			readonly scope: Scope;
			/** The seq of the text. */
			readonly message: Seq;
			/** The plan or skill run that it comes from. */
			readonly from: string;
			readonly reason: string;
	  };

/** A text from the background, for the user. */
export interface BackgroundMessage {
	readonly seq: Seq;
	readonly scope: Scope;
	/** The plan or skill run that it comes from. */
	readonly from: string;
	/** Who waits for it, as the prompt said that it comes of. Absent: nobody has said so. */
	readonly chain?: string;
	readonly text: string;
}
