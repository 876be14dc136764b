/** Whose history, as people write it and read it. */
import type { SessionScope } from "@reyn/runtime";
import type { Scope } from "@reyn/wal";
import { z } from "zod";

/** `default/main`, read. */
export const sessionText = z
	.string()
	.regex(/^[^/]+\/[^/]+$/, "expected an agent and a session, as in default/main")
	.transform((text): SessionScope => {
		const [agent = "", session = ""] = text.split("/");
		return { agent, session };
	});

export function scopeText({ agent, session }: Scope): string {
	if (agent === undefined) return "everything";
	return session === undefined ? `agent ${agent}` : `${agent}/${session}`;
}
