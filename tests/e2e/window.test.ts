/** A talk that outgrows what its model reads at once, over each wire: the server refuses what is longer, and gets nothing that is. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime, type RuntimeEvent } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { spoken } from "../../packages/ai-sdk/test/spoken.ts";
import { countedIn, openWire } from "../../packages/ai-sdk/test/wire.ts";
import { some } from "../sample.ts";

const MOST = 4000;
const PROMPTS = 8;

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-window-"));
	await writeFile(join(root, "foxes.md"), "A fox sleeps by day, under a root, in a den with two doors.\n".repeat(30));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Of each prompt a round that reads a file, and an answer at length. */
async function talk({ speaker, model }: (typeof spoken)[number], maxInputTokens: number | undefined) {
	let [told, asked] = [0, 0];
	const say = (body: object) => {
		const raw = JSON.stringify(body);
		const reads = countedIn(raw);
		if (raw.includes("You tell in short")) return { text: `short ${++told}`, reads };
		const args = JSON.stringify({ path: "foxes.md" });
		return asked++ % 2 === 0
			? { calls: [{ id: `call_${asked}`, name: "read", args }], reads }
			: { text: `answer ${asked}: ${"and so on ".repeat(100)}`, reads };
	};
	await using wire = await openWire(speaker, say, MOST);
	const events: RuntimeEvent[] = [];
	const runtime = await openRuntime({
		...{ state: await mkdtemp(join(root, "state-")), tools: createFileTools(root) },
		model: { ...model(wire), maxInputTokens },
		onEvent: (event) => void events.push(event),
	});
	for (let prompt = 1; prompt <= PROMPTS; prompt++) {
		await runtime.prompt(`Question ${prompt}: where does a fox sleep?`);
		await runtime.idle();
	}
	await runtime.close();
	const ends = events.flatMap((event) => (event.type === "turn_end" ? [event] : []));
	const last = JSON.stringify(wire.asked.findLast((body) => JSON.stringify(body).includes(`Question ${PROMPTS}`)));
	return { ends, told, last, longest: Math.max(...wire.asked.map((body) => countedIn(JSON.stringify(body)))) };
}

test.each(some(spoken, 3))("$name", async (of) => {
	const fitting = await talk(of, MOST);
	expect(fitting.ends.map(({ outcome }) => outcome)).toEqual(Array(PROMPTS).fill("completed"));
	expect(fitting.longest).toBeLessThanOrEqual(MOST);
	// It was told in short, and is asked with that.
	expect(fitting.told).toBeGreaterThan(0);
	expect(fitting.last).toContain(`short ${fitting.told}`);

	// The server is as strict as that: who does not know what it reads is refused, once a turn.
	const { ends, longest } = await talk(of, undefined);
	expect(longest).toBeGreaterThan(MOST);
	expect(ends.at(-1)).toMatchObject({
		outcome: "interrupted",
		reason: expect.stringMatching(/too long: \d+ tokens > 4000 maximum/),
	});
});
