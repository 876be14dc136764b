/** Lines of the audit trail for people. */
import type { TrailFound } from "@reyn/runtime";
import { scopeKey } from "@reyn/wal";
import { asJson, oneLine } from "../text.ts";
import { when } from "./when.ts";

export const trailLines = (lines: TrailFound["lines"]): readonly string[] =>
	lines.map(({ v: _v, log: _log, at, seq, kind, what, scope, ...more }) => {
		const where = oneLine(scopeKey(scope), 60);
		const rest = Object.entries(more).map(([name, value]) => `${oneLine(name, 20)}=${shown(value)}`);
		const line = [`#${seq}`, when(Date.parse(at)), oneLine(kind, 20), oneLine(what, 20), where, ...rest]
			.filter((part) => part !== "")
			.join("  ");
		return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line;
	});

/** More is in `--json`. */
const WIDTH = 200;

const shown = (value: unknown): string =>
	typeof value === "string" && /^[\w@%+=:,./-]+$/.test(value) ? oneLine(value, 80) : oneLine(asJson(value), 80);

/** Said of what cannot be read: a crash tore it, somebody changed it, or a newer version wrote it. */
export function unreadLines(unread: TrailFound["unread"]): readonly string[] {
	if (unread.length === 0) return [];
	const named = unread.slice(0, 5).map(({ file, line }) => `${oneLine(file)}:${line}`);
	const more = unread.length > named.length ? `, and ${unread.length - named.length} more` : "";
	return [`${unread.length} ${unread.length === 1 ? "line" : "lines"} cannot be read: ${named.join(", ")}${more}`];
}
