/** The three steps of a move: preview what it would do, write one durable record, bring memory in line with it. */
import type { Seq } from "@reyn/wal";
import type { Coverage } from "./undo.ts";

/** What a move would do. */
export interface MovePreview {
	/** `label`: a name is given, moved or taken away, and nothing moves. `none`: the target is the tip, and there is nothing to write. */
	readonly kind: "undo" | "fork_switch" | "label" | "none";
	/** The seq whose state will be the current one for the covered classes; for a label, the seq that it names. */
	readonly target: Seq;
	/** The seq that was asked for, if it lies inside a tool cycle: the target is then just before its calls. */
	readonly snappedFrom?: Seq;
	/** The classes of records that move; for a label, none. */
	readonly coverage: Coverage;
	/** The tip of this preview, for `expect`. A later move, or a record that begins something in the scope, makes the preview stale. */
	readonly tip: Seq;
	/** The seq of the move that this one takes back (`undoes`), or makes again (`redoes`). */
	readonly undoes?: Seq;
	readonly redoes?: Seq;
	/** The name, for a label; is it taken away; and the seq that it has until then, if it goes to another one. */
	readonly label?: string;
	readonly gone?: true;
	readonly was?: Seq;
	/** JSON for what has to change outside the log, by the name of the part that does so. It is recorded in the reset, so it survives a crash. */
	readonly along?: Readonly<Record<string, unknown>>;
	/** All work stops for it, and not only what it covers: what goes along belongs to all. */
	readonly stopsAll?: true;
}

/** A move that was written. */
export interface Moved extends Pick<MovePreview, "target" | "coverage" | "undoes" | "redoes" | "label" | "along"> {
	/** The seq of its reset, or of the label. */
	readonly seq: Seq;
}

export interface MovedBy {
	/** Who asked, in 1 to 256 bytes. */
	readonly actor: string;
	/** A name of the kind of move, for people. Default: `"undo"` or `"redo"` for such a preview, else `"both"`. */
	readonly mode?: string;
	/** The numbers of the preview, for people. */
	readonly counts?: Readonly<Record<string, number>>;
}

/** What {@link moveWith} needs of a timeline. */
export interface Moving {
	/** Stops the work of open sessions that a preview covers. @returns a function that lets work begin again */
	quiet(preview: MovePreview): Promise<() => void>;
	exclusively<T>(preview: MovePreview, work: () => Promise<T>): Promise<T>;
	write(preview: MovePreview, by: MovedBy): Promise<Moved>;
	unsettled(): readonly Moved[];
	rebuild(move: Moved): Promise<void>;
	settled(move: Moved): void;
}

export interface MoveParts {
	/**
	 * Stops work outside of sessions in the classes that a move covers, and waits until it is quiet. If it throws, nothing is written.
	 *
	 * @returns a function that lets work begin again; it is called when the move has ended, made or not
	 */
	quiet(preview: MovePreview): Promise<() => void>;
	/** Brings memory beside the live states in line with the log after a move. It may run twice, and has to give the same. */
	rebuild(move: Moved): Promise<void>;
}

/**
 * Makes a move: stop the work, write one durable record, bring memory in line. A label moves nothing and stops nothing.
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
		// Last: work that begins again may ask for another move.
		over();
	}
}

/** Stops sessions and the work beside them side by side, since neither may wait for the other. Each is told to stop all as what is covered. */
export async function allQuiet(
	{ quiet }: Pick<MoveParts, "quiet">,
	timeline: Pick<Moving, "quiet">,
	preview: MovePreview,
): Promise<() => void> {
	const stopped = preview.stopsAll ? { ...preview, coverage: { scope: {} } } : preview;
	const stopping = await Promise.allSettled([timeline.quiet(stopped), quiet(stopped)]);
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

/** Settles every move that was written and not settled yet: after each move, and at an open, since a crash may have cut one. */
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
