/** The lines of configuration files in the audit trail. */
import { fileChanged } from "@reyn/snapshot/files";
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";

export function auditConfig(record: WalRecord): Audited | undefined {
	if (!fileChanged.is(record)) return undefined;
	const { path, content } = record.data;
	return { kind: "config", what: content === null ? "removed" : "changed", path: brief(path) };
}
