/** Reports the state of a session at one moment, as a value for people and scripts. */
import { planRuns } from "@reyn/plan";
import { type ConversationItem, conversation, mainSession, type Runtime, type SessionScope } from "@reyn/runtime";
import { skillRuns } from "@reyn/skill-resume";
import type { Timeline } from "@reyn/timetravel";
import type { Seq } from "@reyn/wal";

export interface StateReport {
	readonly seq: number;
	readonly kind: string;
	readonly branch: string;
	readonly active: boolean;
	/** SHA-256 over the whole state of the session: equal states have equal hashes. */
	readonly hash: string;
	readonly messages: readonly { readonly seq: number; readonly who: string; readonly text: string }[];
	readonly plans: readonly { readonly plan: string; readonly status: string; readonly goal: string }[];
	readonly skills: readonly { readonly run: string; readonly status: string; readonly skill: string }[];
}

export async function reportState(
	{ timeline }: Runtime,
	seq: Seq,
	scope: SessionScope = mainSession,
): Promise<StateReport> {
	const view = await timeline.at(seq, scope);
	const { kind, active } = await describe(timeline, seq);
	const messages = view.get(conversation).items.toArray().flatMap(said);
	return {
		seq,
		kind,
		branch: timeline.branches().findLast(({ first }) => first <= seq)?.name ?? "main",
		active,
		hash: view.hash(),
		messages,
		plans: Object.entries(view.get(planRuns)).map(([plan, { status, goal }]) => ({ plan, status, goal })),
		skills: Object.entries(view.get(skillRuns)).map(([run, { status, skill }]) => ({ run, status, skill })),
	};
}

async function describe(timeline: Timeline, seq: Seq): Promise<{ kind: string; active: boolean }> {
	const record = await timeline.record(seq);
	if (!record) return { kind: "genesis", active: true };
	return { kind: record.kind, active: timeline.lineage.isActive(record) };
}

/** The message of an item. Tool results are left out: they are long, and their records have them. */
function said(item: ConversationItem): StateReport["messages"] {
	switch (item.type) {
		case "prompt":
			return [{ seq: item.seq, who: "you", text: item.text }];
		case "reply":
			return [{ seq: item.seq, who: "agent", text: item.text }];
		case "message":
			return [{ seq: item.seq, who: item.from, text: item.text }];
		case "note":
			return [{ seq: item.seq, who: "note", text: item.text }];
		case "calls":
			return [{ seq: item.seq, who: "tools", text: item.calls.map(({ name }) => name).join(", ") }];
		case "result":
			return [];
	}
}
