/** `rewind`: go back on the current line of history. */
import { rewindNote } from "@reyn/rewind-modes";
import { counted, meaningOf } from "@reyn/rewind-modes/internal";
import { blastRadius, type RewindMode, rewindModes } from "@reyn/runtime";
import { reset } from "@reyn/timetravel";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import {
	filesAlong,
	filesAlongLines,
	filesDoneLines,
	filesFault,
	filesParams,
	filesPreview,
	filesRestored,
	filesSince,
	filesSinceLines,
} from "../files-along.ts";
import { radiusLines } from "../lines/blast-radius.ts";
import { pausedLines, pausedWork } from "../lines/paused.ts";
import { scopeText } from "../lines/scope.ts";
import { sidesOf } from "../lines/sides.ts";
import { choice, option } from "../param.ts";
import { type OneRun, parseRef, runOf, scopeAt } from "../refs.ts";
import type { Say } from "../say.ts";
import { blastRadiusShape, pausedShape, rewindPreview, rewindResult, seq } from "../shapes.ts";
import { tasksAlong, tasksAsOf, tasksDoneLines } from "../tasks-along.ts";
import { writeVerb } from "../verb.ts";
import { ref, scopeWidth } from "./ref.ts";

const seen = z.object({
	...{ tip: seq, preview: rewindPreview, blastRadius: blastRadiusShape },
	...{ files: filesPreview.exactOptional(), filesSince },
	/** Absent: they stay. */
	tasks: tasksAlong.exactOptional(),
	/** The turn that goes on from there. Absent: none was named. */
	turn: seq.exactOptional(),
});

export const rewind = writeVerb({
	name: "rewind",
	summary: "go back on the current line: preview, confirm, apply. Files in your workspace stay, unless --files",
	params: {
		ref,
		mode: choice<RewindMode>("mode", "what goes back", rewindModes, "both"),
		scope: scopeWidth,
		run: option(
			"id",
			"one plan, skill run or script run alone, or a turn (its seq) with what its session did since: its steps up to the ref are recalled, the rest runs again",
			z.string().min(1).optional(),
		),
		...filesParams,
	},
	example: "@-1 --mode conversation_only",
	seen,
	done: z.object({
		result: rewindResult,
		paused: pausedShape,
		files: filesRestored.exactOptional(),
		tasks: tasksAlong.exactOptional(),
	}),
	async look(runtime, { ref, mode, scope: width, run, files, theirs, allOrNothing }) {
		const at = await parseRef(ref, runtime);
		if (run !== undefined && width !== "process")
			throw new OperatorError("OPERATOR_ARGS", "rewind: give --run or --scope, not both: a run is the narrowest scope");
		const { scope, turn }: OneRun =
			run === undefined ? { scope: await scopeAt(at, width, runtime) } : runOf(run, runtime);
		if (turn !== undefined && mode !== "both" && mode !== "cancel")
			throw new OperatorError(
				"OPERATOR_ARGS",
				"rewind: a turn goes on from what was said and done there: leave --mode out",
			);
		const preview = await runtime.previewRewind(at, mode, scope, files || theirs || allOrNothing);
		const isMove = scope.agent === undefined && meaningOf(mode).drops.length > 0;
		const isAlong = preview.files ?? false;
		const along = isMove ? await filesAlong(runtime, preview.target, isAlong, theirs, allOrNothing) : {};
		const tasks = preview.kind === "none" ? undefined : await runtime.previewTasks(preview.target, scope, mode);
		const radius = await blastRadius(runtime, preview, turn);
		if (turn !== undefined && mode === "both" && !radius.relaunches.turns?.includes(turn))
			throw notWithin(turn, preview.target);
		return {
			...{ tip: preview.tip, preview, blastRadius: radius },
			...(turn !== undefined && { turn }),
			...along,
			...(tasks && { tasks }),
		};
	},
	sides: ({ blastRadius, files, tasks, preview }) => sidesOf(blastRadius, files, tasksAsOf(tasks, preview.target)),
	shown,
	nothing(found, say) {
		const { preview } = found;
		if (preview.mode === "cancel") return shown(found, say);
		return preview.kind === "none" ? [NOTHING] : undefined;
	},
	undone({ preview: { kind, mode, tip: seq, target, affected, dropped } }) {
		if (kind !== "none" || mode === "cancel") return {};
		return { result: { kind, seq, target, ...(affected && { affected }), ...(dropped && { dropped }) } };
	},
	question: ({ preview }) => `rewind to #${preview.target}?`,
	async act(runtime, { preview, files: seen, turn }, actor) {
		const { theirs, allOrNothing } = seen ?? {};
		const { files, tasks, ...result } = await runtime.applyRewind(preview, actor, { theirs, allOrNothing, turn });
		return { result, paused: pausedWork(runtime), ...(files && { files }), ...(tasks && { tasks }) };
	},
	fault: (done, seen) => filesFault(done.files, seen.files),
	isDoneBy: (record, { preview: { target, mode } }, actor) =>
		(reset.is(record) && record.data.mode === mode && record.data.target === target && record.data.actor === actor) ||
		(rewindNote.is(record) && record.data.target === target && record.data.actor === actor),
	lines(
		{ result: { kind, seq, target, dropped }, paused, files, tasks },
		say,
		{ preview: { mode, dropped: seen }, turn },
	) {
		const more = (dropped?.all ?? 0) - (seen?.all ?? dropped?.all ?? 0);
		const since = more > 0 ? ` (${more} of them came since that was shown)` : "";
		const done = {
			none: NOTHING,
			note: `done: a note about all since #${target} joined the conversation at #${seq}; nothing was taken away`,
			reset: `done: rewound in #${seq}, which takes ${dropped ? counted(dropped.all, "record") : "an unknown number of records"} away${since}; ${parts[mode] ?? "the state"} is as of #${target}. Go back with: ${say`undo`}`,
		};
		const again =
			turn === undefined ? [] : [`turn #${turn} goes on from there; where nothing works on it, with: ${say`resume`}`];
		return [
			done[kind],
			...again,
			...filesDoneLines(files),
			...tasksDoneLines(tasks, target),
			...pausedLines(paused, say),
		];
	},
});

const NOTHING =
	"nothing was written: the state is as of there already. @ is where you are; @-1 is a checkpoint back, and log lists them all";

const notWithin = (turn: number, target: number): OperatorError =>
	new OperatorError(
		"OPERATOR_ARGS",
		`rewind: turn #${turn} is not under way at #${target}; give a seq between its prompt and its end`,
		{ turn, target },
	);

/** What a mode takes back, where that is not all. */
const parts: Readonly<Partial<Record<RewindMode, string>>> = {
	conversation_only: "the conversation",
	code_only: "the agent state",
};

function shown(
	{ preview: { scope, summary, target, mode }, blastRadius, files, filesSince, tasks }: z.infer<typeof seen>,
	say: Say,
): readonly string[] {
	const whose = scope.agent === undefined ? [] : [`only ${scopeText(scope)}; all else stays as it is`];
	const options = `${mode === "both" ? "" : ` --mode ${mode}`} --files --theirs${files?.allOrNothing ? " --all-or-nothing" : ""}`;
	const takingTheirs = say(["rewind ", options], String(target));
	const along = files ? filesAlongLines(files, takingTheirs) : filesSinceLines(filesSince);
	return [...whose, ...summary, ...along, ...radiusLines(blastRadius, target, tasks)];
}
