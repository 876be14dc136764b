/** Runs one program over a lane, and records it when the program ends by throwing. */
import { type Scope, systemTimers } from "@reyn/wal";
import { asError, readable } from "./errors.ts";
import { endedBy, endsBy, isBeneath, ProgramEnded } from "./failure.ts";
import { Lane } from "./lane.ts";
import { Order } from "./order.ts";
import { laneFailed } from "./records.ts";
import { Stopper } from "./refusals.ts";
import { whenSpace } from "./retry.ts";
import type { Using } from "./step.ts";

/**
 * Runs a program whose steps are in a lane and below it. Steps may overlap.
 *
 * When the program throws, `lane_failed` is recorded. A next run then makes again the calls whose failures the program let through or
 * was told last; and, of models, world steps and retryable steps, the failed ones that nothing rests on. Steps that wait when the
 * program ends do not begin, and never settle. Steps that are under way go on and their outcomes are recorded; the promise rejects only
 * then, so a next run finds those outcomes.
 *
 * When a step must not be made now (it waits for a permit, or is in doubt) the program stops with that error, even if it catches it:
 * it may clean up, and steps that it asks for afterwards never settle.
 * When it is cancelled, its steps are refused with the signal's reason. It may clean up for ten seconds, counted from when none of its
 * calls is under way, and for one from the second that it asks for then. Calls inside a call that took too long are not waited for.
 *
 * @throws what the program throws; the signal's reason when it was cancelled
 */
export async function runProgram<T>(
	path: string,
	scope: Scope,
	using: Using,
	program: (lane: Lane) => Promise<T>,
): Promise<T> {
	const { timers = systemTimers, recordedIn } = using;
	const order = new Order({ program: path, recordedIn: recordedIn?.bind(using), recordsItsEnd: true, timers });
	// Without a step by its end, nobody can tell by the log whether the lane was closed since, or never begun.
	let hasSteps = false;
	const isClosed = (): boolean => hasSteps && using.firstBelow?.(path) === undefined;
	const stopper = new Stopper(using.signal, timers, () => order.over());
	const { stopped } = stopper;
	const cancel = (): void => void stopper.cancel(using.signal.reason);
	const end = (): void => order.end(new ProgramEnded(`the program in ${path} has ended`));
	try {
		if (using.signal.aborted) cancel();
		using.signal.addEventListener("abort", cancel, { once: true });
		const result = await stopper.run(() =>
			program(new Lane(path, scope, { ...using, stopped, isClosed }, undefined, order)),
		);
		using.signal.throwIfAborted();
		hasSteps = using.firstBelow?.(path) !== undefined;
		if (order.open > 0) using.left?.(order.over());
		return result;
	} catch (error) {
		end();
		const ended = asError(readable(error));
		endsBy(ended, order.lastFailures);
		// Whoever goes on makes no call beside one of this run; and outcomes may rest on a failure that the record of its end forgets.
		await order.over();
		using.signal.throwIfAborted();
		if (!isBeneath(ended)) {
			const failed = laneFailed({ lane: path, ...endedBy(ended) });
			const waiting = ({ code, message }: Error & { readonly code: string }): void =>
				using.observe?.({ type: "no_space", lane: path, kind: "lane", name: path, code, reason: message });
			const { durable } = await whenSpace(() => using.log.append(failed, scope), waiting, timers, using.signal);
			await durable;
		}
		throw error;
	} finally {
		using.signal.removeEventListener("abort", cancel);
		end();
	}
}
