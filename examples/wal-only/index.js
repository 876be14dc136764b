/** Pays what is in the queue, once each, whatever happens to this process. The log lies in `payments/`. */
import { defineRecord, openWal } from "@reyn/wal";
import { z } from "zod";

const paid = defineRecord("paid", z.object({ order: z.string(), cents: z.int() }));
const queue = [
	{ order: "a17", cents: 1250 },
	{ order: "a18", cents: 300 },
	{ order: "a19", cents: 99 },
];

const wal = await openWal("payments", { records: [paid] });
const done = new Set();
for await (const record of wal.read()) if (paid.is(record)) done.add(record.data.order);

for (const payment of queue) {
	if (done.has(payment.order)) {
		console.log(`${payment.order} was paid before`);
		continue;
	}
	await wal.append(paid(payment), {}).durable;
	console.log(`${payment.order} paid: on disk as seq ${wal.durableTip}`);
	// `node index.js crash` ends here as a power failure would.
	if (process.argv[2] === "crash") process.kill(process.pid, "SIGKILL");
}
await wal.close();
