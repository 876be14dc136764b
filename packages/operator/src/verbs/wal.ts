/** `wal verify | stats`: the log itself. */
import { statLines, verdictLines } from "../lines/wal.ts";
import { logStatsShape, logVerdictShape } from "../shapes.ts";
import { filesVerb } from "../verb.ts";

export const walVerify = filesVerb({
	name: "wal verify",
	summary: "check every line of the log: are acknowledged records damaged, or missing?",
	params: {},
	example: "",
	result: logVerdictShape,
	async examine(log) {
		const { verifyLog } = await import("@reyn/wal/tools");
		return verifyLog(log);
	},
	fault: ({ state }) => (state === "damaged" || state === "missing" ? "WAL_CORRUPT" : undefined),
	lines: verdictLines,
});

export const walStats = filesVerb({
	name: "wal stats",
	summary: "what the log consists of: kinds, bytes, segments, times",
	params: {},
	example: "",
	result: logStatsShape,
	async examine(log) {
		const { statLog } = await import("@reyn/wal/tools");
		return statLog(log);
	},
	lines: statLines,
});
