/** What plans and skills have in common: they work behind the conversation, bring it a text, and end before anybody is told so. */
import { laneClosed, reasonOf, type SpilledText } from "@reyn/journal";
import { planRuns } from "@reyn/plan";
import { skillRuns } from "@reyn/skill-resume";
import type { Appended, Scope, Seq } from "@reyn/wal";
import { hasMessageFrom } from "../features/conversation/conversation.ts";
import { beginningOf } from "../features/conversation/large-texts.ts";
import { assistantMessage } from "../features/conversation/records.ts";
import type { BackgroundMessage } from "./events.ts";
import type { Session } from "./session.ts";

/** Shows what a plan or a skill run has said in a session and nobody has seen. */
export type Show = (session: Session, from: string, signal?: AbortSignal) => Promise<void>;

/** Writes the records of an end, all in one turn of the event loop: within that the log does not fill up, so it is all or none. */
export type Keep = <T>(write: () => T) => Promise<T>;

/** For a person, who is refused while there is no space, and asks again: nothing is written then. */
export const atOnce: Keep = async (write) => write();

export type From = { readonly plan: string } | { readonly skill: string };

/** How work went, this time; what is stopped goes on later. */
export interface Went {
	readonly outcome: "completed" | "discarded" | "stopped";
	readonly reason?: string;
	/** The steps of a plan that failed. */
	readonly failed?: readonly string[];
}

/**
 * Records a text of a plan or a skill run; it is shown when the work is over. Work that was killed after its text was recorded
 * says nothing when it gets here again; work that was set going anew after `since` does.
 *
 * @param spilled where the text lies beside the log, if it is too large for a record
 */
export function sayOnce(
	session: Session,
	from: From,
	since: Seq,
	text: string,
	spilled?: SpilledText,
): Appended | undefined {
	if (hasMessageFrom(session.conversation, nameOf(from), since)) return undefined;
	const said = spilled ? { text: beginningOf(text), spilled } : { text };
	return session.log.append(assistantMessage({ ...said, ...from }), session.scope);
}

/** Work that is given up. */
export interface End {
	readonly from: From;
	readonly scope: Scope;
	readonly lane: string;
	/** Records that it is, where that is not recorded yet. */
	giveUp?(): void;
	/** The seq of that record, its reason, and what is to be said of it. */
	ended(): { readonly seq: Seq; readonly reason: string; readonly tell?: string | undefined } | undefined;
}

/**
 * Says what work that is given up has to say, once it is recorded that it is, and closes its lane, which says that this was said: a
 * process that dies in between does the rest at its next start. Nobody is shown anything before all of it is durable.
 */
export async function sayEnd(session: Session, { from, scope, lane, giveUp, ended }: End, keep: Keep): Promise<Went> {
	const said = await keep(() => {
		giveUp?.();
		const end = ended();
		if (end?.tell !== undefined) sayOnce(session, from, end.seq, end.tell);
		return end && { reason: end.reason, durable: session.log.append(laneClosed({ lane }), scope).durable };
	});
	await said?.durable;
	return { outcome: "discarded", ...(said && { reason: said.reason }) };
}

/** What work that was given up has still to say: a process died before it had. */
export function unsaidIn({ scope, view, conversation }: Session): readonly BackgroundMessage[] {
	return [...Object.entries(view.get(planRuns)), ...Object.entries(view.get(skillRuns))].flatMap(([from, { ended }]) =>
		ended?.tell === undefined || hasMessageFrom(conversation, from, ended.seq)
			? []
			: [{ seq: ended.seq, scope, from, text: ended.tell }],
	);
}

/** Does work, and shows what it has said: of what is over only once that is recorded, and of what is cut when it has gone on. */
export async function shownWhenOver(
	work: () => Promise<Went>,
	show: () => Promise<void>,
	signal: AbortSignal,
): Promise<Went> {
	const stopped = (error: unknown): Went => ({ outcome: "stopped", reason: stopReason(signal, error) });
	const went = await work().catch(stopped);
	if (went.outcome === "stopped" && signal.aborted) return went;
	return show().then(() => went, stopped);
}

/** Why work stopped: what cancelled it, or what it threw. */
export function stopReason(signal: AbortSignal, error: unknown): string {
	return reasonOf(signal.aborted ? signal.reason : error).message;
}

const nameOf = (from: From): string => ("plan" in from ? from.plan : from.skill);
