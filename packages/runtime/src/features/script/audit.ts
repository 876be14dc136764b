/** The lines of script runs in the audit trail. */
import { scriptCompleted, scriptFailed, scriptResumed, scriptStarted } from "@reyn/journal/script";
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";

export function auditScript(record: WalRecord): Audited | undefined {
	if (scriptStarted.is(record)) {
		const { run, name, script } = record.data;
		return { kind: "script", what: "started", run, name, script };
	}
	if (scriptResumed.is(record)) {
		const { run, script } = record.data;
		return { kind: "script", what: "resumed", run, script };
	}
	if (scriptCompleted.is(record)) return { kind: "script", what: "ended", run: record.data.run };
	if (!scriptFailed.is(record)) return undefined;
	const { run, reason } = record.data;
	return { kind: "script", what: "failed", run, code: reason.code, why: brief(reason.message) };
}
