/** A process that runs commands, each a step of a journal: `shelling.ts <directory> <count>`. Each writes a line into a ledger, and takes a moment. */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { callTool, openJournal } from "@reyn/journal";
import { createShellTool } from "../src/shell/index.ts";

const [, , directory = "", count] = process.argv;
const files = join(directory, "files");
mkdirSync(files, { recursive: true });
const shell = createShellTool(files, { records: join(directory, "commands"), env: process.env, confine: false });
const journal = await openJournal(join(directory, "state"), {
	async gate({ inDoubt, args }) {
		if (inDoubt) appendFileSync(join(directory, "doubts"), `${JSON.stringify(args)}\n`);
		return { kind: "pass" };
	},
});
const lane = journal.lane("commands");
for (let i = 1; i <= Number(count); i++) {
	process.stdout.write(`begins ${i}\n`);
	const command = `echo ${i} >> ledger; sleep ${i === 2 ? 1.5 : 0.1}; echo ${i} is done`;
	const { text } = await callTool(lane, [shell], { id: `c${i}`, name: "shell", args: { command } }, `c${i}`);
	process.stdout.write(`${i}: ${text.replaceAll("\n", " ")}\n`);
}
await journal.close();
