/** Brings sessions and their work in line with a rewind, after its reset is durable. */
import type { Moved, Timeline } from "@reyn/timetravel";
import { isReynError, within } from "@reyn/wal";
import { RuntimeError } from "./errors.ts";
import type { Feature, Piece } from "./feature.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { ENDS_WORK, settlement } from "./settle.ts";

/** The error for a person when the work that a rewind covers did not stop in time; other errors stay as they are. */
export function asNotQuiet(error: unknown): unknown {
	if (!isReynError(error, "TIMETRAVEL_NOT_QUIET")) return error;
	const { still, cancelled } = error.detail as Record<"still" | "cancelled", readonly string[]>;
	return new RuntimeError(
		"RUNTIME_NOT_QUIET",
		`${still.join(", ")} did not stop in time; nothing was rewound. Cancelled: ${cancelled.join(", ")}; it goes on with resume, or at the next start`,
		{ still, cancelled },
	);
}

/** The error for a close that has waited for work in vain. @param still the names of that work */
export const notStopped = (still: readonly string[]): RuntimeError =>
	new RuntimeError(
		"RUNTIME_NOT_QUIET",
		`${still.join(", ")} did not stop in time, and was left; what was recorded of it stays, and it goes on with the next start. Have it heed its signal`,
		{ still, cancelled: still },
	);

export interface RebuildPorts {
	readonly timeline: Timeline;
	readonly features: readonly Feature[];
	/** Sets a piece going again that ran before the rewind. */
	relaunch(session: Session, piece: Piece): void;
	/** Ends what features have running below a lane that has ended. */
	endBelow(session: Session, lane: string, reason: string): void;
}

/** Runs after a move, when live states are made anew: opens the sessions of the new line of history, and settles their work. */
export async function rebuild(
	sessions: Sessions,
	{ seq, coverage, along, redoes }: Moved,
	ports: RebuildPorts,
): Promise<void> {
	const { timeline, features, relaunch, endBelow } = ports;
	const { scope } = coverage;
	await sessions.follow();
	const moved = [...sessions].filter((each) => within(each.scope, scope) || within(scope, each.scope));
	for (const session of moved) {
		const before = await timeline.at(seq - 1, session.scope);
		const due = settlement(features, before, session.view, coverage, along, redoes !== undefined);
		const reason = along?.[ENDS_WORK];
		for (const { drafts, piece } of due)
			for (const [at, draft] of drafts.entries()) {
				session.log.append(draft, piece.work.scope);
				if (at === 0 && typeof reason === "string") endBelow(session, `${piece.kind}/${piece.id}`, reason);
			}
		const again = due.filter(({ becomes }) => becomes === "running");
		// Set going only after the rewind is settled: until then only settlement appends here.
		void sessions.rewinding?.then(() => {
			for (const { piece } of again) relaunch(session, piece);
		});
	}
}
