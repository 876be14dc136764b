/** What steps run on, of a session whose state folds what its log takes: `openSession` of @reyn/timetravel gives one. */
import type { View } from "@reyn/snapshot";
import type { Appender } from "@reyn/wal";
import { firstBelow, journal, recall, recordedIn } from "./journal.ts";
import type { Using } from "./step.ts";

/** Its `view` has each record that `log` takes before `append` returns, and `journal` is among its projections. */
export interface Steppable {
	readonly view: View;
	/** Of now: the steps keep the one that it is when they are given it. */
	readonly log: Appender;
}

export interface StepPorts
	extends Omit<
		Using,
		"log" | "logId" | "recall" | "recordedIn" | "stepsIn" | "firstBelow" | "order" | "within" | "around" | "whenInDoubt"
	> {
	/** The log below, which names the steps. */
	readonly wal: { readonly id: string };
	/** Default: `retry`. */
	readonly whenInDoubt?: Using["whenInDoubt"];
}

/** For lanes that begin now. After a rewind, ask anew. */
export function stepPorts(session: Steppable, { wal, whenInDoubt = () => "retry", ...ports }: StepPorts): Using {
	return {
		...ports,
		log: session.log,
		logId: wal.id,
		recall: (step, program) => recall(session.view.get(journal), step, program),
		recordedIn: (lane) => recordedIn(session.view.get(journal), lane),
		stepsIn: (lane) => recordedIn(session.view.get(journal), lane),
		firstBelow: (lane) => firstBelow(session.view.get(journal), lane),
		whenInDoubt,
	};
}
