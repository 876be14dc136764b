/** `rewind`: go back on the current line of history. */
import { rewindNote } from "@reyn/rewind-modes";
import { meaningOf } from "@reyn/rewind-modes/internal";
import { blastRadius, type RewindMode, rewindModes } from "@reyn/runtime";
import { reset } from "@reyn/timetravel";
import { z } from "zod";
import {
	filesAlong,
	filesAlongLines,
	filesDoneLines,
	filesParams,
	filesPreview,
	filesRestored,
	filesSince,
	filesSinceLines,
} from "../files-along.ts";
import { counted, radiusLines } from "../lines/blast-radius.ts";
import { pausedLines, pausedPlans } from "../lines/paused.ts";
import { scopeText } from "../lines/scope.ts";
import { sidesOf } from "../lines/sides.ts";
import { choice } from "../param.ts";
import { parseRef, scopeAt } from "../refs.ts";
import { blastRadiusShape, rewindPreview, rewindResult, seq, texts } from "../shapes.ts";
import { writeVerb } from "../verb.ts";
import { ref, scopeWidth } from "./ref.ts";

const seen = z.object({
	...{ tip: seq, preview: rewindPreview, blastRadius: blastRadiusShape },
	...{ files: filesPreview.exactOptional(), filesSince },
});

export const rewind = writeVerb({
	name: "rewind",
	summary: "go back on the current line: preview, confirm, apply. Files in your workspace stay, unless --files",
	params: {
		ref,
		mode: choice<RewindMode>("mode", "what goes back", rewindModes, "both"),
		scope: scopeWidth,
		...filesParams,
	},
	example: "@-1 --mode conversation_only",
	seen,
	done: z.object({ result: rewindResult, paused: texts, files: filesRestored.exactOptional() }),
	async look(runtime, { ref, mode, scope: width, files, theirs }) {
		const at = await parseRef(ref, runtime);
		const scope = await scopeAt(at, width, runtime);
		const preview = await runtime.previewRewind(at, mode, scope, files || theirs);
		const isMove = scope.agent === undefined && meaningOf(mode).drops.length > 0;
		const along = isMove ? await filesAlong(runtime, preview.target, preview.files ?? false, theirs) : {};
		return { tip: preview.tip, preview, blastRadius: await blastRadius(runtime, preview), ...along };
	},
	sides: ({ blastRadius, files }) => sidesOf(blastRadius, files),
	shown,
	nothing(found) {
		const { preview } = found;
		if (preview.mode === "cancel") return shown(found);
		return preview.kind === "none" ? ["nothing was written: the state is as of there already"] : undefined;
	},
	undone({ preview: { kind, mode, tip: seq, target, affected, dropped } }) {
		if (kind !== "none" || mode === "cancel") return {};
		return { result: { kind, seq, target, ...(affected && { affected }), ...(dropped && { dropped }) } };
	},
	question: ({ preview }) => `rewind to #${preview.target}?`,
	async act(runtime, { preview, files: seen }, actor) {
		const { files, ...result } = await runtime.applyRewind(preview, actor, undefined, seen?.theirs);
		return { result, paused: pausedPlans(runtime), ...(files && { files }) };
	},
	isDoneBy: (record, { preview: { target, mode } }, actor) =>
		(reset.is(record) && record.data.mode === mode && record.data.target === target && record.data.actor === actor) ||
		(rewindNote.is(record) && record.data.target === target && record.data.actor === actor),
	lines({ result: { kind, seq, target, dropped }, paused, files }, say, { preview: { mode } }) {
		const done = {
			none: "nothing was written: the state is as of there already",
			note: `done: a note about all since #${target} joined the conversation at #${seq}; nothing was taken away`,
			reset: `done: a reset at #${seq} that takes ${dropped ? counted(dropped.all, "record") : "an unknown number of records"} away; ${parts[mode] ?? "the state"} is as of #${target}. Go back with: ${say`undo`}`,
		};
		return [done[kind], ...filesDoneLines(files), ...pausedLines(paused, say)];
	},
});

/** What a mode takes back, where that is not all. */
const parts: Readonly<Partial<Record<RewindMode, string>>> = {
	conversation_only: "the conversation",
	code_only: "the agent state",
};

function shown({
	preview: { scope, summary, target },
	blastRadius,
	files,
	filesSince,
}: z.infer<typeof seen>): readonly string[] {
	const whose = scope.agent === undefined ? [] : [`only ${scopeText(scope)}; all else stays as it is`];
	const along = files ? filesAlongLines(files) : filesSinceLines(filesSince);
	return [...whose, ...summary, ...along, ...radiusLines(blastRadius, target)];
}
