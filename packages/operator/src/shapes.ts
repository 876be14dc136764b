/** The forms of what verbs see, do and give, as schemas: what comes from another process is parsed by them, and faces publish them. */
import { rewindModes } from "@reyn/runtime";
import { taskCommentSchema, taskSchema, taskStartSchema } from "@reyn/tasks";
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

/** Work that waits for a person to go on with it: each is resumed by its verb and its id. */
export const pausedShape = list(z.object({ kind: z.enum(["plan", "skill"]), id: z.string() }));

const counts = z.object({ conversation: seq, code: seq, other: seq, all: seq });

/** As `RewindPreview` of `@reyn/rewind-modes`. Its scope has the keys that it has, and no others. */
export const rewindPreview = z.object({
	mode: z.enum(rewindModes),
	target: seq,
	kind: z.enum(["undo", "fork_switch", "none"]),
	snappedFrom: seq.exactOptional(),
	tip: seq,
	scope,
	files: z.literal(true).exactOptional(),
	/** These three: absent is unknown, since a collection took records away. */
	affected: counts.exactOptional(),
	dropped: counts.exactOptional(),
	touches: z.object({ sessions: texts, runs: texts }).exactOptional(),
	summary: texts,
});

export const rewindResult = z.object({
	kind: z.enum(["reset", "note", "none"]),
	seq,
	target: seq,
	affected: counts.exactOptional(),
	dropped: counts.exactOptional(),
});

/** In US dollars, as a decimal number; `unknown` calls are not in it. */
export const costShape = z.object({ usd: z.string(), unknown: seq });

/** What calls have cost; of `uncounted` further ones nobody knows the tokens. */
export const paidForShape = z.object({ calls: seq, tokens: seq, cost: costShape, uncounted: seq.exactOptional() });

const extent = z.object({
	/** Absent: unknown, since a collection took records away; `messages` is then counted from the kept states. */
	records: seq.exactOptional(),
	turns: seq.exactOptional(),
	messages: seq.exactOptional(),
	sessions: texts,
	plans: texts,
	runs: texts,
	scripts: texts,
	others: texts.exactOptional(),
	/** What its calls have cost, which stays paid. Absent: unknown. */
	paid: paidForShape.exactOptional(),
});

/** What its calls beyond the target have cost, which is paid again. Absent: unknown. */
const again = z.object({
	turns: list(seq).exactOptional(),
	plans: texts,
	runs: texts,
	others: texts.exactOptional(),
	paid: paidForShape.exactOptional(),
	free: z.object({ calls: seq, tokens: seq }).exactOptional(),
});

const held = z.object({ all: seq, unfinished: seq });
const holding = z.object({
	...{ sessions: seq, messages: seq, questions: seq },
	...{ plans: held, runs: held, scripts: held, others: held },
});
const waiting = list(z.object({ seq, scope, text: z.string() }));

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
	relaunches: again,
	pauses: again,
	before: holding,
	after: holding,
	withdraws: z.object({ questions: waiting, messages: waiting }),
	config: list(z.object({ path: z.string(), change: z.enum(["made", "changed", "removed"]) })),
	grants: seq,
	tasks: texts.exactOptional(),
});

export const historyShape = z.object({
	tip: seq,
	/** The first record that is left; of moments before it those alone can be gone to that are not `gone`. */
	retainedFrom: seq,
	entries: list(
		z.object({
			seq,
			ts: z.number(),
			type: z.enum(["checkpoint", "reset", "note", "label", "genesis"]),
			move: z.enum(["rewind", "switch", "undo", "redo", "adopt"]).exactOptional(),
			title: z.string(),
			branch: z.string(),
			active: z.boolean(),
			labels: texts.exactOptional(),
			gone: z.literal(true).exactOptional(),
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
			gone: z.literal(true).exactOptional(),
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
	more: z.literal(true).exactOptional(),
	plans: list(z.object({ plan: z.string(), status: z.string(), goal: z.string() })),
	skills: list(z.object({ run: z.string(), status: z.string(), skill: z.string() })),
});

export const planShape = z.object({
	scope: session,
	plan: z.string(),
	goal: z.string(),
	status: z.enum(["running", "paused", "completed", "failed", "aborted", "rewound"]),
	/** Why it is paused, was given up, or is rewound. Absent: it is not, or nobody has said why. */
	why: z.string().exactOptional(),
	/** Of one that is rewound: the seq of the move, before which it was there. */
	leftBy: seq.exactOptional(),
	finished: seq,
	failed: seq,
	size: seq,
	calls: seq,
	tokens: seq,
	/** Of all answers in it and below, of tries before and steps under way too: what `plan.tokens` limits. Absent: none is known. */
	allTokens: seq.exactOptional(),
	/** How often that limit was extended. Absent: never. */
	extended: seq.exactOptional(),
	/** The model that it was begun with, and who waits for its answer. Absent: unknown, and nobody. */
	model: z.string().exactOptional(),
	chain: z.string().exactOptional(),
	/** Of all that was paid for it, steps that are not over too. */
	cost: costShape,
});

const contextParts = z.enum(["instructions", "goal", "line", "results", "tools"]);
/** The tokens are estimated. */
const contextPart = z.object({ characters: seq, tokens: seq });

/** Of a step of a plan; `needs` are the ids of the steps whose results it takes. */
export const planStepShape = z.object({
	id: z.string(),
	description: z.string(),
	/** The names of the tools that it may use. */
	tools: texts,
	needs: texts,
	/** The class of models that does it. Absent: the model of the plan. */
	model: z.string().exactOptional(),
	/** The most tokens, in and out, after which it fails. Absent: it names no limit of its own. */
	max_tokens: seq.exactOptional(),
	/** The steps that run again where the plan is resumed from this one. */
	again: texts,
	/** `interrupted_with_child`: it runs, its child is open, and nobody works on it now; it goes on with its plan. */
	status: z.enum(["pending", "running", "interrupted_with_child", "completed", "failed"]),
	/** From 0. */
	attempt: seq,
	reason: z.string().exactOptional(),
	/** The beginning of what it has found, a line. Absent: nothing, or it is lost. */
	beginning: z.string().exactOptional(),
	/** What it would be shown if it ran now, by part; `cut`: the steps of whose results it is shown the beginning. Absent: unknown. */
	context: z.object({ parts: z.record(contextParts, contextPart), cut: texts }).exactOptional(),
	/** What its last attempt that is over took: so much it may take again. Absent: unknown. */
	tokens: seq.exactOptional(),
	/** What those of `again` took, all together. Absent: of one it is unknown. */
	againTokens: seq.exactOptional(),
	/** The tokens of the recorded calls of an attempt that is not over: one that is open is not among them. Absent: none is recorded. */
	atLeast: seq.exactOptional(),
	/** From its start to its end, in milliseconds: with the time in which a person was asked, and between processes. Absent: it is not over, or unknown. */
	took: z.number().nonnegative().exactOptional(),
	/** The skill runs that it has called, those of tries before too; their tokens are in those of the step. Absent: none. */
	children: list(
		z.object({
			run: z.string(),
			skill: z.string(),
			status: z.enum(["running", "paused", "completed", "discarded"]),
			attempt: seq,
			/** Of its model calls. Absent: unknown. */
			tokens: seq.exactOptional(),
		}),
	).exactOptional(),
});

/** A step of a plan as it is proposed, and as an amendment has it. */
export const proposedStepShape = z.looseObject({
	id: z.string(),
	description: z.string(),
	tools: texts,
	depends_on: texts,
});

/** As `ResumePreview` of `@reyn/runtime`. */
export const resumePreviewShape = z.object({
	plan: z.string(),
	tip: seq,
	runs: list(z.object({ id: z.string(), tokens: seq.exactOptional() })),
	stays: texts,
	/** What all that run took last. Absent: of one it is unknown. */
	tokens: seq.exactOptional(),
});

/** A skill that there is. */
export const skillShape = z.object({
	name: z.string(),
	description: z.string(),
	/** The path of its file, or the name of its package. Absent: it is built in. */
	path: z.string().exactOptional(),
	/** SHA-256 of its text. */
	hash: z.string().exactOptional(),
});

/** A file or a package that gives no skill. */
export const skillProblemShape = z.object({
	name: z.string(),
	path: z.string(),
	code: z.string(),
	message: z.string(),
	line: z.int().exactOptional(),
	phase: z.string().exactOptional(),
});

export const skillRunShape = z.object({
	scope: session,
	run: z.string(),
	skill: z.string(),
	phase: z.string().exactOptional(),
	status: z.string(),
	/** Why it is paused. Absent: it is not, or a rewind has paused it. */
	why: z.string().exactOptional(),
	/** The model that it was begun with. Absent: unknown. */
	model: z.string().exactOptional(),
	/** The text of its skill has changed since it began. */
	isChanged: z.literal(true).exactOptional(),
	/** Why it cannot go on: its skill does not load. */
	waits: z.string().exactOptional(),
	/** The step of a plan, or the phase of a run, that it is a child of, and goes on with. Absent: it is none. */
	parent: z.object({ kind: z.string(), id: z.string(), step: z.string(), attempt: seq }).exactOptional(),
});

/** Calls of a model, and the tokens that they took. */
export const callsShape = z.object({ calls: seq, tokens: seq });

/** The models that work was begun with, and goes on with. */
export const modelChangedShape = z.object({ from: z.string(), to: z.string() });

const holder = z.union([session, z.object({ task: z.string() })]);

/** As `TaskEntry` of `@reyn/runtime`. */
export const taskEntryShape = z.object({
	task: taskSchema,
	assignee: holder.exactOptional(),
	requester: holder.exactOptional(),
	starts: taskStartSchema.exactOptional(),
});

export const taskShownShape = taskEntryShape.extend({ comments: list(taskCommentSchema) });

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

/** As `ScriptText` of `@reyn/runtime`. */
export const scriptText = z.object({ name: z.string(), source: z.string() });

/** A piece of work: `{ kind: "turn", id: "12" }`. */
export const workFrom = z.object({ kind: z.string(), id: z.string() });

/** As `OpenQuestion` of `@reyn/runtime`. */
export const questionShape = z.object({
	seq,
	scope,
	from: workFrom,
	question: z.string(),
	lines: texts.optional(),
	choices: texts.optional(),
	explained: z.union([z.string(), texts]).optional(),
});

/** As `PermissionRule` of `@reyn/runtime`. */
export const permissionRuleShape = z.object({
	effect: z.enum(["allow", "ask", "deny"]),
	action: z.string(),
	on: z.string().optional(),
	agent: z.string().optional(),
});

/** As `Grant` of `@reyn/runtime`. */
export const grantShape = z.object({
	seq,
	at: z.number(),
	action: z.string(),
	on: z.string(),
	agent: z.string(),
	session: z.string().exactOptional(),
	by: z.string(),
});

/** As `ScriptRunEntry` of `@reyn/runtime`. */
export const scriptRunShape = z.object({
	run: z.string(),
	scope: session,
	name: z.string(),
	script: z.string(),
	args: z.string(),
	model: z.string().optional(),
	answered: z.literal(true).optional(),
	reuse: z.enum(["prefix", "content"]).optional(),
	revision: z.int(),
	started: seq,
	at: z.number(),
	status: z.enum(["open", "completed", "failed"]),
	result: z.string().optional(),
	reason: z.object({ message: z.string(), code: z.string().optional(), detail: z.unknown().optional() }).optional(),
	questions: list(z.object({ seq, question: z.string(), choices: texts.exactOptional() })),
});

/** As `RunView` of `@reyn/runtime`, with its calls in their order. */
export const scriptViewShape = z.object({
	name: z.string(),
	status: z.enum(["open", "completed", "failed", "stopped", "waiting"]),
	reason: z.string().optional(),
	calls: list(
		z.object({
			type: z.literal("call"),
			lane: z.string(),
			at: seq,
			kind: z.string(),
			label: z.string(),
			state: z.enum(["calling", "hit", "live", "failed", "retrying", "in_doubt", "kept", "cut"]),
			tokens: seq.optional(),
			note: z.string().optional(),
			order: seq.optional(),
		}),
	),
	size: seq,
	saved: seq.optional(),
	paid: seq,
});

const divergence = z.object({
	expected: z.string(),
	got: z.string(),
	seq: seq.optional(),
	path: z.string(),
});

/** As `Explanation` of `@reyn/runtime`. */
export const explanationShape = z.object({
	calls: list(
		z.object({
			lane: z.string(),
			at: seq,
			kind: z.string(),
			label: z.string(),
			state: z.enum(["hit", "live", "again", "in_doubt", "failed"]),
			why: z.enum(["new", "changed", "after a change"]).optional(),
			differs: z.object({ field: z.string(), was: z.string().optional(), is: z.string().optional() }).optional(),
			seq: seq.optional(),
			saved: z.number(),
			guessed: z.number(),
			isGuess: z.literal(true).optional(),
			toPay: z.number().optional(),
			repeats: seq.optional(),
		}),
	),
	saved: z.number(),
	guessed: z.number(),
	toPay: z.number(),
	unknown: seq,
	percentFree: z.number().optional(),
	isWhole: z.boolean(),
	beyond: z.string().optional(),
	assumed: seq,
	unreached: list(z.object({ seq, label: z.string(), instead: z.string().exactOptional() })),
	divergences: list(divergence),
	refused: divergence.exactOptional(),
});

/** As `Verification` of `@reyn/runtime`. */
export const verificationShape = z.object({ explanation: explanationShape, divergences: list(divergence) });

const logState = z.enum(["sound", "torn", "damaged", "missing"]);

/** As `LogVerdict` of `@reyn/wal/tools`. */
export const logVerdictShape = z.object({
	directory: z.string(),
	state: logState,
	log: z.string().optional(),
	first: seq,
	acknowledged: seq,
	head: z.object({ segment: seq, seq, offset: seq }).optional(),
	segments: list(
		z.object({
			path: z.string(),
			sealed: z.boolean(),
			first: seq,
			last: z.int(),
			records: seq,
			bytes: seq,
			state: logState,
		}),
	),
	problems: list(
		z.object({
			path: z.string(),
			line: seq,
			offset: seq,
			seq,
			why: z.string(),
			expectedCrc: z.string().optional(),
			actualCrc: z.string().optional(),
			acknowledged: z.boolean(),
		}),
	),
	omitted: seq,
	torn: z.object({ path: z.string(), offset: seq, bytes: seq, seq, why: z.string() }).optional(),
});

/** As `LogStats` of `@reyn/wal/tools`. */
export const logStatsShape = z.object({
	log: z.string().optional(),
	segments: seq,
	records: seq,
	bytes: seq,
	padding: seq,
	first: seq,
	last: seq,
	from: z.number().optional(),
	to: z.number().optional(),
	recordsPerSecond: z.number().optional(),
	kinds: list(z.object({ kind: z.string(), records: seq, bytes: seq })),
});

/** As `RepairProposal` of `@reyn/wal/tools`. */
export const repairProposalShape = z.object({
	directory: z.string(),
	kind: z.enum(["nothing", "repair", "finish"]),
	why: z.string(),
	lost: list(z.tuple([seq, seq]).readonly()),
	accept: z.string(),
	keptAfter: seq,
	last: seq,
	changes: list(z.object({ path: z.string(), keptIn: z.string().optional() })),
});

const mode = z.int();

/** Of a file: how it differs. `more`: lines of the diff that are left out. */
export const differentFile = {
	path: z.string(),
	change: z.enum(["made", "changed", "removed", "unknown"]),
	modes: z.object({ before: mode, now: mode }).exactOptional(),
	diff: texts.exactOptional(),
	more: seq.exactOptional(),
	why: z.string().exactOptional(),
};

/** Calls that may have changed any file, and do not say which. */
export const uncovered = list(z.object({ name: z.string(), calls: seq }));
