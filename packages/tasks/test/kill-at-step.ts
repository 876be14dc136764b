/** Writes a task, captures or restores, and is killed (`kill -9`) after a step of that. */
import { rewindableSqliteTasks } from "../src/sqlite/index.ts";
import { log } from "./log.ts";

const [directory = "", action, fatal] = process.argv.slice(2);
const tasks = await rewindableSqliteTasks({
	path: `${directory}/tasks.db`,
	directory: `${directory}/generations`,
	log,
	onStep: (step) => step === fatal && process.kill(process.pid, "SIGKILL"),
});
await tasks.create({ title: "late" }, "late");
if (action === "capture") await tasks.capture(9);
if (action === "restore") await tasks.restoreToSeq(9, () => true);
