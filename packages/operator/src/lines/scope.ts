/** Whose history, as people write it and read it. */
import { mainSession, type SessionScope } from "@reyn/runtime";
import type { Scope } from "@reyn/wal";
import { z } from "zod";

/** `default/main`, or `main` alone: a session of the usual agent. */
export const sessionText = z
	.string()
	.regex(/^[^/]+(\/[^/]+)?$/, "expected a session, as in work, or with its agent, as in default/work")
	.transform((text): SessionScope => {
		const [session = "", agent = mainSession.agent] = text.split("/").reverse();
		return { agent, session };
	});

export function scopeText({ agent, session, run }: Scope): string {
	if (agent === undefined) return "everything";
	if (session === undefined) return `agent ${agent}`;
	return run === undefined ? `${agent}/${session}` : `run ${run} of ${agent}/${session}`;
}
