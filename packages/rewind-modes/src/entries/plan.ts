/** A plan: what a rewind of one process would do, in numbers and in words. */
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import { RewindError } from "../errors.ts";
import { meaningOf, type RewindMode } from "../modes.ts";
import type { Counts } from "../preview-rewind.ts";
import { rewindNote } from "../records.ts";
import type { Counted } from "./counting.ts";
import { type Entry, REWIND } from "./entry.ts";

export interface EntriesPlan {
	/** The id of the journal that this is a plan of. */
	readonly journal: string;
	readonly processId: string;
	/** The target is exclusive: the state just before this entry. */
	readonly beforeEntry: string;
	readonly mode: RewindMode;
	/** When that entry was appended, in milliseconds since 1970. */
	readonly at: number;
	/** The entries of the process that count now, rewinds aside. */
	readonly total: number;
	/** Those among them from the target on, whatever the mode: all, and by facet. */
	readonly affected: Counts;
	/** Those that this mode takes back: of the affected, and of the entries before them, those that did not count just before the target. */
	readonly dropped: Counts;
	/** Entries that an earlier rewind took back, and that count again after this one. */
	readonly restored: Counts;
	/** The types among the affected that are of neither facet: `both` alone takes them back. */
	readonly unclassified: readonly string[];
	/** The last seq of the journal when this was planned. */
	readonly tip: Seq;
	/** For people: one line each. */
	readonly summary: readonly string[];
}

const count = z.int().nonnegative();
const counts = z.strictObject({ conversation: count, code: count, other: count, all: count });

const planShape = z.strictObject({
	journal: z.string(),
	processId: z.string(),
	beforeEntry: z.string(),
	mode: z.string() as unknown as z.ZodType<RewindMode>,
	at: z.number(),
	total: count,
	affected: counts,
	dropped: counts,
	restored: counts,
	unclassified: z.array(z.string()),
	tip: count,
	summary: z.array(z.string()),
});

/**
 * Checks the form of a plan, which may have come as JSON from another process.
 *
 * @throws RewindError `REWIND_NOT_PREVIEWED`
 */
export function parsePlan(given: EntriesPlan): EntriesPlan {
	const read = planShape.safeParse(given);
	if (read.success) return read.data;
	const where = read.error.issues.map(({ path }) => path.join(".") || "all of it").join(", ");
	throw new RewindError(
		"REWIND_NOT_PREVIEWED",
		`this is no plan of a rewind: ${where} is not as \`plan\` gives it; nothing was written. Give what \`plan\` gave, unchanged`,
		{ where },
	);
}

export function summaryOf(
	{ mode, total, affected, dropped, restored, unclassified }: Omit<EntriesPlan, "summary">,
	{ id, type, at }: Pick<Entry, "id" | "type" | "at">,
): readonly string[] {
	const back =
		restored.all > 0
			? `, and ${restored.all} that ${isOrAre(restored.all, "was", "were")} left behind before ${isOrAre(restored.all, "comes", "come")} back`
			: "";
	const neither =
		affected.other > 0
			? [
					`${affected.other} (${unclassified.join(", ")}) ${isOrAre(affected.other, "is", "are")} neither conversation nor agent state: only both takes ${isOrAre(affected.other, "it", "them")} back`,
				]
			: [];
	return [
		`${mode}: ${meaningOf(mode).says}`,
		`from ${id} on (${type}, ${new Date(at).toISOString()}): ${affected.all} of ${total} entries (${affected.conversation} of conversation, ${affected.code} of agent state, ${affected.other} other)`,
		`${dropped.all === 0 ? "all stay" : `${dropped.all} ${isOrAre(dropped.all, "is", "are")} left behind`}${back}`,
		...neither,
		"other processes, and files, are not touched",
	];
}

/** What the conversation is told of an interval that `summarize` keeps: what it holds, by type, and when that was. */
export function noteText({ beforeEntry }: EntriesPlan, { counts, byType, span }: Counted): string {
	const types = Object.entries(byType).map(([type, each]) => `${each} ${type === rewindNote.kind ? REWIND : type}`);
	const [first, last] = (span ?? []).map((at) => new Date(at).toISOString());
	const there =
		first === undefined
			? "there was nothing"
			: `there ${isOrAre(counts.all, "was 1 entry", `were ${counts.all} entries`)} (${types.join(", ")}), from ${first} to ${last}`;
	return `From entry ${beforeEntry} on ${there}. What was tried is kept; go on from the situation just before that entry.`;
}

const isOrAre = (count: number, one: string, more: string): string => (count === 1 ? one : more);
