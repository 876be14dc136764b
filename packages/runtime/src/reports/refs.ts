/** How people point at a moment: `142`, `@` (the tip), `@-3` (checkpoints back), `b7` (the end of a branch), a label; and at whose. */
import type { Scope, Seq } from "@reyn/wal";
import { RuntimeError } from "../kernel/errors.ts";
import { mainSession } from "../kernel/sessions.ts";
import type { Runtime } from "../runtime.ts";

/** How much goes back: everything, or the agent or the session that a moment is of. */
export const scopeWidths = ["process", "agent", "session"] as const;

export type ScopeWidth = (typeof scopeWidths)[number];

/**
 * The scope of that width that the record at `seq` belongs to; where it belongs to none, that of the main session.
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

/** @throws RuntimeError `RUNTIME_BAD_REF`, `RUNTIME_UNKNOWN_REF`; a seq is not checked, its user does that */
export async function parseRef(text: string, { timeline, wal }: Runtime): Promise<Seq> {
	if (/^\d+$/.test(text)) return Number(text);
	if (text === "@") return wal.tip;
	const back = /^@-(\d+)$/.exec(text)?.[1];
	if (back !== undefined) {
		const active = timeline.checkpoints().filter((checkpoint) => checkpoint.active);
		const found = active.at(-1 - Number(back));
		if (!found)
			throw new RuntimeError(
				"RUNTIME_UNKNOWN_REF",
				`${text} goes ${back} checkpoints back, and this line of history has ${active.length}`,
				{ ref: text, checkpoints: active.length },
			);
		return found.seq;
	}
	const branch = timeline.branches().find(({ name }) => name === text);
	if (branch) return branch.last;
	const labels = await timeline.labels();
	const label = labels.find(({ name }) => name === text);
	if (label) return label.seq;
	const names = timeline
		.branches()
		.map(({ name }) => name)
		.concat(labels.map(({ name }) => name))
		.join(", ");
	if (/^b\d+$/.test(text))
		throw new RuntimeError("RUNTIME_UNKNOWN_REF", `there is no branch ${text}; there are ${names}`, { ref: text });
	throw new RuntimeError(
		"RUNTIME_BAD_REF",
		`"${text}" points at nothing; give a seq (142), @ for the tip, @-3 for checkpoints back, or a branch or a label (${names})`,
		{ ref: text },
	);
}
