/** Parses how people name a moment: `142`, `@` (the tip), `@-3` (checkpoints back), `b7` (the end of a branch), a label; and its scope. */

import { mainSession, type Runtime } from "@reyn/runtime";
import { reset, type Timeline } from "@reyn/timetravel";
import type { Scope, Seq } from "@reyn/wal";
import { OperatorError } from "./errors.ts";
import { oneLine } from "./text.ts";

/** How much a rewind covers: everything, or only the agent or the session of the moment. */
export const scopeWidths = ["process", "agent", "session"] as const;

export type ScopeWidth = (typeof scopeWidths)[number];

/**
 * The scope of this width that the record at `seq` lies in; the main session's if the record lies in none.
 *
 * @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
 */
export async function scopeAt(seq: Seq, width: ScopeWidth, { timeline }: Runtime): Promise<Scope> {
	if (width === "process") return {};
	const { agent, session } = (await timeline.record(seq))?.scope ?? {};
	if (agent === undefined) return width === "agent" ? { agent: mainSession.agent } : mainSession;
	if (width === "agent") return { agent };
	return session === undefined ? mainSession : { agent, session };
}

/** One piece of work that goes back alone: its scope, and the turn that it is. */
export interface OneRun {
	readonly scope: Scope;
	/** A turn has no scope of its own, so what its session has done since goes back with it. */
	readonly turn?: Seq;
}

/**
 * The turn of a seq, or else a plan, skill run or script run. @throws as `scopeOfRun`
 */
export function runOf(run: string, runtime: Runtime): OneRun {
	const seq = /^\d+$/.test(run) ? Number(run) : 0;
	const session = runtime.sessions().find((each) =>
		runtime
			.conversation(each)
			.items.toArray()
			.some((item) => item.type === "prompt" && item.seq === seq),
	);
	return session ? { scope: session, turn: seq } : { scope: scopeOfRun(run, runtime) };
}

/**
 * The scope of one plan, skill run or script run: its own records and no others.
 *
 * @throws OperatorError `OPERATOR_NOT_FOUND`, naming those that there are
 */
function scopeOfRun(run: string, runtime: Runtime): Scope {
	const scopes = runtime
		.sessions()
		.flatMap((session) => runtime.features.flatMap(({ pieces }) => pieces?.(runtime.view(session)) ?? []))
		.map(({ work }) => work.scope);
	const found = scopes.find((scope) => scope.run === run);
	if (found) return found;
	const known = scopes.flatMap((scope) => scope.run ?? []);
	throw new OperatorError(
		"OPERATOR_NOT_FOUND",
		`there is no turn, plan, skill run or script run ${run} on this line; beside the turns, which are named by their seqs, there are ${known.join(", ") || "none"}`,
		{ run, known },
	);
}

/**
 * The places that `@-3` counts, oldest first: the checkpoints on this line of history, and those resets whose state no checkpoint has,
 * since they moved a part alone, or went to between two. A reset that went back to a checkpoint is at that one (docs/adr/0056).
 */
function placesOn(timeline: Timeline): readonly Seq[] {
	const { lineage } = timeline;
	const checkpoints = timeline.checkpoints();
	const all = new Set(checkpoints.map(({ seq }) => seq));
	const own = lineage.resets.filter(
		({ seq, target, scope, drop }) =>
			drop?.length !== 0 &&
			(drop !== undefined || scope.agent !== undefined || !(target === 0 || all.has(target))) &&
			timeline.has(seq) &&
			lineage.isActive({ seq, scope, kind: reset.kind }),
	);
	const active = checkpoints.filter((each) => each.active);
	return [...active, ...own].map(({ seq }) => seq).sort((a, b) => a - b);
}

/** The seq of a moment. A plain number is not checked. @throws OperatorError `OPERATOR_BAD_REF`, `OPERATOR_UNKNOWN_REF` */
export async function parseRef(text: string, { timeline, wal }: Runtime): Promise<Seq> {
	if (/^\d+$/.test(text)) return Number(text);
	if (text === "@") return wal.tip;
	const back = /^@-(\d+)$/.exec(text)?.[1];
	if (back !== undefined) {
		const active = placesOn(timeline);
		const found = active.at(-1 - Number(back));
		if (found !== undefined) return found;
		throw new OperatorError(
			"OPERATOR_UNKNOWN_REF",
			`${text} goes ${back} checkpoints back, and this line of history has ${active.length}`,
			{ ref: text, checkpoints: active.length },
		);
	}
	const branch = timeline.branches().find(({ name }) => name === text);
	if (branch) return branch.last;
	const labels = await timeline.labels();
	const label = labels.find(({ name }) => name === text);
	if (label) return label.seq;
	const names = timeline
		.branches()
		.filter(({ last }) => timeline.has(last))
		.map(({ name }) => name)
		.concat(labels.map(({ name }) => name))
		.join(", ");
	if (/^b\d+$/.test(text))
		throw new OperatorError("OPERATOR_UNKNOWN_REF", `there is no branch ${text}; there are ${names}`, { ref: text });
	throw new OperatorError(
		"OPERATOR_BAD_REF",
		`"${oneLine(text, 64)}" points at nothing; give a seq (142), @ for the tip, @-3 for checkpoints back, or a branch or a label (${names})`,
		{ ref: text },
	);
}
