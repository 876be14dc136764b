/** Carries out what was seen wherever that can be done: here, if nobody has the log, else by the process that has it. */
import { setTimeout as pause } from "node:timers/promises";
import type { Runtime } from "@reyn/runtime";
import { isReynError, ReynError } from "@reyn/wal";
import { OperatorError } from "../errors.ts";
import type { Verb, WriteVerb } from "../verb.ts";
import { callHolder } from "./call.ts";

export interface Places {
	/** The state directory. */
	readonly directory: string;
	/** Opens the state for work, and closes it behind the use. @throws WalError `WAL_LOCKED` while another process has the log */
	working<T>(use: (runtime: Runtime) => Promise<T>): Promise<T>;
	/** Looks at the state as it is now. */
	reading<T>(use: (runtime: Runtime) => Promise<T>): Promise<T>;
	/** Where work is begun here, does what else is unfinished go on too? Default: true. */
	readonly restore?: boolean;
}

/** A holder that is about to end has neither its socket nor its lock for long. */
export const TRIES = 20;
export const PAUSE_MS = 50;

/**
 * Does what was seen, once. Where the process that has the log dies before it answers, the log says whether it was done.
 *
 * @returns what was done; where its answer was lost, `{ recorded }`: the seq of the record that says that it was
 * @throws OperatorError `OPERATOR_LOST` when nobody can say yet; what `act` throws; WalError `WAL_LOCKED` where its holder hears nobody
 */
export async function act(verb: WriteVerb, seen: object, actor: string, places: Places): Promise<object> {
	const { tip } = seen as { tip?: number };
	let isLost = false;
	for (let left = TRIES; ; left--) {
		let locked: unknown;
		try {
			// What was seen is bound to its tip: if it was done meanwhile, it is stale here, and not done again.
			return await places.working(
				async (runtime) => (isLost ? await found(runtime) : undefined) ?? verb.act(runtime, seen, actor),
			);
		} catch (error) {
			if (!isReynError(error, "WAL_LOCKED")) throw error;
			locked = error;
		}
		const called = isLost
			? ({ kind: "lost" } as const)
			: await callHolder(places.directory, await places.reading(async ({ wal }) => wal.id), {
					verb: verb.name,
					actor,
					of: seen as Record<string, unknown>,
				});
		if (called.kind === "done") return verb.done.parse(called.done);
		if (called.kind === "refused") {
			const { code, message, detail } = called.error;
			// It was closed just before.
			if (code !== "RUNTIME_CLOSED") throw new ReynError(code, message, detail);
		}
		if (called.kind === "lost") {
			isLost = true;
			const recorded = await places.reading(found);
			if (recorded) return recorded;
		}
		if (left === 0) throw isLost ? lost(verb) : locked;
		await pause(PAUSE_MS);
	}

	async function found({ wal }: Runtime): Promise<{ readonly recorded: number } | undefined> {
		for await (const record of wal.read({ after: tip ?? 0 }))
			if (verb.isDoneBy(record, seen, actor)) return { recorded: record.seq };
		return undefined;
	}
}

export const lost = ({ name }: Pick<Verb, "name">): OperatorError =>
	new OperatorError(
		"OPERATOR_LOST",
		`the process that has the log was asked to ${name}, and has not answered; so far nothing says that it was done. Look again before you repeat it`,
	);
