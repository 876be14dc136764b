/** A process that does what its parent asks of one contender: `contend.ts <name> …`. */
import type { Start } from "../rival.ts";
import { type ContenderName, contenders } from "./contenders.ts";

/** What the parent asks for. */
export interface Request {
	readonly job: string;
	readonly order: unknown;
}

const [, , name, directory = "", sessions = ""] = process.argv;
process.on("disconnect", () => process.exit());

const jobs: object = await contenders[name as ContenderName](directory, sessions);
process.on("message", async ({ job, order }: Request) => {
	const found = await (jobs as Readonly<Record<string, (order: unknown) => unknown>>)[job]?.(order);
	process.send?.({ found });
});
process.send?.({ ready: true } satisfies Start);
