/** `records`: the log itself, record by record, newest first, on whatever line each is. */
import type { Runtime } from "@reyn/runtime";
import { type Seq, scopeKey, type WalRecord, within } from "@reyn/wal";
import { z } from "zod";
import { sessionText } from "../lines/scope.ts";
import { when } from "../lines/when.ts";
import { option, text } from "../param.ts";
import { list, scope, seq } from "../shapes.ts";
import { asJson, oneLine } from "../text.ts";
import { readVerb } from "../verb.ts";

const MOST = 1000;
/** So many are read in one go, oldest first, as a log is: few where the first will do, and more each time that they do not. */
const [SHORTEST, LONGEST] = [64, 4096];
/** After so many that were looked through the answer is given, whatever was found. */
const LOOKS = 20_000;
/** More of a record is in `show --entry`. */
const WIDTH = 400;

const recordRow = z.object({ seq, ts: z.number(), kind: z.string(), scope, active: z.boolean(), data: z.string() });

export const records = readVerb({
	name: "records",
	summary: "the records of the log as they stand there, newest first, on all lines of history",
	params: {
		words: text("words", "only those that have all of them; capitals do not matter", z.string().optional()),
		kind: option("kind", "only of this kind; step_ is each that begins so", z.string().min(1).optional()),
		session: option("session", "only those of a session", z.string().pipe(sessionText).optional()),
		before: option("seq", "only what is older", z.coerce.number().int().nonnegative().optional()),
		n: option("count", `how many, at most ${MOST}`, z.coerce.number().int().positive().max(MOST).default(50)),
	},
	example: "--kind step_ -n 20",
	result: z.object({
		tip: seq,
		/** What is older comes before this seq. Absent: nothing is. */
		next: seq.exactOptional(),
		/** Their data as JSON, cut where it is long. */
		records: list(recordRow),
	}),
	async read(runtime, { words = "", kind = "", session, before, n }) {
		const { wal, timeline } = runtime;
		const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
		const oldest = Math.max(wal.first, timeline.retainedFrom);
		const found: z.infer<typeof recordRow>[] = [];
		let end: Seq = Math.min(before ?? Number.POSITIVE_INFINITY, wal.tip + 1);
		let length = Math.max(SHORTEST, n);
		for (let looked = 0; found.length < n && end > oldest && looked < LOOKS; looked += length) {
			const stretch = await stretchBefore(end, { oldest, length }, runtime, kind);
			length = Math.min(2 * length, LONGEST);
			for (const record of stretch.records.reverse()) {
				if (found.length === n) break;
				end = record.seq;
				if (!isOf(record.kind, kind) || (session && !within(record.scope, session))) continue;
				const data = asJson(record.data);
				if (!wanted.every((each) => `${record.kind} ${data}`.toLowerCase().includes(each))) continue;
				found.push({
					...{ seq: record.seq, ts: record.ts, kind: record.kind, scope: record.scope },
					active: timeline.lineage.isActive(record),
					data: oneLine(data, WIDTH),
				});
			}
			if (found.length < n) end = stretch.from;
		}
		return { tip: wal.tip, ...(end > oldest && { next: end }), records: found };
	},
	lines({ records, next }, say) {
		return [
			...records.map(({ seq, ts, kind, scope, active, data }) =>
				[
					`#${seq}`,
					when(ts),
					oneLine(kind, 40),
					oneLine(scopeKey(scope), 60),
					...(active ? [] : ["(abandoned)"]),
					oneLine(data, 120),
				].join("  "),
			),
			...(next === undefined ? [] : [`older ones: ${say`records --before ${String(next)}`}`]),
		];
	},
});

const isOf = (kind: string, wanted: string): boolean =>
	kind === wanted || ((wanted === "" || wanted.endsWith("_")) && kind.startsWith(wanted));

/** The records right before a seq. Of a kind that nobody asked for the data is not read. */
async function stretchBefore(
	end: Seq,
	{ oldest, length }: { readonly oldest: Seq; readonly length: number },
	{ wal }: Runtime,
	kind: string,
): Promise<{ readonly from: Seq; readonly records: WalRecord[] }> {
	const from = Math.max(oldest, end - length);
	const records: WalRecord[] = [];
	const dataOf = (each: string): boolean => isOf(each, kind);
	for await (const record of wal.read({ after: from - 1, through: end - 1, dataOf })) records.push(record);
	return { from, records };
}
