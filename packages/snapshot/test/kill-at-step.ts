/** Adds to a database, captures, restores or prunes it, and is killed (`kill -9`) after a step of that, or in the middle of a migration. */
import { sqliteGenerations } from "../src/sqlite/index.ts";
import { add, logOf, today, yesterday } from "./todo.ts";

const [directory = "", action, fatal] = process.argv.slice(2);
const die = (): boolean => process.kill(process.pid, "SIGKILL");
let opens = 0;

const generations = sqliteGenerations({
	database: `${directory}/app.db`,
	directory: `${directory}/generations`,
	log: logOf(),
	// The migration in question is that of the open, or the one that comes with the restore.
	migrate: (database) =>
		++opens > 1 || action === "open" ? today(database, () => fatal === "migrating" && die()) : yesterday(database),
	onStep: (step) => step === fatal && die(),
});
add(generations.database, "late");
if (action === "capture") await generations.capture(9);
if (action === "restore") await generations.restoreToSeq(9, () => true);
if (action === "prune") generations.prune(() => false);
