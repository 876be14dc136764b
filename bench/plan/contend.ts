/** A process that does the jobs it is asked for, in one directory: `contend.ts <name> <directory>`. */
import type { Start } from "../rival.ts";
import { type JobName, jobs } from "./jobs.ts";

/** What the parent asks for. */
export interface Request {
	readonly job: JobName;
	readonly plans: number;
	readonly repetitions: number;
}

const [, , , at = ""] = process.argv;
// It ends as by a crash: nothing is closed, and plans are still under way.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("message", async ({ job, plans, repetitions }: Request) => {
	process.send?.({ found: await jobs[job](at, plans, repetitions) });
});
process.send?.({ ready: true } satisfies Start);
