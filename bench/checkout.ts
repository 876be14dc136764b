/** What it costs to go back: in a long log, after many rewinds, as one session among many. */

import { judge } from "./checkout/goals.ts";
import { TURN_RECORDS } from "./checkout/log.ts";
import { activeRowOf, type Report, resetsRowOf, sessionRowsOf, textOf } from "./checkout/report.ts";
import { measureActive, measureResets, measureSession } from "./checkout/rounds.ts";
import { machine } from "./machine.ts";
import { inScratch } from "./scratch.ts";

export interface CheckoutOptions {
	/** Of each of the two long logs. */
	readonly records: number;
	/** Among which the one is that is measured. */
	readonly sessions: number;
	readonly rounds: number;
	readonly json: boolean;
}

export async function benchCheckout({ records, sessions, rounds, json }: CheckoutOptions): Promise<void> {
	const long = { sessions: 1, turns: Math.ceil(records / TURN_RECORDS) };
	const shared = { sessions, turns: Math.ceil(long.turns / sessions) };
	await inScratch(async (directory, fileSystem) => {
		const resets = (await measureResets(directory, long.turns, rounds)).map(resetsRowOf);
		const bySession = sessionRowsOf(await measureSession(directory, shared, rounds));
		const active = (await measureActive(directory, rounds)).map(activeRowOf);
		const goals = judge(resets, bySession, active);
		const report: Report = {
			bench: "checkout",
			machine: machine(),
			fileSystem,
			rounds,
			long,
			shared,
			resets,
			sessions: bySession,
			active,
			goals,
		};
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}
