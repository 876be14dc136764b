/** Makes the ports that steps run on from a session, such as `openSession` of @reyn/timetravel gives. */
import type { View } from "@reyn/snapshot";
import type { Appender, Seq } from "@reyn/wal";
import { firstBelow, journal, recall, recordedIn } from "./journal.ts";
import type { Using } from "./step.ts";

/** A session whose `view` has folded each record before `log.append` returns, with `journal` among its projections. */
export interface Steppable {
	readonly view: View;
	/** The present handle: steps keep the one that they were given, which refuses records once a rewind covers them. */
	readonly log: Appender;
	/** As `Session.adopt`. Where a log has no other lines of history, it does nothing. */
	adopt(start: Seq): Promise<void>;
}

export interface StepPorts
	extends Omit<
		Using,
		| "log"
		| "logId"
		| "recall"
		| "recordedIn"
		| "stepsIn"
		| "firstBelow"
		| "adopt"
		| "order"
		| "within"
		| "around"
		| "whenInDoubt"
	> {
	/** The log: its id is part of the idempotency keys. */
	readonly wal: { readonly id: string };
	/** Default: `retry`. */
	readonly whenInDoubt?: Using["whenInDoubt"];
}

/** The ports for lanes that begin now. Call it again after a rewind. */
export function stepPorts(session: Steppable, { wal, whenInDoubt = () => "retry", ...ports }: StepPorts): Using {
	return {
		...ports,
		log: session.log,
		logId: wal.id,
		recall: (step, program) => recall(session.view.get(journal), step, program),
		recordedIn: (lane) => recordedIn(session.view.get(journal), lane),
		stepsIn: (lane) => recordedIn(session.view.get(journal), lane),
		firstBelow: (lane) => firstBelow(session.view.get(journal), lane),
		adopt: (start) => session.adopt(start),
		whenInDoubt,
	};
}
