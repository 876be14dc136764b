/** Work behind the conversation: it brings a text, and ends before anybody is told so. */
import { type Lane, laneClosed, runProgram } from "@reyn/journal";
import { reasonOf } from "@reyn/journal/internal";
import { type Draft, isReynError, type Scope, type Seq } from "@reyn/wal";
import type { KernelEvent } from "./events.ts";
import type { Kernel, Piece } from "./feature.ts";
import { type BackgroundMessages, backgroundMessages, type From } from "./services.ts";
import type { Session } from "./session.ts";

/** How a piece of work is over: what is recorded of it, and what is said in the conversation. */
export interface Ending {
	readonly records: readonly Draft[];
	readonly say?: string;
}

/**
 * Does a piece of work behind the conversation, where it is not under way: its steps, in a lane of its own, then its end, all or
 * nothing of it recorded before anybody is shown what it says. What is cut goes on with `goOn`. The feature needs `backgroundMessages`.
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
		try {
			const using = kernel.using(session, signal);
			const { records, say } = await runProgram(path, work.scope, using, steps);
			const end = (): Promise<void> => {
				if (say !== undefined) kernel.get(backgroundMessages).record(session, piece, since, say);
				const appended = records.map((record) => using.log.append(record, work.scope));
				if (kernel.find(piece)?.status !== "running")
					return using.log.append(laneClosed({ lane: path }), work.scope).durable;
				// Its lane stays open, so that what it has done is not done again.
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
		}
	});
}

/** Writes the records of an end, all in one turn of the event loop: within that the log does not fill up, so it is all or none. */
export type Keep = <T>(write: () => T) => Promise<T>;

/** For a person, who is refused while there is no space, and asks again: nothing is written then. */
export const atOnce: Keep = async (write) => write();

/** How work went, this time; what is stopped goes on later. */
export interface Went {
	readonly outcome: "completed" | "discarded" | "stopped";
	readonly reason?: string;
	/** The steps of a plan that failed. */
	readonly failed?: readonly string[];
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
 * Does work, and shows what it has said: of what is over only once that is recorded, and of what is cut when it has gone on.
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
	// How it went is not for those to say who are shown it.
	if (went.outcome !== "stopped" || !signal.aborted) await show();
	return went;
}

/** Why work stopped: what cancelled it, or what it threw. */
export function stopReason(signal: AbortSignal, error: unknown): string {
	return reasonOf(signal.aborted ? signal.reason : error).message;
}
