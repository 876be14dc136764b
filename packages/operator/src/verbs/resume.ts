/** `resume`: go on with all that was in flight. */
import type { Restored } from "@reyn/runtime";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { goesOn, pausedWork } from "../lines/paused.ts";
import { workVerb } from "../verb.ts";

/** A child goes on with the work around it. */
const runningOf = (plans: Restored["plans"], runs: Restored["runs"]) =>
	[...plans, ...runs.filter(({ parent }) => !parent)].filter(({ status }) => status === "running");

export const resume = workVerb({
	name: "resume",
	summary: "go on with everything that was in flight, and deliver the answers",
	params: {},
	example: "",
	begun: z.object({ goesOn: z.boolean() }),
	// What would go on is more than what is known to be durable.
	at: "as recovered",
	async check(runtime, _given, say) {
		const { turns, plans, runs, undelivered } = runtime.restored();
		const running = runningOf(plans, runs);
		// A move that was cut is finished by whoever opens the log for work.
		const cut = runtime.timeline.unsettled();
		const waiting = runtime.tasks.pending();
		if (turns.length + running.length + undelivered.length + cut.length + waiting.length > 0) return;
		const paused = pausedWork(runtime);
		const verbs = paused.map((each) => goesOn(each, say));
		const why = paused.length > 0 ? ` but what is paused; go on with: ${verbs.join(", ")}` : "";
		throw new OperatorError("OPERATOR_NOT_FOUND", `nothing is in flight${why}`, { paused });
	},
	async begin(runtime) {
		const { turns, plans, runs, undelivered } = runtime.restored();
		const running = runningOf(plans, runs);
		const waiting = runtime.tasks.pending();
		runtime.resume();
		return { goesOn: turns.length + running.length + undelivered.length + waiting.length > 0 };
	},
	lines: ({ goesOn }) => [goesOn ? "it goes on" : "nothing is unfinished"],
});
