/** A process that does jobs with one contender, as its parent asks: `contend.ts <name> <directory> <file of messages>`. */
import { readFileSync } from "node:fs";
import type { Start } from "../rival.ts";
import type { Message, OpenAgent } from "./agent.ts";
import { contenders } from "./contenders.ts";
import { type JobName, jobs, type OrderOf } from "./jobs.ts";

/** What the parent asks for. */
export interface Request<Name extends JobName> {
	readonly job: Name;
	readonly order: OrderOf<Name>;
}

const [, , name, directory = "", file = ""] = process.argv;
process.on("disconnect", () => process.exit());

const open = await loaded();
if (open) {
	const messages: readonly Message[] = JSON.parse(readFileSync(file, "utf8"));
	process.on("message", async ({ job, order }: Request<JobName>) => {
		process.send?.(await jobs[job](open, directory, messages, order as never));
	});
	process.send?.({ ready: true } satisfies Start);
}

async function loaded(): Promise<OpenAgent | undefined> {
	try {
		const load = contenders.find((each) => each.name === name)?.load;
		if (!load) throw new Error("there is no such contender");
		return await load();
	} catch (error) {
		process.send?.({ skipped: (error as Error).message.split("\n", 1)[0] ?? "" } satisfies Start);
		return undefined;
	}
}
