/** What plans and skills have in common: they work behind the conversation, and bring it a text. */
import { reasonOf } from "@reyn/journal";
import type { Seq } from "@reyn/wal";
import { hasMessageFrom } from "./conversation.ts";
import type { BackgroundMessage } from "./events.ts";
import { assistantMessage } from "./records.ts";
import type { Session } from "./session.ts";

export type Deliver = (message: BackgroundMessage) => Promise<void>;

/**
 * Puts a text of a plan or a skill run into the conversation, durably, and before the user. Work that was killed after
 * its text was recorded says nothing when it gets here again; work that was set going anew after `since` does.
 */
export async function sayOnce(
	session: Session,
	from: { plan: string } | { skill: string },
	since: Seq,
	text: string,
	deliver: Deliver,
): Promise<void> {
	const name = "plan" in from ? from.plan : from.skill;
	if (hasMessageFrom(session.conversation, name, since)) return;
	const { seq, durable } = session.log.append(assistantMessage({ text, ...from }), session.scope);
	await durable;
	await deliver({ seq, scope: session.scope, from: name, text });
}

/** Why work stopped: what cancelled it, or what it threw. */
export function stopReason(signal: AbortSignal, error: unknown): string {
	return reasonOf(signal.aborted ? signal.reason : error).message;
}
