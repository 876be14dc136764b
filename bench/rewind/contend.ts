/** A process that does the jobs it is asked for, in one directory: `contend.ts <name> <directory>`. */
import type { Start } from "../rival.ts";
import { type JobName, jobs, type Order } from "./jobs.ts";

/** What the parent asks for. */
export interface Request {
	readonly job: JobName;
	readonly order: Order;
}

const [, , , directory = ""] = process.argv;
process.on("disconnect", () => process.exit());
process.on("message", async ({ job, order }: Request) => {
	process.send?.({ found: await jobs[job](directory, order) });
});
process.send?.({ ready: true } satisfies Start);
