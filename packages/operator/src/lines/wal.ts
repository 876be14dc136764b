/** What a log is worth, and what it consists of, as lines for people. */
import type { z } from "zod";
import type { Say } from "../say.ts";
import type { logStatsShape, logVerdictShape } from "../shapes.ts";
import { oneLine } from "../text.ts";

type Verdict = z.infer<typeof logVerdictShape>;

export function verdictLines(verdict: Verdict, say: Say): readonly string[] {
	const { directory, state, segments, problems, omitted, torn, first, acknowledged } = verdict;
	const records = segments.reduce((sum, segment) => sum + segment.records, 0);
	return [
		...segments.map(
			({ path, first, last, records, bytes, state }) =>
				`${state.padEnd(8)} ${oneLine(nameOf(path))}  seq ${first}..${last}  ${records} records  ${bytes} bytes`,
		),
		...problems.map(problemLine),
		...(omitted > 0 ? [`and ${omitted} more`] : []),
		...(first > 1 ? [`note: the log begins at seq ${first}; nothing says what became of those before`] : []),
		...(torn
			? [
					`note: ${torn.bytes} bytes after seq ${torn.seq - 1} are not whole (${oneLine(torn.why)}). Nothing was promised of them: a write is under way, or a crash cut it, and the next start sets it aside`,
				]
			: []),
		`${state}: ${records} records in ${directory}, acknowledged up to seq ${acknowledged}`,
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
		`${records} records, seq ${first}..${last}, in ${segments} segments: ${bytes} bytes, of which ${padding} are space ahead`,
		`from ${time(from)} to ${time(to)}`,
		...(recordsPerSecond === undefined ? [] : [`the newest at ${recordsPerSecond.toFixed(1)} a second`]),
		...kinds.map(({ kind, records, bytes }) => `  ${oneLine(kind, 40).padEnd(width)}  ${records}  ${bytes} bytes`),
	];
}
