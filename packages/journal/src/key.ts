import { hash } from "node:crypto";
import { canonicalJson } from "@reyn/wal";

/** Names what is called and with what: SHA-256 over kind, name and the canonical arguments. */
export function fingerprint(kind: string, name: string, args: unknown): string {
	return hash("sha256", canonicalJson([kind, name, args]), "hex");
}
