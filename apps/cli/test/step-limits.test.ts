/** The limits of steps, from a configuration file to how a plan ends where nobody can be asked. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime, type RuntimeEvent, type RuntimeOptions } from "@reyn/runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runtimeOptionsOf } from "../src/config/options.ts";
import { settingsOf } from "../src/config/settings.ts";

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-limits-"));
});
afterEach(() => rm(root, { recursive: true }));

const steps = [
	{ id: "a", description: "look", tools: ["look"] },
	{ id: "b", description: "say it", depends_on: ["a"] },
];

/** Step `a` looks so many times before it is done; the last time for ever where it `hangs`. Each answer takes 11 tokens. */
function modelThat(looks: number, hangs: boolean): RuntimeOptions["model"] {
	let looked = 0;
	return {
		id: "scripted",
		async *generate({ messages }, { signal }) {
			const step = /^Step (\w+):/m.exec(messages[0]?.text ?? "")?.[1];
			if (step === undefined) yield { type: "toolCall", call: { id: "p", name: "plan", args: { goal: "g", steps } } };
			else if (step === "b" || (looked === looks && !hangs)) yield { type: "text", text: "found" };
			else if (looked === looks) {
				await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
				throw signal.reason;
			} else yield { type: "toolCall", call: { id: `${++looked}`, name: "look", args: {} } };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

/** Why step `a` has failed with this configuration; undefined: it has not. */
async function failureWith(yaml: string, looks: number, hangs = false): Promise<string | undefined> {
	await writeFile(join(root, "reyn.yaml"), yaml);
	const { config } = await settingsOf({ cwd: root, state: join(root, ".reyn") }, {});
	const events: RuntimeEvent[] = [];
	await using runtime = await openRuntime({
		state: await mkdtemp(join(root, "state-")),
		model: modelThat(looks, hangs),
		tools: [{ name: "look", description: "looks", parameters: {}, purity: "world", call: async () => "seen" }],
		unanswered: "deny",
		onEvent: (event) => void events.push(event),
		...runtimeOptionsOf(config),
	});
	await runtime.prompt("plan it");
	await runtime.idle();
	expect(events.findLast(({ type }) => type === "plan_end")).toMatchObject({ type: "plan_end", outcome: "completed" });
	return events
		.flatMap((event) => (event.type === "plan_step" && event.change.status === "failed" ? [event.change.reason] : []))
		.at(0);
}

test("a step may take so many tokens", async () => {
	expect(await failureWith("", 4)).toBeUndefined();
	expect(await failureWith("plan: { step_tokens: 40 }", 4)).toMatch(/used 44 tokens of 40.*raise plan\.step_tokens/);
	expect(await failureWith("plan: { step_tokens: 50 }", 4)).toBeUndefined();
});

test("a step may work for so many seconds", async () => {
	expect(await failureWith("plan: { step_timeout_seconds: 1 }", 1, true)).toMatch(
		/worked for 1 s without a result; raise plan\.step_timeout_seconds/,
	);
});

test("at a limit it fails, or is extended as often as is said", async () => {
	const rounds = "plan: { step_max_iterations: 2 }\n";
	expect(await failureWith(rounds, 3)).toMatch(/after 2 turns/);
	expect(await failureWith(`${rounds}limits: { on_limit: refuse, auto_extend_times: 9 }`, 3)).toMatch(/after 2 turns/);
	expect(await failureWith(`${rounds}limits: { on_limit: extend }`, 3)).toBeUndefined();
	expect(await failureWith(`${rounds}limits: { on_limit: extend }`, 5)).toMatch(/after 4 turns/);
	expect(await failureWith(`${rounds}limits: { on_limit: extend, auto_extend_times: 2 }`, 5)).toBeUndefined();
});
