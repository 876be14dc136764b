/** What runs now, or waits: read again whenever the log has moved. */
import * as asks from "../server/asks.ts";
import { read } from "./api.ts";
import { isRead, tip } from "./log.ts";
import { reading } from "./reading.ts";
import { session } from "./session.ts";
import type { Status } from "./shapes.ts";

interface Work extends Omit<Status, "turns"> {
	/** The questions of the session that have no answer yet. */
	readonly open: readonly number[];
}

export const work = reading<Work>(() => {
	if (!isRead.value) return undefined;
	return {
		key: String(tip.value),
		async read(signal) {
			const { turns, ...found } = await read<Status>(asks.status.verb, asks.status.given, signal);
			const own = turns.filter(({ scope }) => `${scope.agent}/${scope.session}` === session.value);
			return { ...found, open: own.map(({ turn }) => turn) };
		},
	};
});
