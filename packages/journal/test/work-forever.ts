/** Appends to a file, one step a line, until it is killed: the file is the far side, and counts what really happened. */
import { appendFileSync } from "node:fs";
import { openJournal } from "../src/index.ts";

const [, , directory = "", file = ""] = process.argv;
const journal = await openJournal(directory);
for (let n = 0; ; n++) {
	const line = await journal.step("write", async ({ idempotencyKey }) => {
		const line = `${n} ${idempotencyKey}`;
		appendFileSync(file, `${line}\n`);
		return line;
	});
	await journal.durable();
	process.stdout.write(`${line}\n`);
}
