/** Writes tasks without end, and says each key once its write is acknowledged. What is called `shared` the other process writes too. */
import { sqliteTasks } from "../src/sqlite/index.ts";
import { directoryTasks } from "./directory-tasks.ts";

const [path = "", me = "", kind] = process.argv.slice(2);
const tasks = kind === "directory" ? directoryTasks(path) : sqliteTasks({ path });
for (let n = 0; ; n++) {
	const { id } = await tasks.create({ title: `${me} ${n}` }, `${me} create ${n}`);
	console.log(`${me} create ${n}`);
	await tasks.comment(id, `${me} ${n}`, `${me} comment ${n}`);
	console.log(`${me} comment ${n}`);
	const shared = await tasks.create({ title: `shared ${n}`, waitsFor: [id] }, `shared create ${n}`);
	console.log(`shared create ${n}`);
	await tasks.setStatus(shared.id, "ready", `${me} status ${n}`, me);
	console.log(`${me} status ${n}`);
	await tasks.setStatus(id, "done", `${me} done ${n}`);
	console.log(`${me} done ${n}`);
}
