/** The commands that help with an error: a library says what is the matter, and knows of no command line. */
import { codeOf } from "@reyn/wal";
import { reyn } from "./suggest.ts";

const byErrorCode: Readonly<Record<string, (error: unknown) => string>> = {
	PLAN_LOST: (error) => `give it up with: ${reyn`plan discard ${detailOf(error).plan ?? "<id>"}`}`,
	PLAN_UNKNOWN: (error) => howItGoesOn(detailOf(error)),
	REPLAY_DIVERGENCE: () => `see what going on would do with: ${reyn`script resume <run> --explain`}`,
	RUNTIME_SCRIPT_OTHER: () => `or start a run of its own with: ${reyn`script run <file>`}`,
	RUNTIME_SCRIPT_PRUNED: () => `its text is kept: ${reyn`script save <run> <file>`}, then ${reyn`script run <file>`}`,
	OPERATOR_UNKNOWN_REF: () => `see what there is with: ${reyn`log`}`,
	SKILL_UNKNOWN: () => `see those that there are with: ${reyn`skill list`}`,
	SKILL_UNTRUSTED: (error) =>
		`it is shown, and may run from then on with all that lies beside it, by: ${reyn`skill show ${detailOf(error).skill ?? "<name>"} --trust`}`,
	WAL_CORRUPT: () =>
		`look with: ${reyn`wal verify`}; see what giving the damage up would cost with: ${reyn`wal repair`}`,
};

interface Detail {
	readonly skill?: string;
	readonly plan?: string;
	readonly status?: string;
	readonly failed?: readonly string[];
}

/** Of an error that came from another process nothing is known. */
const detailOf = (error: unknown): Detail => (error as { readonly detail?: Detail }).detail ?? {};

/** Of a plan that is over, or is none. */
function howItGoesOn({ plan, status, failed: [failed] = [] }: Detail): string {
	if (plan === undefined || status !== "completed") return `see all plans with: ${reyn`plan list --all`}`;
	const again = failed === undefined ? reyn`plan resume ${plan} --from <step>` : reyn`plan retry ${plan} ${failed}`;
	return `see its steps with: ${reyn`plan show ${plan}`}; run again with: ${again}`;
}

/** What goes on after the message, or nothing. */
export function adviceFor(error: unknown): readonly string[] {
	const advice = byErrorCode[codeOf(error) ?? ""];
	return advice === undefined ? [] : [advice(error)];
}
