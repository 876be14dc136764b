/** Reports the state of a session at one moment, as a value for people and scripts. */
import { planRuns, plansOf } from "@reyn/plan";
import { type ConversationItem, conversation, mainSession, type Runtime, type SessionScope } from "@reyn/runtime";
import { skillRuns, skillRunsOf } from "@reyn/skill-resume";
import type { Timeline } from "@reyn/timetravel";
import { type Seq, scopeKey } from "@reyn/wal";

export interface StateReport {
	readonly seq: number;
	readonly kind: string;
	readonly branch: string;
	readonly active: boolean;
	/** SHA-256 over the whole state of the session: equal states have equal hashes. */
	readonly hash: string;
	readonly messages: readonly Message[];
	/** Were there earlier ones than the newest that were asked for? */
	readonly more?: true;
	readonly plans: readonly { readonly plan: string; readonly status: string; readonly goal: string }[];
	readonly skills: readonly { readonly run: string; readonly status: string; readonly skill: string }[];
}

export interface Message {
	readonly seq: number;
	readonly who: string;
	readonly text: string;
}

/** @param newest only so many messages. Default: all */
export async function reportState(
	runtime: Runtime,
	seq: Seq,
	scope: SessionScope = mainSession,
	newest?: number,
): Promise<StateReport> {
	const { timeline } = runtime;
	const view = await viewAt(runtime, seq, scope);
	const { kind, active } = await describe(timeline, seq);
	return {
		seq,
		kind,
		branch: timeline.branches().findLast(({ first }) => first <= seq)?.name ?? "main",
		active,
		hash: view.hash(),
		...messagesIn(view, newest),
		plans: plansOf(view.get(planRuns)).map(([plan, { status, goal }]) => ({ plan, status, goal })),
		skills: skillRunsOf(view.get(skillRuns)).map(([run, { status, skill }]) => ({ run, status, skill })),
	};
}

async function describe(timeline: Timeline, seq: Seq): Promise<{ kind: string; active: boolean }> {
	const record = await timeline.record(seq);
	if (!record) return { kind: "genesis", active: true };
	return { kind: record.kind, active: timeline.lineage.isActive(record) };
}

/** The state of a session at a moment: that of now is at hand. */
export async function viewAt(runtime: Runtime, seq: Seq, scope: SessionScope): Promise<View> {
	const isThere = runtime.sessions().some((each) => scopeKey(each) === scopeKey(scope));
	return seq === runtime.wal.tip && isThere ? runtime.view(scope) : runtime.timeline.at(seq, scope);
}

type View = ReturnType<Runtime["view"]>;

/**
 * The messages of a session, oldest first: what they cost to give does not depend on how many there are before them.
 *
 * @param isTold is it one of those that are wanted?
 */
export function messagesIn(
	view: View,
	newest = Number.POSITIVE_INFINITY,
	isTold: (message: Message) => boolean = () => true,
): Pick<StateReport, "messages" | "more"> {
	const { items } = view.get(conversation);
	const messages: Message[] = [];
	for (let at = items.length - 1; at >= 0; at--) {
		const message = said(items.at(at) as ConversationItem);
		if (!message || !isTold(message)) continue;
		if (messages.length === newest) return { messages: messages.reverse(), more: true };
		messages.push(message);
	}
	return { messages: messages.reverse() };
}

/** The message of an item. Tool results are left out: they are long, and their records have them. */
function said(item: ConversationItem): Message | undefined {
	switch (item.type) {
		case "prompt":
			return { seq: item.seq, who: "you", text: item.text };
		case "reply":
			return { seq: item.seq, who: "agent", text: item.text };
		case "message":
			return { seq: item.seq, who: item.from, text: item.text };
		case "note":
		case "compaction":
			return { seq: item.seq, who: "note", text: item.text };
		case "calls":
			return { seq: item.seq, who: "tools", text: item.calls.map(({ name }) => name).join(", ") };
		case "result":
			return undefined;
	}
}
