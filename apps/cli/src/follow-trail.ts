/** `reyn events --follow`: the audit trail as it is written, until Ctrl-C. */
import { givenFor, trailLines, trailOf, unreadLines, verbs } from "@reyn/operator";
import type { TrailQuery } from "@reyn/runtime";
import { examining, type Globals } from "./context.ts";
import { err, out } from "./print.ts";
import { untilStopped } from "./until-stopped.ts";

/** @param typed what the verb `events` takes */
export function followTrail(typed: Readonly<Record<string, unknown>>, globals: Globals): Promise<number> {
	return examining(globals, async (log) => {
		const { since, kind, n } = givenFor(verbs.find(({ name }) => name === "events") as never, typed);
		const query: TrailQuery = { ...(since as object), kinds: kind as TrailQuery["kinds"] };
		const trail = trailOf(log);
		const show = async ({ lines, unread }: Awaited<ReturnType<typeof trail.more>>): Promise<void> => {
			if (globals.json) for (const line of lines) await out.json(line);
			else await out.lines(trailLines(lines));
			err.lines(unreadLines(unread));
		};
		await show(await trail.newest(query, n as number));
		return untilStopped(async () => show(await trail.more(query)));
	});
}
