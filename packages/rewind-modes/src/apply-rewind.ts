/** Does what was previewed: one reset, one note, or nothing. */
import type { CheckoutOptions, Timeline } from "@reyn/timetravel";
import { assertActor } from "@reyn/timetravel/internal";
import type { Appender, Scope, Seq } from "@reyn/wal";
import { RewindError } from "./errors.ts";
import type { Facets } from "./facets.ts";
import { dropOf, meaningOf } from "./modes.ts";
import {
	assertPreviewed,
	assertRewindPreview,
	type Counts,
	counted,
	countsAt,
	none,
	type RewindPreview,
} from "./preview-rewind.ts";
import { rewindNote } from "./records.ts";

export interface ApplyOptions {
	readonly actor: string;
	/** Where a note is appended: the session's log. Default: a handle of the timeline. */
	readonly log?: Appender;
	/** The conversation that a note joins. */
	readonly session: Scope;
	/** Writes the text of the note, for instance by a model; it gets the plain text. Default: the plain text is used. */
	summarize?(text: string): Promise<string>;
	/** Says what goes along, outside the log too, as for `rewindTo` of a timeline. */
	along?: CheckoutOptions["along"];
	/** Does all work stop for it, as for `rewindTo` of a timeline? */
	readonly stopsAll?: boolean;
}

export interface RewindResult {
	/** `none`: nothing was written. */
	readonly kind: "reset" | "note" | "none";
	/** The seq of what was written; the tip of the preview for `none`. */
	readonly seq: Seq;
	readonly target: Seq;
	/** The records beyond the target: those that were previewed, and progress of work since. Absent: unknown, since `gc` took some away. */
	readonly affected?: Counts;
	/** The records among them that were taken back. Absent: unknown. */
	readonly dropped?: Counts;
}

/**
 * Does what was previewed, or nothing. Progress of work since the preview is taken back too, and counted. Another move, or a record
 * that began something in the scope, makes the preview stale.
 *
 * @throws RewindError `REWIND_STALE`, `REWIND_NOT_PREVIEWED`, `REWIND_MODE`; TimetravelError `TIMETRAVEL_ACTOR`. Nothing is written then
 */
export async function applyRewind(
	timeline: Timeline,
	facets: Facets,
	preview: RewindPreview,
	options: ApplyOptions,
): Promise<RewindResult> {
	assertActor(options.actor);
	assertRewindPreview(preview);
	const { mode, target, scope, tip } = preview;
	meaningOf(mode);
	try {
		await timeline.ifStill(tip, scope, () => {});
		await assertPreviewed(timeline, facets, preview);
		const isNone = mode === "cancel" || preview.kind === "none";
		const written = isNone ? undefined : await write(timeline, facets, preview, options);
		const through = written ? written.seq - 1 : timeline.lineage.tip;
		const found = written?.counted ?? (await countsAt(through, timeline, facets, preview));
		const { touches: _, ...counts } = found;
		if (written) return { kind: written.kind, seq: written.seq, target, ...counts };
		return { kind: "none", seq: tip, target, ...counts, dropped: none };
	} catch (error) {
		throw asStale(error);
	}
}

async function write(
	timeline: Timeline,
	facets: Facets,
	preview: RewindPreview,
	{ actor, log = timeline.handle(), session, summarize, along, stopsAll = false }: ApplyOptions,
): Promise<
	Pick<RewindResult, "kind" | "seq"> & { readonly counted?: Awaited<ReturnType<typeof countsAt>> | undefined }
> {
	const { mode, target, scope, tip } = preview;
	if (mode === "summarize") {
		const { affected } = await countsAt(timeline.lineage.tip, timeline, facets, preview);
		const plain = noteText(target, affected);
		// Before the check below: a model takes time for a summary, and records may come meanwhile.
		const text = (await summarize?.(plain)) ?? plain;
		const note = rewindNote({ target, actor, counts: { ...affected }, text });
		const { seq, durable } = await timeline.ifStill(tip, scope, () => log.append(note, session));
		await durable;
		return { kind: "note", seq };
	}
	const drop = dropOf(mode, facets);
	let counted: Awaited<ReturnType<typeof countsAt>> | undefined;
	const { seq } = await timeline.rewindTo(target, {
		scope,
		mode,
		actor,
		expect: tip,
		// Counted once: what is told, and what the log keeps, is the same.
		async counts() {
			counted = await countsAt(timeline.lineage.tip, timeline, facets, preview);
			return { ...counted.affected, ...(counted.dropped && { dropped: counted.dropped.all }) };
		},
		...(drop ? { drop } : {}),
		...(along ? { along } : {}),
		stopsAll,
	});
	return { kind: "reset", seq, counted };
}

export function asStale(error: unknown): unknown {
	const { code, message, detail } = error as { code?: unknown; message: string; detail?: Record<string, unknown> };
	return code === "TIMETRAVEL_STALE" ? new RewindError("REWIND_STALE", message, detail, { cause: error }) : error;
}

function noteText(target: Seq, affected: Counts | undefined): string {
	const what = affected
		? `there ${affected.conversation === 1 ? "was" : "were"} ${counted(affected.conversation, "record")} of the conversation and ${counted(affected.code, "record")} of steps and tool results`
		: "there were messages, steps and tool results; how many is not known any more";
	return `Since seq ${target} ${what}. They were tried and are kept; go on from the situation at seq ${target}.`;
}
