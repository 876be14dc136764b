/** A runtime with polls, and nothing else of ours: `node bot.ts ask | vote <who> <what> | stop | back <seq> | undo | log`. */
import { appendFile, readFile } from "node:fs/promises";
import type { Model } from "@reyn/journal";
import { openRuntime, type RuntimeEvent } from "@reyn/runtime";
import { type Board, type PollEnd, pollFeature, polls } from "./poll.ts";

/** A file in the part of the world: a line for each result that was posted. */
const board: Board = {
	async post(result, key) {
		await appendFile("sent.txt", `${key} ${result}\n`);
		if (process.env.CRASH === "post") process.kill(process.pid, "SIGKILL");
	},
	has: async (key) => (await readFile("sent.txt", "utf8").catch(() => "")).includes(`${key} `),
};

/** Follows a script: no key, no network. */
const model: Model = {
	id: "scripted",
	async *generate({ messages }) {
		const args = { question: "Tea?", voters: 2 };
		if (messages.at(-1)?.role === "user") yield { type: "toolCall", call: { id: "1", name: "open_poll", args } };
		else yield { type: "text", text: "They are asked." };
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 5 } };
	},
};

const feature = pollFeature(board);
const ended: string[] = [];
const runtime = await openRuntime({
	state: ".reyn",
	model,
	tools: [],
	features: [feature],
	// A listener takes the events of its features too: no cast, and each type is told apart.
	onEvent: (event: RuntimeEvent | PollEnd) => {
		if (event.type === "poll_end") ended.push(event.result);
	},
	onMessage: async ({ text }) => console.log(`message: ${text}`),
});
const poll = runtime.hostOf(feature);
const newest = (): string => Object.keys(runtime.view().get(polls)).at(-1) ?? "";

const [verb, ...rest] = process.argv.slice(2);
const [first = "", second = ""] = rest;
runtime.resume();
if (verb === "ask") await runtime.prompt("ask them");
if (verb === "vote") await poll.vote(newest(), first, second);
if (verb === "stop") await poll.stop(newest());
if (verb === "back") await runtime.checkout(Number(first), "you");
if (verb === "undo") await runtime.undo("you");
await runtime.idle();
for (const result of ended) console.log(`poll_end: ${result}`);
const found = Object.values(runtime.view().get(polls));
const lines = found.map(({ question, votes, status }) => `${question} ${JSON.stringify(votes)} ${status}`);
console.log(`${lines.join("\n") || "no polls"}, seq ${runtime.wal.tip}`);
await runtime.close();
