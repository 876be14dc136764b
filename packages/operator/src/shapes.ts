/** The forms of what verbs see, do and give, as schemas: what comes from another process is parsed by them, and faces publish them. */
import { rewindModes } from "@reyn/runtime";
import { z } from "zod";

export const seq = z.int().nonnegative();
export const scope = z.object({
	agent: z.string().exactOptional(),
	session: z.string().exactOptional(),
	run: z.string().exactOptional(),
});
export const session = z.object({ agent: z.string(), session: z.string() });
/** Nobody changes what a verb gives. */
export const list = <S extends z.ZodType>(of: S) => z.array(of).readonly();
export const texts = list(z.string());

const counts = z.object({ conversation: seq, code: seq, other: seq, all: seq });

/** As `RewindPreview` of `@reyn/rewind-modes`. Its scope has the keys that it has, and no others. */
export const rewindPreview = z.object({
	mode: z.enum(rewindModes),
	target: seq,
	kind: z.enum(["undo", "fork_switch", "none"]),
	snappedFrom: seq.exactOptional(),
	tip: seq,
	scope,
	affected: counts,
	dropped: counts,
	touches: z.object({ sessions: texts, runs: texts }),
	summary: texts,
});

export const rewindResult = z.object({
	kind: z.enum(["reset", "note", "none"]),
	seq,
	target: seq,
	affected: counts,
	dropped: counts,
});

const extent = z.object({
	records: seq,
	turns: seq,
	sessions: texts,
	plans: texts,
	runs: texts,
	scripts: texts,
	others: texts.exactOptional(),
});

/** As `BlastRadius` of `@reyn/runtime`. */
export const blastRadiusShape = z.object({
	leaves: extent,
	returns: extent,
	stays: extent,
	cancels: z.object({
		turns: list(seq),
		plans: texts,
		runs: texts,
		scripts: texts,
		others: texts.exactOptional(),
	}),
	interrupts: list(seq),
	relaunches: z.object({ plans: texts, runs: texts, others: texts.exactOptional(), calls: z.int(), tokens: z.int() }),
	pauses: z.object({ plans: texts, runs: texts, others: texts.exactOptional() }),
});

export const historyShape = z.object({
	tip: seq,
	entries: list(
		z.object({
			seq,
			ts: z.number(),
			type: z.enum(["checkpoint", "reset", "note", "label", "genesis"]),
			title: z.string(),
			branch: z.string(),
			active: z.boolean(),
			labels: texts.exactOptional(),
		}),
	),
	branches: list(
		z.object({
			id: seq,
			name: z.string(),
			parent: z.string().exactOptional(),
			forkedAt: seq,
			last: seq,
			active: z.boolean(),
			labels: texts.exactOptional(),
		}),
	),
});

export const stateShape = z.object({
	seq,
	kind: z.string(),
	branch: z.string(),
	active: z.boolean(),
	hash: z.string(),
	messages: list(z.object({ seq, who: z.string(), text: z.string() })),
	plans: list(z.object({ plan: z.string(), status: z.string(), goal: z.string() })),
	skills: list(z.object({ run: z.string(), status: z.string(), skill: z.string() })),
});

export const planShape = z.object({
	scope: session,
	plan: z.string(),
	goal: z.string(),
	status: z.string(),
	finished: seq,
	size: seq,
	calls: seq,
	tokens: seq,
});

export const skillRunShape = z.object({
	scope: session,
	run: z.string(),
	skill: z.string(),
	phase: z.string().exactOptional(),
	status: z.string(),
});

/** As `Collection` of `@reyn/runtime`. */
export const collectionShape = z.object({
	retainedFrom: seq,
	was: seq,
	first: seq,
	heldBy: z
		.union([
			z.object({ seq, projection: z.string(), scope, label: z.string().exactOptional() }),
			z.object({ seq, kind: z.string(), scope }),
			z.object({ seq, unknown: z.string(), scope }),
		])
		.exactOptional(),
	labels: list(z.object({ seq, name: z.string() })),
	kept: list(seq),
	snapshots: seq,
	chunks: seq,
	artifacts: z.object({
		files: seq,
		bytes: seq,
		undecided: z.object({ seq, kind: z.string() }).exactOptional(),
	}),
});
