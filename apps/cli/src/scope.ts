/** Whose history: as people write it and read it. */
import type { SessionScope } from "@reyn/runtime";
import type { Scope } from "@reyn/wal";
import { InvalidArgumentError } from "commander";

/** @throws InvalidArgumentError for what is not `agent/session` */
export function parseSession(text: string): SessionScope {
	const [agent = "", session = "", ...rest] = text.split("/");
	if (agent === "" || session === "" || rest.length > 0)
		throw new InvalidArgumentError("expected an agent and a session, as in default/main.");
	return { agent, session };
}

export function scopeText({ agent, session }: Scope): string {
	if (agent === undefined) return "everything";
	return session === undefined ? `agent ${agent}` : `${agent}/${session}`;
}
