/** What a script in a process of its own and its host say to each other: frames of JSON. Each message of the host has one report. */
import type { ScriptCalls } from "./context.ts";
import type { ErrorText } from "./error-text.ts";
import type { ScriptCode } from "./load.ts";

/** The branch that an operation comes from. Absent: the script's own line of calls. */
export type At = readonly [fork: number, branch: number];

/** What a script does in a time slice, in that order. Forks and calls are counted from 0, on both sides. */
export type Operation =
	| {
			readonly op: "fork";
			readonly at?: At | undefined;
			readonly kind: "parallel" | "pipeline" | "phase";
			readonly name: string;
			readonly branches: number;
	  }
	| { readonly op: "join"; readonly at?: At | undefined; readonly fork: number }
	| { readonly op: "call"; readonly at?: At | undefined; readonly name: keyof ScriptCalls; readonly args: string };

/** Each lets the script run for a time slice. */
export type ToChild =
	| ({ readonly type: "open"; readonly sliceMs: number } & ScriptCode)
	| { readonly type: "run"; readonly args: string }
	| { readonly type: "answer"; readonly call: number; readonly text: string | undefined }
	/** @param said what the error says, as JSON text */
	| { readonly type: "fail"; readonly call: number; readonly said: string };

/** The one answer in the middle of a time slice. */
export interface Seed {
	readonly type: "seed";
	readonly seed: string;
}

/** How a time slice ended, or that it goes on when it has the seed of a branch. */
export type FromChild = { readonly operations: readonly Operation[]; readonly printed: readonly string[] } & (
	| { readonly type: "seed"; readonly at?: At | undefined }
	| { readonly type: "opened"; readonly exports: Readonly<Record<string, unknown>> }
	| { readonly type: "rested" }
	| { readonly type: "completed"; readonly result?: string | undefined }
	/** By the failure of a call, which the script let through. */
	| { readonly type: "failed by"; readonly call: number }
	| {
			readonly type: "failed";
			readonly said: ErrorText;
			/** The calls whose failures it came from. */
			readonly causes: readonly number[];
			/** Was it stopped in the middle of a time slice? Then nothing that it asked for there is begun. */
			readonly isCut: boolean;
	  }
);

/** Where a child finds its ends of the channel. */
export const CHILD_READS = 3;
export const CHILD_WRITES = 4;

/** Bytes before the JSON, which say how long it is. */
export const HEAD = 4;

export function frameOf(message: ToChild | Seed | FromChild): Buffer {
	const text = JSON.stringify(message);
	const frame = Buffer.allocUnsafe(HEAD + Buffer.byteLength(text));
	frame.writeUInt32LE(frame.length - HEAD);
	frame.write(text, HEAD);
	return frame;
}
