/** The protocol between an isolated script and its host: frames of JSON. The child answers each message of the host with one report. */
import type { ScriptCalls } from "./context.ts";
import type { ErrorText } from "./error-text.ts";
import type { ScriptCode } from "./load.ts";

/** The branch that an operation comes from. Absent: the script's own line of calls. */
export type At = readonly [fork: number, branch: number];

/** An operation of a script in a time slice. Both sides count forks and calls from 0. */
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

/** A message to the child; each lets the script run for a time slice. */
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

/** The report of a time slice: how it ended, or that it waits for the seed of a branch. */
export type FromChild = { readonly operations: readonly Operation[]; readonly printed: readonly string[] } & (
	| { readonly type: "seed"; readonly at?: At | undefined }
	| { readonly type: "opened"; readonly exports: Readonly<Record<string, unknown>> }
	| { readonly type: "rested" }
	| { readonly type: "completed"; readonly result?: string | undefined }
	/** The script ended by the failure of a call, which it let through. */
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

/** The file descriptors of the channel in the child. */
export const CHILD_READS = 3;
export const CHILD_WRITES = 4;

/** The length of the frame header, in bytes, which holds the length of the JSON. */
export const HEAD = 4;

export function frameOf(message: ToChild | Seed | FromChild): Buffer {
	const text = JSON.stringify(message);
	const frame = Buffer.allocUnsafe(HEAD + Buffer.byteLength(text));
	frame.writeUInt32LE(frame.length - HEAD);
	frame.write(text, HEAD);
	return frame;
}
