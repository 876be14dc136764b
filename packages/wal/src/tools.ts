/** For looking after a log in a directory: `@reyn/wal/tools`. */
export {
	type ApplyRepairOptions,
	applyRepair,
	type FileChange,
	proposeRepair,
	type RepairProposal,
} from "./file/repair.ts";
export { type KindStats, type LogStats, statLog } from "./file/stats.ts";
export {
	type LogProblem,
	type LogState,
	type LogVerdict,
	type SegmentVerdict,
	type TornNote,
	type VerifyOptions,
	verifyLog,
} from "./file/verify.ts";
