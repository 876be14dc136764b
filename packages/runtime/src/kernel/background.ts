/** Runs work in the background of a conversation: its end is durable before its text is shown. */
import { type Lane, laneClosed, runProgram } from "@reyn/journal";
import { reasonOf } from "@reyn/journal/internal";
import { type Draft, isReynError, type Scope, type Seq } from "@reyn/wal";
import type { KernelEvent } from "./events.ts";
import type { Kernel, Piece } from "./feature.ts";
import { type BackgroundMessages, backgroundMessages, type From } from "./services.ts";
import type { Session } from "./session.ts";

/** How a piece of work ended: the records of its end, and the text for the conversation. */
export interface Ending {
	readonly records: readonly Draft[];
	readonly say?: string;
}

/**
 * Runs a piece of work in the background, unless it is under way already: its steps, in a lane of their own, then its end. All
 * records of the end are durable, or none, before its text is shown. Work that was cut goes on by `goOn`. The feature needs
 * `backgroundMessages`.
 */
export function inBackground(
	kernel: Kernel,
	session: Session,
	piece: Piece,
	steps: (lane: Lane) => Promise<Ending>,
): void {
	const { work, since } = piece;
	if (session.isRunning(work)) return;
	const path = `${piece.kind}/${piece.id}`;
	session.start(work, async (signal) => {
		const left: Promise<void>[] = [];
		try {
			const using = { ...kernel.using(session, signal), left: (over: Promise<void>) => void left.push(over) };
			const { records, say } = await runProgram(path, work.scope, using, steps);
			const end = (): Promise<void> => {
				if (say !== undefined) kernel.get(backgroundMessages).record(session, piece, since, say);
				const appended = records.map((record) => using.log.append(record, work.scope));
				if (kernel.find(piece)?.status !== "running")
					return using.log.append(laneClosed({ lane: path }), work.scope).durable;
				// The lane stays open, so that its recorded steps are not made again.
				const why = "the records of its end leave it running; have them end it, or nobody knows that it is over";
				const durable = appended.at(-1)?.durable ?? Promise.resolve();
				return durable.then(() => Promise.reject(new Error(why)));
			};
			await kernel.space.keep(work.name, "end", end, signal);
			await kernel.get(backgroundMessages).show(session, piece, signal);
		} catch (error) {
			const isCut = signal.aborted || isReynError(error, "STALE_LINEAGE");
			const [{ scope, name }, reason] = [work, stopReason(signal, error)];
			if (!isCut) kernel.emit({ type: "stopped", scope, work: name, reason } satisfies KernelEvent);
		} finally {
			await Promise.all(left);
		}
	});
}

/** Writes the records of an end in one turn of the event loop. The log does not become full within one, so all are written or none. */
export type Keep = <T>(write: () => T) => Promise<T>;

/** The same for a request of a person: it is refused while the disk is full, instead of waiting. */
export const atOnce: Keep = async (write) => write();

/** How a run of some work ended; `stopped` work goes on later. */
export interface Went {
	readonly outcome: "completed" | "discarded" | "stopped";
	readonly reason?: string;
	/** The steps of a plan that failed. */
	readonly failed?: readonly string[];
}

/** The end of work that is given up. */
export interface End {
	readonly from: From;
	readonly scope: Scope;
	readonly lane: string;
	/** Records that the work is given up, if that is not recorded yet. */
	giveUp?(): void;
	/** The seq of that record, its reason, and the notice to deliver. */
	ended(): { readonly seq: Seq; readonly reason: string; readonly tell?: string | undefined } | undefined;
}

/**
 * Delivers the notice of work that is given up. The order is: record that it is given up, record the notice, close the lane; the
 * closed lane says that the notice was recorded. A process that dies in between does the rest at its next start. Nothing is shown
 * before all of it is durable.
 */
export async function sayEnd(
	session: Session,
	{ from, scope, lane, giveUp, ended }: End,
	messages: BackgroundMessages,
	keep: Keep,
): Promise<Went> {
	const said = await keep(() => {
		giveUp?.();
		const end = ended();
		if (end?.tell !== undefined) messages.record(session, from, end.seq, end.tell);
		return end && { reason: end.reason, durable: session.log.append(laneClosed({ lane }), scope).durable };
	});
	await said?.durable;
	return { outcome: "discarded", ...(said && { reason: said.reason }) };
}

/**
 * Does work and shows its texts: when it is over, once that is recorded; when it was cut, after it has gone on.
 *
 * @param show never rejects
 */
export async function shownWhenOver(
	work: () => Promise<Went>,
	show: () => Promise<void>,
	signal: AbortSignal,
): Promise<Went> {
	const stopped = (error: unknown): Went => ({ outcome: "stopped", reason: stopReason(signal, error) });
	const went = await work().catch(stopped);
	// `show` never rejects, so a failure to show does not change how the work went.
	if (went.outcome !== "stopped" || !signal.aborted) await show();
	return went;
}

/** Why work stopped: the reason of its cancellation, or the error that it threw. */
export function stopReason(signal: AbortSignal, error: unknown): string {
	return reasonOf(signal.aborted ? signal.reason : error).message;
}
