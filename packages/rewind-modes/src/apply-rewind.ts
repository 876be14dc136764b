/** Does what was previewed: one reset, one note, or nothing. */
import type { Timeline } from "@reyn/timetravel";
import type { Appender, Scope, Seq } from "@reyn/wal";
import { RewindError } from "./errors.ts";
import type { Facets } from "./kinds.ts";
import { dropOf } from "./modes.ts";
import type { RewindPlan } from "./plan-rewind.ts";
import { rewindNote } from "./records.ts";

export interface ApplyOptions {
	readonly actor: string;
	/** Where a note is appended: the session's log. */
	readonly log: Appender;
	/** The conversation that a note joins. */
	readonly session: Scope;
	/** Writes the note's text, given the deterministic one. Default: that one. */
	summarize?(text: string): Promise<string>;
}

export interface RewindResult {
	/** `none`: nothing was written. */
	readonly kind: "reset" | "note" | "none";
	/** The seq of what was written; the tip for `none`. */
	readonly seq: Seq;
	readonly target: Seq;
}

/** @throws RewindError `REWIND_STALE` when the log has moved since the preview; nothing is written then */
export async function applyRewind(
	timeline: Timeline,
	facets: Facets,
	plan: RewindPlan,
	options: ApplyOptions,
): Promise<RewindResult> {
	const { mode, target, scope, tip } = plan;
	await assertFresh(timeline, plan);
	if (mode === "cancel" || plan.kind === "none") return { kind: "none", seq: tip, target };
	if (mode === "summarize") {
		const plain = noteText(plan);
		const text = (await options.summarize?.(plain)) ?? plain;
		// A model takes its time over a summary, and the log does not wait for it.
		await assertFresh(timeline, plan);
		const counts = { ...plan.affected };
		const note = rewindNote({ target, actor: options.actor, counts, text });
		const { seq, durable } = options.log.append(note, options.session);
		await durable;
		return { kind: "note", seq, target };
	}
	const drop = dropOf(mode, facets);
	const { seq } = await timeline.rewindTo(target, {
		scope,
		mode,
		actor: options.actor,
		counts: { ...plan.affected, dropped: plan.dropped.all },
		...(drop ? { drop } : {}),
	});
	return { kind: "reset", seq, target };
}

/** The log's own records may come between; anything that happened may not. */
async function assertFresh(timeline: Timeline, { tip }: RewindPlan): Promise<void> {
	for await (const { seq, kind } of timeline.history(tip)) {
		if (kind.startsWith("wal_")) continue;
		throw new RewindError(
			"REWIND_STALE",
			`this was previewed at seq ${tip}, and ${kind} came at seq ${seq}; preview it again`,
			{ previewed: tip, seq },
		);
	}
}

function noteText({ target, affected }: RewindPlan): string {
	return `Since seq ${target} there were ${affected.conversation} messages and ${affected.code} steps and tool results. They were tried and are kept; go on from the situation at seq ${target}.`;
}
