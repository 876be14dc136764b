/** One program over a lane: in order, and with a record of its end where it ends by throwing. */
import { type Scope, systemTimers } from "@reyn/wal";
import { asError, readable } from "./errors.ts";
import { endedBy, endsBy, isBeneath, ProgramEnded } from "./failure.ts";
import { Lane } from "./lane.ts";
import { Order } from "./order.ts";
import { laneFailed } from "./records.ts";
import { whenSpace } from "./retry.ts";
import type { Using } from "./step.ts";

/**
 * Runs a program whose steps are in a lane and below it. Its steps may overlap. Where it throws, that is recorded: when it is run
 * again, it makes again the calls whose failures it let through or was told of last, and of models, the world and what is retryable
 * those that nothing rests on. What waits when it ends is not begun, and nothing is told of it. What is under way goes on, and its
 * outcome is kept; only then it is told that the program threw, so that what runs it again finds that outcome.
 * Where a step must not be made now (it waits, say, or is in doubt) the program stops with that, also if it catches it: it can
 * clear up, and is told of no step that it asks for afterwards.
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
	const end = (): void => order.end(new ProgramEnded(`the program in ${path} has ended`));
	try {
		const result = await new Promise<T>((resolve, reject) => {
			program(new Lane(path, scope, { ...using, stopped: reject }, undefined, order)).then(resolve, reject);
		});
		using.signal.throwIfAborted();
		return result;
	} catch (error) {
		using.signal.throwIfAborted();
		end();
		const ended = asError(readable(error));
		endsBy(ended, order.lastFailures);
		// Behind what is under way: its outcome may rest on a failure that is forgotten else.
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
		end();
	}
}
