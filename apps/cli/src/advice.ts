/** The commands that help with an error: a library says what is the matter, and knows of no command line. */
import { codeOf } from "@reyn/wal";
import { reyn } from "./suggest.ts";

const byErrorCode: Readonly<Record<string, () => string>> = {
	PLAN_LOST: () => `give it up with: ${reyn`plan discard <id>`}`,
	REPLAY_DIVERGENCE: () => `see what going on would do with: ${reyn`script resume <run> --explain`}`,
	RUNTIME_SCRIPT_OTHER: () => `or start a run of its own with: ${reyn`script run <file>`}`,
	RUNTIME_SCRIPT_PRUNED: () => `its text is kept: ${reyn`script save <run> <file>`}, then ${reyn`script run <file>`}`,
	OPERATOR_UNKNOWN_REF: () => `see what there is with: ${reyn`log`}`,
	WAL_CORRUPT: () =>
		`look with: ${reyn`wal verify`}; see what giving the damage up would cost with: ${reyn`wal repair`}`,
};

/** What goes on after the message, or nothing. */
export function adviceFor(error: unknown): readonly string[] {
	const advice = byErrorCode[codeOf(error) ?? ""];
	return advice === undefined ? [] : [advice()];
}
