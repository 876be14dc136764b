/** `events`: the audit trail, which tells what happened for longer than the log does. */
import { dirname } from "node:path";
import { layoutOf, type TrailQuery, TrailReader, trailDirectory } from "@reyn/runtime";
import { z } from "zod";
import { trailLines, unreadLines } from "../lines/trail.ts";
import { option } from "../param.ts";
import { list, seq } from "../shapes.ts";
import { filesVerb } from "../verb.ts";

const MOST = 10_000;

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `30m`, `2h` or `7d` ago, a date with or without a time, or a seq as `#142`. */
const sinceText = z.string().transform((text, context): Pick<TrailQuery, "since" | "maxAge" | "from"> => {
	const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
	if (count !== undefined) return { maxAge: Number(count) * units[unit as keyof typeof units] };
	const [, from] = /^#(\d{1,15})$/.exec(text) ?? [];
	if (from !== undefined) return { from: Number(from) };
	const since = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
	if (!Number.isNaN(since)) return { since };
	context.addIssue("expected 30m, 2h, 7d, a date as in 2026-11-27 or 2026-11-27T14:00Z, or a seq as in #142");
	return z.NEVER;
});

const kindsText = z
	.string()
	.regex(/^[^,\s]+(,[^,\s]+)*$/, "expected kinds with commas between them, as in turn,tool")
	.transform((text): readonly string[] => text.split(","));

const line = z.looseObject({
	v: z.literal(1),
	at: z.string(),
	seq,
	kind: z.string(),
	what: z.string(),
	scope: z.object({
		agent: z.string().exactOptional(),
		session: z.string().exactOptional(),
		run: z.string().exactOptional(),
	}),
	log: z.string(),
});

/** The audit trail beside a log. @param log the directory of the log */
export const trailOf = (log: string): TrailReader => new TrailReader(trailDirectory(layoutOf(dirname(log)).events));

export const events = filesVerb({
	name: "events",
	summary: "the audit trail: what happened, and who allowed it; it stays when gc takes the log away",
	params: {
		since: option("when", "30m, 2h, 7d, a date, or #seq: nothing older", sinceText.optional()),
		kind: option("kinds", "only these: turn,tool,permission,move …", kindsText.optional()),
		n: option("count", "the newest so many", z.coerce.number().int().positive().max(MOST).default(50)),
	},
	example: "--since 2h --kind permission,tool",
	result: z.object({
		/** Oldest first. */
		lines: list(line),
		/** Lines that cannot be read. */
		unread: list(z.object({ file: z.string(), line: seq })),
		/** Is nothing older wanted? */
		isAll: z.boolean(),
	}),
	examine: (log, { since, kind, n }) => trailOf(log).newest({ ...since, kinds: kind }, n),
	lines: ({ lines, unread, isAll }, say, { n }) => [
		...(isAll ? [] : [`older ones: ${say`events -n ${String(Math.min(MOST, n * 10))}`}`]),
		...trailLines(lines),
		...unreadLines(unread),
		...(lines.length + unread.length === 0 ? ["nothing is there"] : []),
	],
});
