/** A process that counts in a file by edits, each a step of a journal: `counting.ts <directory> <until>`. It says each number once it is done. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { callTool, openJournal } from "@reyn/journal";
import { openRoot } from "../src/root-directory.ts";
import { writeTools } from "../src/write-files.ts";

const [, , directory = "", until] = process.argv;
await mkdir(join(directory, "files"), { recursive: true });
// Without the tools that look: their source needs more than the oldest Node has.
const effort = (): never => {
	throw new Error("nothing looks here");
};
const tools = writeTools({ maxFileBytes: 1e6, writes: true, root: () => openRoot(join(directory, "files")), effort });
const journal = await openJournal(join(directory, "state"));
const lane = journal.lane("count");
const call = async (id: string, name: string, args: object): Promise<void> => {
	const { text, error } = await callTool(lane, tools, { id, name, args }, id);
	if (error !== undefined) throw new Error(text);
};
await call("made", "write", { path: "count.txt", text: "counted to 0\n" });
for (let i = 1; i <= Number(until); i++) {
	await call(`c${i}`, "edit", { path: "count.txt", old: `counted to ${i - 1}\n`, new: `counted to ${i}\n` });
	process.stdout.write(`${i}\n`);
}
await journal.close();
