import { createHash } from "node:crypto";
import { canonicalJson } from "@reyn/wal";

/** Names what is called and with what: SHA-256 over kind, name and the canonical arguments. */
export function fingerprint(kind: string, name: string, args: unknown): string {
	return createHash("sha256")
		.update(canonicalJson([kind, name, args]))
		.digest("hex");
}
