/** A process that writes the log that is opened: `write.ts <name> <directory> <sessions> <turns>`. */
import { writeLog } from "../checkout/log.ts";
import type { Start } from "../rival.ts";

const [, , , directory = "", sessions, turns] = process.argv;
process.on("disconnect", () => process.exit());
process.on("message", async () => {
	await writeLog(directory, { sessions: Number(sessions), turns: Number(turns) });
	process.send?.({ found: {} });
});
process.send?.({ ready: true } satisfies Start);
