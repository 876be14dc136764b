/** What went wrong, as a number for scripts and a line for people. */
import type { ScriptEnd } from "@reyn/runtime";
import { codeOf } from "@reyn/wal";
import { exitCodes } from "./exit-codes.ts";

const byErrorCode: Readonly<Record<string, number>> = {
	CLI_USAGE: exitCodes.usage,
	CLI_CONFIG: exitCodes.usage,
	CLI_MODEL: exitCodes.usage,
	CLI_INTERRUPTED: exitCodes.interrupted,
	CLI_NOT_FOUND: exitCodes.notFound,
	CLI_REFUSED: exitCodes.refused,
	NOTHING_TO_REDO: exitCodes.notFound,
	NOTHING_TO_UNDO: exitCodes.notFound,
	CALL_IN_DOUBT: exitCodes.refused,
	DETERMINISM: exitCodes.usage,
	FILE_REFUSED: exitCodes.usage,
	OPERATOR_ARGS: exitCodes.usage,
	OPERATOR_BAD_REF: exitCodes.usage,
	OPERATOR_HOLDER: exitCodes.refused,
	OPERATOR_LOST: exitCodes.failed,
	OPERATOR_CONFLICT: exitCodes.refused,
	OPERATOR_FILES: exitCodes.stepsFailed,
	OPERATOR_NOT_FOUND: exitCodes.notFound,
	OPERATOR_UNKNOWN_REF: exitCodes.notFound,
	PLAN_INVALID: exitCodes.usage,
	PLAN_LOST: exitCodes.damaged,
	PLAN_UNKNOWN: exitCodes.notFound,
	PLAN_UNKNOWN_STEP: exitCodes.notFound,
	RUNTIME_ANSWER: exitCodes.usage,
	RUNTIME_BUDGET: exitCodes.usage,
	RUNTIME_ADOPT: exitCodes.notFound,
	RUNTIME_FILES: exitCodes.usage,
	RUNTIME_COMPACTION: exitCodes.refused,
	RUNTIME_NO_TASKS: exitCodes.usage,
	RUNTIME_PERMISSIONS: exitCodes.usage,
	RUNTIME_SCRIPT_LOST: exitCodes.damaged,
	RUNTIME_SCRIPT_OTHER: exitCodes.refused,
	RUNTIME_SCRIPT_PRUNED: exitCodes.refused,
	RUNTIME_SCRIPT_RUNS: exitCodes.refused,
	RUNTIME_SECRET: exitCodes.usage,
	RUNTIME_TASKS: exitCodes.refused,
	RUNTIME_UNKNOWN_GRANT: exitCodes.notFound,
	RUNTIME_UNKNOWN_QUESTION: exitCodes.notFound,
	RUNTIME_UNKNOWN_SCRIPT_RUN: exitCodes.notFound,
	SCRIPT_ARGS: exitCodes.usage,
	SCRIPT_INVALID: exitCodes.usage,
	SCRIPT_ISOLATION: exitCodes.usage,
	SCRIPT_TIMEOUT: exitCodes.usage,
	SCRIPT_WAITING: exitCodes.refused,
	REWIND_MODE: exitCodes.usage,
	REWIND_NOT_PREVIEWED: exitCodes.refused,
	REWIND_STALE: exitCodes.refused,
	RUNTIME_NOT_QUIET: exitCodes.refused,
	RUNTIME_UNKNOWN_SESSION: exitCodes.notFound,
	SKILL_INVALID_INPUT: exitCodes.usage,
	SKILL_INVALID_RUN: exitCodes.usage,
	SKILL_POLICY: exitCodes.usage,
	SKILL_PAUSED: exitCodes.refused,
	SKILL_TWICE: exitCodes.usage,
	SKILL_UNKNOWN: exitCodes.notFound,
	SKILL_UNKNOWN_RUN: exitCodes.notFound,
	SKILL_UNTRUSTED: exitCodes.refused,
	SNAPSHOT_NEWER_FORMAT: exitCodes.refused,
	SNAPSHOT_OTHER_LOG: exitCodes.refused,
	SNAPSHOT_NO_BASE: exitCodes.damaged,
	TASK_CYCLE: exitCodes.usage,
	TASK_DAMAGED: exitCodes.damaged,
	TASK_FOREIGN: exitCodes.refused,
	TASK_INVALID: exitCodes.usage,
	TASK_NEWER_FORMAT: exitCodes.refused,
	TASK_STATUS: exitCodes.refused,
	TASK_UNKNOWN: exitCodes.notFound,
	TIMETRAVEL_ACTOR: exitCodes.usage,
	TIMETRAVEL_INDEX: exitCodes.damaged,
	TIMETRAVEL_LABEL: exitCodes.usage,
	TIMETRAVEL_NOT_ACTIVE: exitCodes.refused,
	TIMETRAVEL_OUT_OF_RANGE: exitCodes.notFound,
	TIMETRAVEL_PRUNED: exitCodes.refused,
	TIMETRAVEL_STALE: exitCodes.refused,
	WAL_CORRUPT: exitCodes.damaged,
	WAL_LOCKED: exitCodes.refused,
	WAL_LOSS_NOT_ACCEPTED: exitCodes.refused,
	WAL_NEWER_FORMAT: exitCodes.refused,
	WAL_UNSAFE: exitCodes.damaged,
};

/** An error of the command line itself. */
export class CliError extends Error {
	readonly code: "CLI_USAGE" | "CLI_CONFIG" | "CLI_MODEL" | "CLI_NOT_FOUND" | "CLI_REFUSED" | "CLI_INTERRUPTED";

	constructor(code: CliError["code"], message: string) {
		super(message);
		this.code = code;
	}
}

export function exitCodeOf(error: unknown): number {
	return byErrorCode[codeOf(error) ?? ""] ?? exitCodes.failed;
}

/** How a script has ended. */
export function exitCodeOfEnd(end: ScriptEnd): number {
	switch (end.status) {
		case "completed":
			return exitCodes.ok;
		case "waiting":
			return exitCodes.refused;
		case "failed":
		case "stopped":
			return exitCodes.failed;
	}
}
