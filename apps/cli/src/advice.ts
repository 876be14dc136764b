/** The commands that help with an error: a library says what is the matter, and knows of no command line. */
import { codeOf } from "@reyn/wal";
import { reyn } from "./suggest.ts";

const byErrorCode: Readonly<Record<string, (error: unknown) => string>> = {
	PLAN_LOST: (error) => `give it up with: ${reyn`plan discard ${lostPlan(error)}`}`,
	REPLAY_DIVERGENCE: () => `see what going on would do with: ${reyn`script resume <run> --explain`}`,
	RUNTIME_SCRIPT_OTHER: () => `or start a run of its own with: ${reyn`script run <file>`}`,
	RUNTIME_SCRIPT_PRUNED: () => `its text is kept: ${reyn`script save <run> <file>`}, then ${reyn`script run <file>`}`,
	OPERATOR_UNKNOWN_REF: () => `see what there is with: ${reyn`log`}`,
	WAL_CORRUPT: () =>
		`look with: ${reyn`wal verify`}; see what giving the damage up would cost with: ${reyn`wal repair`}`,
};

/** Of an error that came from another process the plan is not known. */
const lostPlan = (error: unknown): string => {
	const { plan } = (error as { readonly detail?: { readonly plan?: unknown } }).detail ?? {};
	return typeof plan === "string" ? plan : "<id>";
};

/** What goes on after the message, or nothing. */
export function adviceFor(error: unknown): readonly string[] {
	const advice = byErrorCode[codeOf(error) ?? ""];
	return advice === undefined ? [] : [advice(error)];
}
