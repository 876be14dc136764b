/** A process that takes turns until it is killed, and says after each how many there were: for trail-runtime.test.ts. */
import { openRuntime } from "../src/index.ts";
import { scripted } from "./project.ts";

const [, , state = ""] = process.argv;
const runtime = await openRuntime({ state, model: scripted(() => "fine"), tools: [] });
for (;;) {
	await runtime.prompt("again");
	await runtime.idle();
	console.log(runtime.wal.tip);
}
