/** A process that asks beside the page: `ask.ts <name> <state>`. It says of each prompt when that was durable. */
import { openRuntime } from "@reyn/runtime";
import type { Start } from "../rival.ts";
import { model } from "./model.ts";

const [, , , state = ""] = process.argv;
process.on("disconnect", () => process.exit());
const runtime = await openRuntime({ state, model, tools: [] });
process.on("message", async () => {
	const seq = await runtime.prompt("And is it there already?");
	const found = { seq, at: Date.now() };
	await runtime.idle();
	process.send?.({ found });
});
process.send?.({ ready: true } satisfies Start);
