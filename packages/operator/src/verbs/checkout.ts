/** `checkout`: go to any moment, on an abandoned branch too. */
import { blastRadius, sessionOf } from "@reyn/runtime";
import { reset } from "@reyn/timetravel";
import { z } from "zod";
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
import { parseRef, scopeAt } from "../refs.ts";
import { blastRadiusShape, pausedShape, scope, seq } from "../shapes.ts";
import { reportState } from "../state-report.ts";
import { tasksAlong, tasksAsOf, tasksDoneLines } from "../tasks-along.ts";
import { writeVerb } from "../verb.ts";
import { ref, scopeWidth } from "./ref.ts";

const seen = z.object({
	scope,
	kind: z.enum(["undo", "fork_switch", "none"]),
	target: seq,
	snappedFrom: seq.exactOptional(),
	tip: seq,
	blastRadius: blastRadiusShape,
	...{ files: filesPreview.exactOptional(), filesSince },
	/** Absent: they stay. */
	tasks: tasksAlong.exactOptional(),
});

const done = z.object({
	seq,
	target: seq,
	hash: z.string(),
	paused: pausedShape.exactOptional(),
	files: filesRestored.exactOptional(),
	tasks: tasksAlong.exactOptional(),
});

export const checkout = writeVerb({
	name: "checkout",
	summary: "go to any moment, on an abandoned branch too. Files in your workspace stay, unless --files",
	params: { ref, scope: scopeWidth, ...filesParams },
	example: "b7",
	seen: seen.extend({ hash: z.string().exactOptional() }),
	done,
	async look(runtime, { ref, scope: width, files, theirs, allOrNothing }) {
		const at = await parseRef(ref, runtime);
		const scope = await scopeAt(at, width, runtime);
		// Before it is shown: nothing is offered that is refused.
		await runtime.timeline.assertKnown(scope);
		const preview = { scope, ...(await runtime.timeline.preview(at, { scope })) };
		const radius = await blastRadius(runtime, preview);
		if (preview.kind !== "none") {
			const isAlong = files || theirs || allOrNothing;
			const isWhole = scope.agent === undefined || isAlong;
			const along = isWhole ? await filesAlong(runtime, preview.target, isAlong, theirs, allOrNothing) : {};
			const tasks = await runtime.previewTasks(preview.target, scope);
			return { ...preview, blastRadius: radius, ...along, ...(tasks && { tasks }) };
		}
		const { hash } = await reportState(runtime, runtime.wal.tip, sessionOf(scope));
		return { ...preview, blastRadius: radius, hash };
	},
	sides: ({ blastRadius, files, tasks, target }) => sidesOf(blastRadius, files, tasksAsOf(tasks, target)),
	shown: (found, say) => [
		...(found.scope.agent === undefined ? [] : [`only ${scopeText(found.scope)}; all else stays as it is`]),
		`check out ${whereTo(found)}`,
		...radiusLines(found.blastRadius, found.target, found.tasks),
		...filesAlongLines(
			found.files,
			say(
				["checkout ", ` --files --theirs${found.files?.allOrNothing ? " --all-or-nothing" : ""}`],
				String(found.target),
			),
		),
		...filesSinceLines(found.filesSince),
	],
	nothing: ({ kind, target, hash }) =>
		kind === "none" ? [`you are at #${target} already; nothing to write`, `state ${hash}`] : undefined,
	undone: ({ tip, hash = "" }) => ({ seq: tip, hash }),
	question: ({ target }) => `check out #${target}?`,
	async act(runtime, { target, scope, tip, files }, actor) {
		const along = files ? { files: true, theirs: files.theirs, allOrNothing: files.allOrNothing ?? false } : {};
		const result = await runtime.checkout(target, actor, scope, { expect: tip, ...along });
		const { hash } = await reportState(runtime, result.seq, sessionOf(scope));
		return { ...result, hash, paused: pausedWork(runtime) };
	},
	fault: (done, seen) => filesFault(done.files, seen.files),
	isDoneBy: (record, { target }, actor) =>
		reset.is(record) && record.data.target === target && record.data.actor === actor,
	lines: ({ hash, paused = [], files, tasks }, say, found) => [
		`checked out ${whereTo(found)}. Go back with: ${say`undo`}`,
		...filesDoneLines(files),
		...tasksDoneLines(tasks, found.target),
		`state ${hash}`,
		...pausedLines(paused, say),
	],
});

function whereTo({ kind, target, snappedFrom }: Pick<z.infer<typeof seen>, "kind" | "target" | "snappedFrom">): string {
	const where = kind === "fork_switch" ? "on a branch that was abandoned" : "further back on the same line";
	const snapped =
		snappedFrom === undefined ? "" : `; #${snappedFrom} lies inside a tool cycle, and this is just before its calls`;
	return `#${target}, ${where}${snapped}`;
}
