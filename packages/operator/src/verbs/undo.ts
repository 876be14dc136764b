/** `undo` and `redo`: take the newest move of a person back, and make it again. */

import { label, reset } from "@reyn/timetravel";
import { z } from "zod";
import {
	filesAlong,
	filesAlongLines,
	filesDoneLines,
	filesPreview,
	filesRestored,
	theirsParam,
} from "../files-along.ts";
import { pausedLines, pausedPlans } from "../lines/paused.ts";
import { when } from "../lines/when.ts";
import { toldMove, toldMoves } from "../moves.ts";
import { flag } from "../param.ts";
import type { Say } from "../say.ts";
import { list, seq, texts } from "../shapes.ts";
import { reportState } from "../state-report.ts";
import { writeVerb } from "../verb.ts";
import { newest } from "./ref.ts";

const stepVerb = (name: "undo" | "redo", summary: string) =>
	writeVerb({
		name,
		summary,
		params: {
			list: flag("all that could be, newest first, and nothing else", z.boolean().default(false)),
			n: newest("of these only the newest so many"),
			...theirsParam,
		},
		example: "",
		seen: z.object({
			...{ tip: seq, move: toldMove.exactOptional(), moves: list(toldMove).exactOptional() },
			/** The plans that are paused at a limit. */
			waits: texts.exactOptional(),
			files: filesPreview.exactOptional(),
		}),
		done: z.object({
			...{ seq, of: seq, target: seq.exactOptional(), hash: z.string(), paused: texts },
			files: filesRestored.exactOptional(),
		}),
		async look(runtime, { list: all, n, theirs }, isPreview) {
			// First: what comes while it is looked up was not seen.
			const { tip } = runtime.wal;
			const moves = await toldMoves(runtime, name === "undo" ? "past" : "future", all ? n : 1);
			const waits = runtime
				.restored()
				.plans.flatMap(({ plan, why }) => (why === undefined || runtime.findPlan(plan).by ? [] : [plan]));
			if (all) return { tip, moves, waits };
			const [move] = moves;
			if (move) {
				const isAlong = await runtime.hasMovedFiles(move.seq);
				return { tip, move, waits, ...(isAlong && (await filesAlong(runtime, move.seq - 1, true, theirs))) };
			}
			// It says where else one can go.
			if (!isPreview) await runtime[name]("user", { expect: tip });
			return { tip };
		},
		nothing({ move, moves = [], waits = [] }, say) {
			if (move) return undefined;
			const found = moves.length > 0 ? moves.map((each) => textOf(each)) : [`there is nothing to ${name}`];
			return [...found, ...noMoves(waits, say)];
		},
		shown: ({ move, waits = [], files }, say) =>
			move ? [`${name} ${textOf(move)}`, ...filesAlongLines(files), ...noMoves(waits, say)] : [],
		question: ({ move }) => `${name} ${move ? textOf(move) : ""}?`,
		async act(runtime, { move, tip: expect, files }, actor) {
			const done = await runtime[name](actor, { of: move?.seq ?? 0, expect, ...(files && { theirs: files.theirs }) });
			const { hash } = await reportState(runtime, done.seq);
			return { ...done, hash, paused: pausedPlans(runtime) };
		},
		isDoneBy(record, { move }, actor) {
			if (!reset.is(record) && !label.is(record)) return false;
			const { undoes, redoes, actor: who } = record.data;
			return who === actor && (name === "undo" ? undoes : redoes) === move?.seq;
		},
		lines: ({ hash, paused, files }, say, { move }) => [
			`${name === "undo" ? "undone" : "taken back"}: ${move ? textOf(move) : ""}${files ? "" : ". Files in your workspace were not touched"}`,
			...filesDoneLines(files),
			`state ${hash}`,
			...pausedLines(paused, say),
		],
	});

/** Of plans that are paused at a limit: that is taken back otherwise. */
const noMoves = (plans: readonly string[], say: Say): readonly string[] =>
	plans.map((plan) => `a pause at a limit is no move: plan ${plan} goes on with: ${say`plan resume ${plan}`}`);

const textOf = ({ seq, what, ts }: z.infer<typeof toldMove>): string =>
	`${what} (#${seq}${ts === undefined ? "" : `, ${when(ts)}`})`;

export const undo = stepVerb(
	"undo",
	"take back the newest rewind, label, note, compaction, or change of a plan; again for the one before. Files go along where they did",
);
export const redo = stepVerb("redo", "do again what was undone last");
