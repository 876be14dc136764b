/** A process that only reads: it says as JSON lines what the log of another process tells, from a seq on, until it has told of the seq that it is given. */
import { offlineModel } from "@reyn/offline-model";
import { openRuntime } from "../src/index.ts";

const [state = "", after = "0"] = process.argv.slice(2);
await using runtime = await openRuntime({ state, model: offlineModel(), tools: [], readOnly: true });
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
const say = (line: unknown): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);
const events = runtime.subscribe({ after: Number(after) });
say({ type: "ready" });
for await (const event of events) say(event);
