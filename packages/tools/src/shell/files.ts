/** What lies in the directory of one command: who runs it, what it has printed, how it has ended. It imports nothing. */

/** Who runs it, made once: by its process before the command begins, or by who makes sure that it never does. */
export const RUNNER = "runner.json";
/** What it has printed, as it came. */
export const OUTPUT = "output";
/** How it has ended. */
export const STATUS = "status.json";

/** What is to be run. */
export interface Spec {
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	readonly timeoutMs: number;
}

export interface RunnerRecord {
	/** 0: nobody runs it, and nobody will. */
	readonly pid: number;
	/** When that process began, in the clock of the system; empty where that is not known. */
	readonly start: string;
}

export interface Status {
	readonly code?: number;
	readonly signal?: string;
	/** Why it could not be begun. */
	readonly failed?: string;
	/** It took too long, or somebody has stopped it. */
	readonly stopped?: "limit" | "asked";
	readonly ms: number;
	/** So much it has printed. */
	readonly bytes: number;
	/** The end of what it has printed, in base64, where not all of it was kept. */
	readonly end?: string;
}

/** Errors of file systems that have no second names. */
export const withoutLinks: readonly string[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];
