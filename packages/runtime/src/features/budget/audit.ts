/** The line of a budget in the audit trail. */
import type { WalRecord } from "@reyn/wal";
import type { Audited } from "../../kernel/audit.ts";
import { budgetExtended } from "./records.ts";

export function auditBudget(record: WalRecord): Audited | undefined {
	if (!budgetExtended.is(record)) return undefined;
	return { kind: "budget", what: "extended", ...record.data };
}
