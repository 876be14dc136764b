/**
 * What a model is asked after a rewind, in any mode, to any seq of a recorded history with calls made beside each other, with files and
 * without, also behind a cut by gc: each provider's wire accepts it.
 */
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Model, ModelRequest, Tool, ToolCall } from "@reyn/journal";
import { fileStore, mainSession, openRuntime, type RewindMode, type RewindPreview, type Runtime } from "@reyn/runtime";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { expect, test } from "vitest";
import { spoken } from "../../packages/ai-sdk/test/spoken.ts";
import { openWire } from "../../packages/ai-sdk/test/wire.ts";
import { seal } from "../../packages/runtime/test/kept-files.ts";
import { makeProject } from "../../packages/runtime/test/project.ts";
import { sample } from "../sample.ts";

/** One of so many of all cases; `REYN_EVERY=1` tries them all. */
const EVERY = Number(process.env.REYN_EVERY ?? sample(17, 6));
const modes: readonly RewindMode[] = ["both", "conversation_only", "code_only", "summarize"];

type Call = readonly [name: string, args: object];
/** What is said and called in each round of a turn, beside each other. */
type Round = readonly [text: string, ...calls: readonly Call[]];

const write = (path: string, text: string): Call => ["write", { path, text }];
const turns: readonly (readonly Round[])[] = [
	[["I look first.", ["list", {}], ["read", { path: "README.md" }]], ["There is a calculator."]],
	[
		["", write("a.txt", "a\n"), write("b.txt", "b\n"), ["list", { path: "src" }]],
		["One more.", write("c.txt", "c\n"), ["read", { path: "none.txt" }]],
		["All three are there."],
	],
	[["", ["read", { path: "a.txt" }], write("d.txt", "d\n")], ["Done."]],
	[["I try.", write("e.txt", "e\n"), ["halt", {}], ["halt", { again: true }]]],
];

/** Plays a turn, whose number is its prompt. Anything else it answers in a word. */
function playing(asked: ModelRequest[]): Model {
	return {
		id: "playing",
		async *generate(request) {
			asked.push(request);
			const last = request.messages.findLastIndex(({ role }) => role === "user");
			const rounds = turns[Number(request.messages[last]?.text)] ?? [["Yes."]];
			const round = request.messages.slice(last).filter(({ role }) => role === "assistant").length;
			const [text = "", ...calls] = rounds[round] ?? ["Yes."];
			if (text !== "") yield { type: "text", text };
			for (const [i, [name, args]] of calls.entries())
				yield { type: "toolCall", call: { id: `${last}-${round}-${i}`, name, args } as ToolCall };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

async function opened(state: string, cwd: string, model: Model, halts = false): Promise<Runtime> {
	/** Once, the person stops the turn while it is called. */
	const halt: Tool = {
		...{ name: "halt", description: "halts", parameters: { type: "object" }, purity: "side_effect" },
		async call(_, { signal }) {
			if (!halts) return { text: "halted" };
			runtime.cancel();
			throw signal.reason;
		},
	};
	const runtime = await openRuntime({
		store: fileStore(state),
		model,
		tools: [...createFileTools(cwd, { writes: true }), halt],
		files: createWorkFiles(cwd),
		onMessage: async () => {},
	});
	return runtime;
}

test.each([false, true])("each request after a rewind is accepted; behind a cut by gc: %s", async (isCut) => {
	await using project = await makeProject();
	const { state, cwd, root } = project;
	let tip = 0;
	for (const [i] of turns.entries()) {
		const runtime = await opened(state, cwd, playing([]), true);
		await runtime.prompt(String(i));
		await runtime.idle();
		({ tip } = runtime.wal);
		await runtime.close();
		// What is cut goes in whole segments.
		if (isCut) await seal(state);
	}
	if (isCut) {
		const last = await opened(state, cwd, playing([]));
		await last.gc({ keepDays: 0, keepCheckpoints: 2 });
		expect(last.timeline.retainedFrom).toBeGreaterThan(1);
		({ tip } = last.wal);
		await last.close();
	}

	const asked: ModelRequest[] = [];
	let [moved, refused] = [0, 0];
	for (let at = 0; at < (tip + 1) * modes.length; at += EVERY) {
		const [seq, mode] = [Math.floor(at / modes.length), modes[at % modes.length] ?? "both"];
		const [toState, toCwd] = [join(root, `state-${at}`), join(root, `work-${at}`)];
		await cp(state, toState, { recursive: true });
		await cp(cwd, toCwd, { recursive: true });
		const next = await opened(toState, toCwd, playing(asked));
		const preview = await next
			.previewRewind(seq, mode, at % 3 === 0 ? mainSession : {}, at % 3 === 1)
			.catch((error: { readonly code?: string }) => error);
		if ("code" in preview) {
			// Nobody knows any more what was there.
			expect([isCut, preview.code]).toEqual([true, "TIMETRAVEL_PRUNED"]);
			refused++;
		} else {
			await next.applyRewind(preview as RewindPreview, "me");
			next.resume();
			await next.prompt("and now?");
			await next.idle();
			expect(next.conversation().items.at(-1)).toMatchObject({ text: "Yes." });
			moved++;
		}
		await next.close();
	}
	expect(moved).toBeGreaterThan(3);
	expect(refused > 0).toBe(isCut);
	const unlike = [...new Map(asked.map((request) => [JSON.stringify(request.messages), request])).values()];
	expect(unlike.some(({ messages }) => messages.some(({ role }) => role === "tool"))).toBe(true);
	// The adapter would make up what is missing.
	for (const { messages } of unlike)
		for (const [at, message] of messages.entries()) {
			const ids = message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [];
			const results = messages.slice(at + 1).slice(0, ids.length);
			expect(results.map((each) => (each.role === "tool" ? each.callId : each.role))).toEqual(ids);
		}
	for (const { name, speaker, model: make } of spoken) {
		await using wire = await openWire(speaker, () => ({ text: "Yes." }));
		const model = make(wire);
		for (const request of unlike)
			await expect(all(model, request), `${name}: ${JSON.stringify(request.messages)}`).resolves.toBeDefined();
		expect(wire.asked).toHaveLength(unlike.length);
	}
	console.log(
		`${moved} rewinds, ${refused} refused; ${unlike.length} unlike requests, each accepted by ${spoken.length} wires`,
	);
	expect(await readdir(cwd)).toContain("d.txt");
});

async function all(model: Model, request: ModelRequest): Promise<readonly unknown[]> {
	const parts: unknown[] = [];
	for await (const part of model.generate(request, { signal: new AbortController().signal })) parts.push(part);
	return parts;
}
