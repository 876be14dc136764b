/** `undo` and `redo`: take the newest move of a person back, and make it again. */

import { blastRadius, type FilesPreview, type Runtime } from "@reyn/runtime";
import { label, reset } from "@reyn/timetravel";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import {
	filesAlongLines,
	filesDoneLines,
	filesFault,
	filesPreview,
	filesRestored,
	theirsParam,
} from "../files-along.ts";
import { radiusLines } from "../lines/blast-radius.ts";
import { pausedLines, pausedWork } from "../lines/paused.ts";
import { sidesOf } from "../lines/sides.ts";
import { when } from "../lines/when.ts";
import { type ToldMove, toldMove, toldMoves } from "../moves.ts";
import { flag, option } from "../param.ts";
import type { Say } from "../say.ts";
import { blastRadiusShape, grantShape, list, pausedShape, seq, texts } from "../shapes.ts";
import { reportState } from "../state-report.ts";
import { tasksAlong, tasksAlongLines, tasksAsOf, tasksDoneLines } from "../tasks-along.ts";
import { writeVerb } from "../verb.ts";
import { grantText } from "./permission.ts";
import { newest } from "./ref.ts";

/** `moves`: all, the newest first; or where `to` is there those down to it. */
const seen = z.object({
	...{ tip: seq, move: toldMove.exactOptional(), moves: list(toldMove).exactOptional(), to: seq.exactOptional() },
	/** The plans that are paused at a limit. */
	waits: texts.exactOptional(),
	/** What was granted for good: no move either. */
	grants: list(grantShape).exactOptional(),
	files: filesPreview.exactOptional(),
	/** Absent: they stay. */
	tasks: tasksAlong.exactOptional(),
	/** Of one move, or of all history: what taking it back touches, and costs. */
	blastRadius: blastRadiusShape.exactOptional(),
});
type Seen = z.infer<typeof seen>;

const stepVerb = (name: "undo" | "redo", summary: string) =>
	writeVerb({
		name,
		summary,
		params: {
			list: flag("all that could be, newest first, and nothing else", z.boolean().default(false)),
			n: newest("of these only the newest so many"),
			to: option(
				"seq",
				"the number of one further back, as the list has it: all down to that one, one after the other",
				z.coerce.number("a number, such as 12").int().positive().optional(),
			),
			...theirsParam,
		},
		example: "",
		seen,
		done: z.object({
			...{ seq, of: seq, target: seq.exactOptional(), hash: z.string(), paused: pausedShape },
			/** Of several, all of them; and what the other verb takes to have them back in one go. */
			...{ all: list(seq).exactOptional(), back: seq.exactOptional() },
			files: filesRestored.exactOptional(),
			tasks: tasksAlong.exactOptional(),
		}),
		async look(runtime, { list: all, n, to, theirs }, isPreview): Promise<Seen> {
			if (n !== undefined && !all)
				throw new OperatorError(
					"OPERATOR_ARGS",
					`${name}: -n says how many --list names; to ${name} several, give --to with the number of the last of them`,
				);
			// First: what comes while it is looked up was not seen.
			const { tip } = runtime.wal;
			const isAny = all || to !== undefined;
			const moves = await toldMoves(runtime, name === "undo" ? "past" : "future", isAny ? (all ? n : undefined) : 1);
			const waits = runtime
				.restored()
				.plans.flatMap(({ plan, why }) => (why === undefined || runtime.findPlan(plan).by ? [] : [plan]));
			if (all) {
				const { grants } = await runtime.permissions();
				return { tip, moves, waits, ...(name === "undo" && grants.length > 0 && { grants }) };
			}
			const [move] = moves;
			if (to !== undefined) {
				const taken = moves.slice(0, moves.findIndex((each) => each.seq === to) + 1);
				if (!move || taken.length === 0) throw noMove(name, to, moves);
				const along = await alongWith(runtime, name, taken, theirs);
				return { tip, move, moves: taken, to, waits, ...along };
			}
			if (move) {
				const along = await alongWith(runtime, name, [move], theirs);
				return { tip, move, waits, ...along };
			}
			// It says where else one can go.
			if (!isPreview) await runtime[name]("user", { expect: tip });
			return { tip };
		},
		sides: (seen) =>
			seen.blastRadius ? sidesOf(seen.blastRadius, seen.files, tasksAsOf(seen.tasks, targetOf(seen))) : [],
		nothing({ move, moves = [], waits = [], grants = [] }, say) {
			if (move) return undefined;
			const found = moves.length > 0 ? moves.map((each) => textOf(each)) : [`there is nothing to ${name}`];
			return [...found, ...noMoves(waits, say), ...noMovesEither(grants, say)];
		},
		shown: ({ move, moves = [], to, waits = [], files, tasks, blastRadius: radius }, say) =>
			move
				? [
						...(to === undefined
							? [`${name} ${textOf(move)}`]
							: [`${name} ${counted(moves)}:`, ...moves.map((each) => `  ${textOf(each)}`)]),
						...(radius
							? radiusLines(radius, targetOf({ move, moves }), tasks)
							: tasksAlongLines(tasks, targetOf({ move, moves }))),
						...filesAlongLines(
							files,
							to === undefined ? say([`${name} --theirs`]) : say([`${name} --to `, " --theirs"], String(to)),
						),
						...noMoves(waits, say),
					]
				: [],
		// What one is stands in what is shown.
		question: (seen) => `${name} ${seen.to === undefined ? `#${seen.move?.seq}` : whichOf(seen)}?`,
		async act(runtime, { move, to, tip: expect, files }, actor) {
			const confirmed = { of: move?.seq ?? 0, expect, ...(to !== undefined && { to }) };
			const done = await runtime[name](actor, { ...confirmed, ...(files && { theirs: files.theirs }) });
			const { hash } = await reportState(runtime, done.seq);
			const { past, future } = await runtime.timeline.moves();
			const back = done.all && (name === "undo" ? future : past).at(-done.all.length)?.seq;
			return { ...done, ...(back !== undefined && { back }), hash, paused: pausedWork(runtime) };
		},
		fault: (done, seen) => filesFault(done.files, seen.files),
		isDoneBy(record, { move, to }, actor) {
			if (!reset.is(record) && !label.is(record)) return false;
			const { undoes, redoes, actor: who } = record.data;
			return who === actor && (name === "undo" ? undoes : redoes) === (to ?? move?.seq);
		},
		lines: ({ hash, paused, files, tasks, back }, say, seen) => [
			`${name === "undo" ? "undone" : "taken back"}: ${whichOf(seen)}${files ? "" : ". Files in your workspace were not touched"}`,
			...(back === undefined
				? []
				: [`all of it the other way: ${say`${name === "undo" ? "redo" : "undo"} --to ${String(back)}`}`]),
			...filesDoneLines(files, name === "undo" ? "redo" : "undo"),
			...tasksDoneLines(tasks, targetOf(seen), name === "undo" ? "redo" : "undo"),
			`state ${hash}`,
			...pausedLines(paused, say),
		],
	});

/** Where the last of them leads to. */
const targetOf = ({ move, moves = [] }: Pick<Seen, "move" | "moves">): number =>
	(moves.at(-1)?.seq ?? move?.seq ?? 1) - 1;

const counted = ({ length }: readonly unknown[]): string => (length === 1 ? "1 move" : `${length} moves`);

function whichOf({ move, moves = [], to }: Pick<Seen, "move" | "moves" | "to">): string {
	const last = moves.at(-1);
	if (to === undefined || moves.length < 2 || !last) return move ? textOf(move) : "";
	return `${counted(moves)}, down to ${textOf(last)}`;
}

/**
 * What these moves touch, taken back or made again: of several only where the last of them leads to one moment of all history, since of parts
 * each would have to be made to know.
 */
async function touchedBy(runtime: Runtime, name: "undo" | "redo", taken: readonly ToldMove[]) {
	const { past, future } = await runtime.timeline.moves();
	const of = taken.at(-1)?.seq;
	const inverse = (name === "undo" ? past : future).find(({ seq }) => seq === of)?.inverse;
	if (of === undefined || inverse?.kind !== "reset" || inverse.drop?.length === 0) return {};
	const { scope, drop } = inverse;
	const isWhole = scope.agent === undefined && drop === undefined;
	if (taken.length > 1 && !isWhole) return {};
	const to = { target: of - 1, scope, ...(drop && { drop }), ...(name === "redo" && { redoes: of }) };
	return { blastRadius: await blastRadius(runtime, to) };
}

/** What these moves touch, and what goes along with them. */
async function alongWith(runtime: Runtime, name: "undo" | "redo", taken: readonly ToldMove[], takesTheirs: boolean) {
	return {
		...(await filesOf(runtime, taken, takesTheirs)),
		...(await tasksOf(runtime, taken)),
		...(await touchedBy(runtime, name, taken)),
	};
}

/** Where tasks go back to where moves are taken back one after the other: the oldest that takes them along decides. */
async function tasksOf(runtime: Runtime, moves: readonly ToldMove[]) {
	for (const { seq } of moves.toReversed()) {
		const tasks = await runtime.previewTasksOf(seq);
		if (tasks) return { tasks };
	}
	return {};
}

/** What becomes of files where moves are taken back one after the other: of each the oldest that takes it along decides. */
async function filesOf(runtime: Runtime, moves: readonly ToldMove[], takesTheirs: boolean) {
	const files: FilesPreview[] = [];
	const known = new Set<string>();
	for (const { seq } of moves.toReversed()) {
		const along = await runtime.filesMovedBy(seq);
		if (!along) continue;
		const isNew = ({ path }: { readonly path: string }): boolean => !known.has(path);
		const { changes, kept, theirs, ...found } = await runtime.previewFiles(seq - 1, takesTheirs, along.only);
		files.push({ ...found, changes: changes.filter(isNew), kept: kept.filter(isNew), theirs: theirs.filter(isNew) });
		if (!along.only) break;
		for (const path of along.only) known.add(path);
	}
	const [first, ...more] = files;
	return first ? { files: more.reduce(together, first) } : {};
}

const together = (a: FilesPreview, b: FilesPreview): FilesPreview => ({
	...b,
	to: a.to,
	changes: [...a.changes, ...b.changes],
	kept: [...a.kept, ...b.kept],
	theirs: [...a.theirs, ...b.theirs],
});

function noMove(verb: string, to: number, moves: readonly ToldMove[]): OperatorError {
	const there = moves.slice(0, 8).map((each) => `#${each.seq}`);
	return new OperatorError(
		"OPERATOR_NOT_FOUND",
		`there is nothing to ${verb} in #${to}; there is in ${there.join(", ") || "none"}`,
		{ to, moves: moves.map((each) => each.seq) },
	);
}

/** Of plans that are paused at a limit: that is taken back otherwise. */
const noMoves = (plans: readonly string[], say: Say): readonly string[] =>
	plans.map((plan) => `a pause at a limit is no move: plan ${plan} goes on with: ${say`plan resume ${plan}`}`);

/** Of what was granted: that is taken back otherwise, too. */
const noMovesEither = (grants: readonly z.infer<typeof grantShape>[], say: Say): readonly string[] =>
	grants.map((grant) => `a grant is no move: ${grantText(grant)}: ${say`revoke ${String(grant.seq)}`}`);

const textOf = ({ seq, what, ts }: z.infer<typeof toldMove>): string =>
	`${what} (#${seq}${ts === undefined ? "" : `, ${when(ts)}`})`;

export const undo = stepVerb(
	"undo",
	"take back the newest rewind, label, note, adoption, compaction, or change of a plan; again for the one before, --to for several. Files go along where they did",
);
export const redo = stepVerb("redo", "do again what was undone last");
