/** What a rewind does to the sessions: what it covers is quiet before the reset is written, and as the reset says afterwards. */
import { setTimeout as sleepFor } from "node:timers/promises";
import type { Coverage, Moved, Timeline } from "@reyn/timetravel";
import { within } from "@reyn/wal";
import { RuntimeError } from "./errors.ts";
import type { Feature, Piece } from "./feature.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { settlement } from "./settle.ts";
import { type Classes, isCovered } from "./work.ts";

/**
 * Cancels the work that a reset would cover and waits until it is quiet, or gives up before anything is written.
 *
 * @param quietMs how long work may take to stop
 * @returns what lets work begin again there
 * @throws RuntimeError `RUNTIME_NOT_QUIET`
 */
export async function quiesce(sessions: Sessions, coverage: Coverage, quietMs: number): Promise<() => void> {
	const covers = (work: Classes): boolean => isCovered(work, coverage);
	const all = [...sessions];
	const { promise, resolve: over } = Promise.withResolvers<void>();
	sessions.hold(covers, promise);
	const cancelled = all.flatMap((session) => session.cancel("a rewind is under way", covers));
	const limit = new AbortController();
	const quiet = Promise.all(all.map((session) => session.idle(covers))).then(() => "quiet" as const);
	const late = sleepFor(quietMs, "late" as const, { signal: limit.signal }).catch(() => "quiet" as const);
	if ((await Promise.race([quiet, late])) === "quiet") {
		limit.abort();
		return over;
	}
	const still = all.flatMap((session) => session.running(covers));
	over();
	throw new RuntimeError(
		"RUNTIME_NOT_QUIET",
		`${still.join(", ")} did not stop in time; nothing was rewound. Cancelled: ${cancelled.join(", ")}; it goes on with resume, or at the next start`,
		{ still, cancelled },
	);
}

export interface RebuildPorts {
	readonly timeline: Timeline;
	readonly features: readonly Feature[];
	/** Sets work going again that ran before the rewind. */
	relaunch(session: Session, piece: Piece): void;
}

/** After a move, of which the states know: takes up the sessions that there are then, and settles their work. */
export async function rebuild(sessions: Sessions, { seq, coverage }: Moved, ports: RebuildPorts): Promise<void> {
	const { timeline, features, relaunch } = ports;
	const { scope } = coverage;
	await sessions.follow();
	const moved = [...sessions].filter((each) => within(each.scope, scope) || within(scope, each.scope));
	for (const session of moved) {
		const due = settlement(features, await timeline.at(seq - 1, session.scope), session.view, coverage);
		for (const { draft, piece } of due) if (draft) session.log.append(draft, piece.work.scope);
		const again = due.filter(({ becomes }) => becomes === "running");
		// Until the rewind is recorded as settled, nothing but this is appended here.
		void sessions.rewinding?.then(() => {
			for (const { piece } of again) relaunch(session, piece);
		});
	}
}
