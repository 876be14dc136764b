/** A process that does jobs with one contender, as its parent asks: `contend.ts <name> <at>`. */
import type { Start } from "../rival.ts";
import { contenders } from "./contenders.ts";
import { type JobName, jobs } from "./jobs.ts";
import type { Open } from "./work.ts";

/** What the parent asks for. */
export interface Request {
	readonly job: JobName;
	readonly steps: number;
}

const [, , name, at = ""] = process.argv;
// It ends as by a crash: nothing is closed, and the work is still under way.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

const open = await loaded();
if (open) {
	process.on("message", async ({ job, steps }: Request) => {
		process.send?.({ found: await jobs[job](open, at, steps) });
	});
	process.send?.({ ready: true } satisfies Start);
}

async function loaded(): Promise<Open | undefined> {
	try {
		const load = contenders.find((each) => each.name === name)?.load;
		if (!load) throw new Error("there is no such contender");
		return await load();
	} catch (error) {
		process.send?.({ skipped: (error as Error).message.split("\n", 1)[0] ?? "" } satisfies Start);
		return undefined;
	}
}
