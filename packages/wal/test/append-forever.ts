/** Appends until it is killed, and prints each seq once it is durable; to a directory, or to a database when its name ends in `.db`. */
import { z } from "zod";
import { defineRecord, openWal } from "../src/index.ts";
import { sqliteEngine } from "../src/sqlite/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const path = process.argv[2] as string;
const wal = await openWal(path.endsWith(".db") ? sqliteEngine(path) : path, { records: [said] });
for (;;) {
	const appends = Array.from({ length: 10 }, (_, i) => wal.append(said({ text: `${i}`.repeat(20) }), {}));
	await appends[9]?.durable;
	process.stdout.write(`${appends[9]?.seq}\n`);
}
