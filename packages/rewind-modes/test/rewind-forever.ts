/** Appends, rewinds and takes rewinds back until it is killed, and prints how many steps are done after each. The steps are always the same. */
import { fileURLToPath } from "node:url";
import { type Entries, fileEntries } from "../src/entries/index.ts";
import type { RewindMode } from "../src/index.ts";

export const processId = "bot";
const types = ["user_prompt", "tool_call", "tool_result", "assistant_message"];
const modes: readonly RewindMode[] = ["both", "conversation_only", "code_only", "summarize"];

/** Does the next step. */
export async function step(entries: Entries<unknown>, n: number): Promise<void> {
	if (n % 8 < 5) {
		await entries.append({ processId, type: types[n % 4] as string, data: { n } });
		return;
	}
	if (n % 8 === 7) return entries.checkpoint({ processId });
	const shown = await readAll(entries);
	const rewinds = shown.filter(({ type }) => type === "rewind");
	// One back, and then before the rewind that did so.
	const beforeEntry = (n % 8 === 5 ? shown.at(-3) : rewinds.at(-1))?.id ?? "";
	const plan = await entries.plan({ processId, beforeEntry, mode: modes[(n >> 3) % 4] as RewindMode });
	await entries.apply({ processId, plan, actor: "ada" });
}

export async function readAll(entries: Entries<unknown>) {
	const shown: { readonly id: string; readonly type: string; readonly data: unknown }[] = [];
	for await (const { id, type, data } of entries.read({ processId })) shown.push({ id, type, data });
	return shown;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const entries = await fileEntries(process.argv[2] as string);
	for (let n = 0; ; n++) {
		await step(entries, n);
		process.stdout.write(`${n + 1}\n`);
	}
}
