/** A move in three steps: say what it would do; write one durable record; bring all that is in memory in line with it. */
import type { Seq } from "@reyn/wal";
import type { Coverage } from "./undo.ts";

/** What a move would do. */
export interface MovePreview {
	/** `label`: a name is given or taken back, and nothing moves. `none`: the target is the tip, and there is nothing to write. */
	readonly kind: "undo" | "fork_switch" | "label" | "none";
	/** The seq whose state will be the current one for what is covered; of a label, the seq that it names. */
	readonly target: Seq;
	/** The seq that was asked for, where it lay inside a tool cycle: the target is then the checkpoint before it. */
	readonly snappedFrom?: Seq;
	/** What moves; of a label, no kind. */
	readonly coverage: Coverage;
	/** The tip that this is said of, for `expect`: what begins in the scope after it, and each other move, speaks against the preview. Progress does not. */
	readonly tip: Seq;
	/** The move that it takes back, or the undo that it takes back. */
	readonly undoes?: Seq;
	readonly redoes?: Seq;
	/** The name, of a label. */
	readonly label?: string;
	/** What goes along outside the log, as JSON, by whom it concerns: it stands in the reset, and is there after a crash. */
	readonly along?: Readonly<Record<string, unknown>>;
}

/** A move that was written. */
export interface Moved extends Pick<MovePreview, "target" | "coverage" | "undoes" | "redoes" | "label" | "along"> {
	/** The seq of its reset, or of the label. */
	readonly seq: Seq;
}

export interface MovedBy {
	/** Who asked, in 1 to 256 bytes. */
	readonly actor: string;
	/** A name for what is meant, for people. Default: `"undo"` or `"redo"` of such a preview, else `"both"`. */
	readonly mode?: string;
	/** What was previewed, for people. */
	readonly counts?: Readonly<Record<string, number>>;
}

/** What {@link moveWith} needs of a timeline. */
export interface Moving {
	/** Stops the work of open sessions that a preview covers; gives what lets work begin again there. */
	quiet(preview: MovePreview): Promise<() => void>;
	exclusively<T>(preview: MovePreview, work: () => Promise<T>): Promise<T>;
	write(preview: MovePreview, by: MovedBy): Promise<Moved>;
	unsettled(): readonly Moved[];
	rebuild(move: Moved): Promise<void>;
	settled(move: Moved): void;
}

export interface MoveParts {
	/**
	 * Stops what is under way beside open sessions in the classes that a move covers, and waits until it is quiet; gives what lets work
	 * begin again, which is called when the move has ended, made or not. If it throws, nothing is written.
	 */
	quiet(preview: MovePreview): Promise<() => void>;
	/** Brings what is in memory beside live states in line with the log after a move. Doing it twice changes nothing. */
	rebuild(move: Moved): Promise<void>;
}

/**
 * Makes a move: quiet first, then one durable record, then all that is in memory. A label moves nothing, and stops nothing.
 *
 * @returns undefined for a preview of no move
 * @throws what `quiet` throws, and as `write` does; nothing is written then. What `rebuild` throws leaves the move unsettled
 */
export async function moveWith(
	{ quiet, rebuild }: MoveParts,
	timeline: Moving,
	preview: MovePreview,
	by: MovedBy,
): Promise<Moved | undefined> {
	if (preview.kind === "none") return undefined;
	let over = (): void => {};
	try {
		return await timeline.exclusively(preview, async () => {
			if (preview.kind === "label") return timeline.write(preview, by);
			over = await allQuiet({ quiet }, timeline, preview);
			const move = await timeline.write(preview, by);
			await settleWith(rebuild, timeline);
			return move;
		});
	} finally {
		// Who begins again may ask for another move.
		over();
	}
}

/** Sessions and what lies beside them stop at once: neither has to know of the other. */
export async function allQuiet(
	{ quiet }: Pick<MoveParts, "quiet">,
	timeline: Pick<Moving, "quiet">,
	preview: MovePreview,
): Promise<() => void> {
	const stopping = await Promise.allSettled([timeline.quiet(preview), quiet(preview)]);
	const over = (): void => {
		for (const each of stopping) if (each.status === "fulfilled") each.value();
	};
	for (const each of stopping) {
		if (each.status === "fulfilled") continue;
		over();
		throw each.reason;
	}
	return over;
}

/** Finishes every move that was written and not settled: after each, and at an open, since a crash may have come between. */
export async function settleWith(
	rebuild: MoveParts["rebuild"],
	timeline: Pick<Moving, "unsettled" | "rebuild" | "settled">,
): Promise<void> {
	for (const move of timeline.unsettled()) {
		await timeline.rebuild(move);
		await rebuild(move);
		timeline.settled(move);
	}
}
