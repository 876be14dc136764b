/** The lines of permissions in the audit trail. */
import type { WalRecord } from "@reyn/wal";
import { type Audited, brief } from "../../kernel/audit.ts";
import { permissionGranted, permissionRevoked } from "./records.ts";

export function auditPermission(record: WalRecord): Audited | undefined {
	if (permissionGranted.is(record)) {
		const { action, on, agent, session, by } = record.data;
		// For whom, which may be more than the session that it was granted in.
		return { kind: "permission", what: "granted", action, subject: brief(on), agent, session, by };
	}
	if (!permissionRevoked.is(record)) return undefined;
	return { kind: "permission", what: "revoked", ...record.data };
}
