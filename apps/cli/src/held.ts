/** What is to be begun or done while another process has the log: it is so there. */
import { beginThere, type Places, type WorkVerb } from "@reyn/operator";
import { codeOf } from "@reyn/wal";
import { type Globals, openForWork, reading, stateOf } from "./context.ts";
import { exitCodes } from "./exit-codes.ts";
import { out } from "./print.ts";
import { reyn } from "./suggest.ts";
import type { OutputFormat } from "./work.ts";

/** Where another process has the log, it is begun there, and goes on there. */
export async function unlessHeld(
	verb: WorkVerb,
	raw: Readonly<Record<string, unknown>>,
	globals: Globals,
	format: OutputFormat,
	here: () => Promise<number>,
): Promise<number> {
	try {
		return await here();
	} catch (error) {
		if (codeOf(error) !== "WAL_LOCKED") throw error;
		const there = await beginThere(verb, raw, "user", placesOf(globals));
		if (!there) throw error;
		const { begun, pid } = there;
		if (format === "stream-json") out.json({ type: "result", ...begun, pid, exitCode: exitCodes.ok });
		else if (format === "json") out.json({ ...begun, pid });
		else out.lines([...verb.lines(begun, reyn), `it works in process ${pid}, which has the log, and is told there`]);
		return exitCodes.ok;
	}
}

export const placesOf = (globals: Globals): Places => ({
	directory: stateOf(globals),
	reading: (use) => reading(globals, use),
	async working(use) {
		await using runtime = await openForWork(globals);
		return await use(runtime);
	},
});
