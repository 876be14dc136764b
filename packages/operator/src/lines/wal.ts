/** What a log is worth, what it consists of, its records, and what a repair of it costs, as lines for people. */

import { counted } from "@reyn/rewind-modes/internal";
import type { WalRecord } from "@reyn/wal";
import type { z } from "zod";
import type { Say } from "../say.ts";
import type { logStatsShape, logVerdictShape, repairProposalShape } from "../shapes.ts";
import { asJson, oneLine } from "../text.ts";

type Verdict = z.infer<typeof logVerdictShape>;

export function verdictLines(verdict: Verdict, say: Say): readonly string[] {
	const { directory, state, segments, problems, omitted, torn, first, acknowledged } = verdict;
	const records = segments.reduce((sum, segment) => sum + segment.records, 0);
	return [
		...segments.map(
			({ path, first, last, records, bytes, state }) =>
				`${state.padEnd(8)} ${oneLine(nameOf(path))}  seq ${first}..${last}  ${counted(records, "record")}  ${bytes} bytes`,
		),
		...problems.map(problemLine),
		...(omitted > 0 ? [`and ${omitted} more`] : []),
		...(first > 1 ? [`note: the log begins at seq ${first}; nothing says what became of those before`] : []),
		...(torn
			? [
					`note: ${torn.bytes} bytes after seq ${torn.seq - 1} are not whole (${oneLine(torn.why)}). Nothing was promised of them: a write is under way, or a crash cut it, and the next start sets it aside`,
				]
			: []),
		`${state}: ${counted(records, "record")} in ${directory}, acknowledged up to seq ${acknowledged}`,
		...(state === "damaged" || state === "missing"
			? [`restore the files from a copy; or see what giving the damage up would cost: ${say`wal repair`}`]
			: []),
	];
}

function problemLine({
	path,
	line,
	offset,
	seq,
	why,
	expectedCrc,
	actualCrc,
	acknowledged,
}: Verdict["problems"][number]): string {
	const crc = expectedCrc === undefined ? "" : ` (crc ${expectedCrc} expected, ${oneLine(actualCrc ?? "", 12)} found)`;
	const where = line > 0 ? `, line ${line}, byte ${offset}` : "";
	return `✗ ${oneLine(nameOf(path))}${where}, seq ${seq}: ${oneLine(why)}${crc}${acknowledged ? "" : "; not acknowledged"}`;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

export function statLines(stats: z.infer<typeof logStatsShape>): readonly string[] {
	const { log, segments, records, bytes, padding, first, last, from, to, recordsPerSecond, kinds } = stats;
	const time = (at: number | undefined): string => (at === undefined ? "never" : new Date(at).toISOString());
	const width = Math.max(4, ...kinds.map(({ kind }) => oneLine(kind, 40).length));
	return [
		`log ${log ?? "unknown"}`,
		`${counted(records, "record")}, seq ${first}..${last}, in ${counted(segments, "segment")}: ${bytes} bytes, of which ${padding} are space ahead`,
		`from ${time(from)} to ${time(to)}`,
		...(recordsPerSecond === undefined ? [] : [`the newest at ${recordsPerSecond.toFixed(1)} a second`]),
		...kinds.map(({ kind, records, bytes }) => `  ${oneLine(kind, 40).padEnd(width)}  ${records}  ${bytes} bytes`),
	];
}

export function recordLine({ seq, ts, kind, scope, data }: WalRecord): string {
	const where = Object.values(scope).join("/");
	const time = new Date(ts).toISOString();
	return oneLine(`#${seq}  ${time}  ${kind}${where ? `  ${where}` : ""}  ${asJson(data)}`, 160);
}

type Proposal = z.infer<typeof repairProposalShape>;

export function proposalLines({ kind, why, lost, keptAfter, changes }: Proposal): readonly string[] {
	if (kind === "nothing") return [`nothing to repair: ${why}`];
	const count = lost.reduce((sum, [from, to]) => sum + to - from + 1, 0);
	return [
		kind === "finish" ? `a repair was not finished: ${oneLine(why, 200)}` : `damaged: ${oneLine(why, 200)}`,
		count > 0 ? `lost: ${rangesText(lost)}: ${counted(count, "record")}` : "lost: no record",
		...(keptAfter > 0
			? [`kept: ${counted(keptAfter, "record")} after seq ${lost[0]?.[0]}, under the seqs that they have`]
			: []),
		...changes.map(({ path, keptIn }) =>
			keptIn === undefined
				? `made: ${oneLine(nameOf(path))}`
				: `replaced: ${oneLine(nameOf(path))}, kept as ${oneLine(nameOf(keptIn))}`,
		),
	];
}

/** As many as fit a few lines; `--json` has them all. */
const MAX_RANGES = 20;

function rangesText(ranges: Proposal["lost"]): string {
	const shown = ranges
		.slice(0, MAX_RANGES)
		.map(([from, to]) => (from === to ? `seq ${from}` : `seqs ${from} to ${to}`));
	return [...shown, ...(ranges.length > MAX_RANGES ? [`and ${ranges.length - MAX_RANGES} more`] : [])].join(", ");
}

/** How what was proposed is done. */
export function howToRepair({ kind, accept }: Proposal, say: Say): readonly string[] {
	if (kind === "nothing") return [];
	return [
		"nothing was changed. A copy of the directory is worth more than any repair; without one, accept the loss with:",
		say`wal repair --apply --accept-loss ${accept}`,
	];
}
