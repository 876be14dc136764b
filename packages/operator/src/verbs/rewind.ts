/** `rewind`: go back on the current line of history. */
import { rewindNote } from "@reyn/rewind-modes";
import { blastRadius, type RewindMode, rewindModes } from "@reyn/runtime";
import { reset } from "@reyn/timetravel";
import { z } from "zod";
import { counted, radiusLines } from "../lines/blast-radius.ts";
import { pausedLines, pausedPlans } from "../lines/paused.ts";
import { scopeText } from "../lines/scope.ts";
import { choice } from "../param.ts";
import { parseRef, scopeAt } from "../refs.ts";
import { blastRadiusShape, rewindPreview, rewindResult, seq, texts } from "../shapes.ts";
import { writeVerb } from "../verb.ts";
import { ref, scopeWidth } from "./ref.ts";

const seen = z.object({ tip: seq, preview: rewindPreview, blastRadius: blastRadiusShape });

export const rewind = writeVerb({
	name: "rewind",
	summary: "go back on the current line: preview, confirm, apply. Files in your workspace are not touched",
	params: {
		ref,
		mode: choice<RewindMode>("mode", "what goes back", rewindModes, "both"),
		scope: scopeWidth,
	},
	example: "@-1 --mode conversation_only",
	seen,
	done: z.object({ result: rewindResult, paused: texts }),
	async look(runtime, { ref, mode, scope: width }) {
		const at = await parseRef(ref, runtime);
		const preview = await runtime.previewRewind(at, mode, await scopeAt(at, width, runtime));
		return { tip: preview.tip, preview, blastRadius: await blastRadius(runtime, preview) };
	},
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
	async act(runtime, { preview }, actor) {
		const result = await runtime.applyRewind(preview, actor);
		return { result, paused: pausedPlans(runtime) };
	},
	isDoneBy: (record, { preview: { target, mode } }, actor) =>
		(reset.is(record) && record.data.mode === mode && record.data.target === target && record.data.actor === actor) ||
		(rewindNote.is(record) && record.data.target === target && record.data.actor === actor),
	lines({ result: { kind, seq, target, dropped }, paused }, say, { preview: { mode } }) {
		const done = {
			none: "nothing was written: the state is as of there already",
			note: `done: a note about all since #${target} joined the conversation at #${seq}; nothing was taken away`,
			reset: `done: a reset at #${seq} that takes ${dropped ? counted(dropped.all, "record") : "an unknown number of records"} away; ${parts[mode] ?? "the state"} is as of #${target}. Go back with: ${say`undo`}`,
		};
		return [done[kind], ...pausedLines(paused, say)];
	},
});

/** What a mode takes back, where that is not all. */
const parts: Readonly<Partial<Record<RewindMode, string>>> = {
	conversation_only: "the conversation",
	code_only: "the agent state",
};

function shown({ preview: { scope, summary, target }, blastRadius }: z.infer<typeof seen>): readonly string[] {
	const whose = scope.agent === undefined ? [] : [`only ${scopeText(scope)}; all else stays as it is`];
	return [...whose, ...summary, ...radiusLines(blastRadius, target)];
}
