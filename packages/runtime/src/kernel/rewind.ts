/** What a rewind does to the sessions: afterwards they, and the work in them, are as the reset says. */
import type { Moved, Timeline } from "@reyn/timetravel";
import { isReynError, within } from "@reyn/wal";
import { RuntimeError } from "./errors.ts";
import type { Feature, Piece } from "./feature.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { settlement } from "./settle.ts";

/** What a person is told of a rewind whose work did not stop in time. */
export function asNotQuiet(error: unknown): unknown {
	if (!isReynError(error, "TIMETRAVEL_NOT_QUIET")) return error;
	const { still, cancelled } = error.detail as Record<"still" | "cancelled", readonly string[]>;
	return new RuntimeError(
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
