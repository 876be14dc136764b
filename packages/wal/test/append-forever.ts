/** Appends until it is killed, and prints each seq once it is durable. */
import { z } from "zod";
import { defineRecord, openWal } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const wal = await openWal(process.argv[2] as string, { records: [said] });
for (;;) {
	const appends = Array.from({ length: 10 }, (_, i) => wal.append(said({ text: `${i}`.repeat(20) }), {}));
	await appends[9]?.durable;
	process.stdout.write(`${appends[9]?.seq}\n`);
}
