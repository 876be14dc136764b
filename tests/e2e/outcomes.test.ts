/** What becomes of a turn, whatever a provider does: over each wire, in two lives. No turn is lost, and no answer is paid for twice. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type Tool } from "@reyn/journal";
import { openRuntime, type Runtime, type RuntimeEvent } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Spoken, spoken } from "../../packages/ai-sdk/test/spoken.ts";
import { openWire, type Reply } from "../../packages/ai-sdk/test/wire.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-outcomes-"));
	await writeFile(join(root, "shot.png"), Buffer.from("\x89PNG\r\n\x1a\n a fox", "latin1"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** The whole answer of a turn that comes to one. */
const done: Reply = { text: "Under a root." };

const refused = (status: number, headers = {}): Reply => ({
	refusal: {
		status,
		headers,
		body: { type: "error", error: { type: "t", code: status, status: "T", message: "busy" } },
	},
});

const call = (args: string, name = "look", id = "call_1") => ({ id, name, args });

interface Outcome {
	/** What is done to the turn before `done`, which is there for who asks again. */
	readonly replies: (of: Spoken) => readonly Reply[];
	readonly prompt?: string;
	/** How often the provider is asked in both lives. */
	readonly asked: number;
	/** Why there is no answer. Absent: there is one. */
	readonly fails?: RegExp;
	/** So many tokens were read, and it is told that there were more. */
	readonly unread?: number;
	/** How often the tool was called. */
	readonly looks?: number;
}

const outcomes: Readonly<Record<string, Outcome>> = {
	"a 429 with retry-after": { replies: () => [refused(429, { "retry-after": "0" }), done], asked: 2 },
	"a 429 of an empty account": {
		replies: ({ empty }) => [{ refusal: { status: 429, headers: { "retry-after": "0" }, body: empty } }],
		...{ asked: 1, fails: /quota|credit/i },
	},
	"a 529": { replies: () => [refused(529), done], asked: 2 },
	"an overload in the stream": { replies: ({ busy }) => [{ ...done, failsAs: busy }, done], asked: 2 },
	"a hang": { replies: () => [{ isSilent: true }, done], asked: 2 },
	"a stream that is cut": { replies: () => [{ ...done, cutAt: 2 }, done], asked: 2 },
	"malformed arguments": { replies: () => [{ calls: [call('{"what": ro')] }, done], asked: 2 },
	"the limit of tokens": { replies: () => [{ ...done, finish: "length" }], asked: 1, fails: /was cut after 7 tokens/ },
	"parallel calls": {
		replies: () => [{ calls: [call('{"what":"a"}'), call('{"what":"b"}', "look", "call_2")] }, done],
		...{ asked: 2, looks: 2 },
	},
	"half a character in a result": { replies: () => [{ calls: [call('{"what":"half"}')] }, done], asked: 2, looks: 1 },
	"an image in a result": { replies: () => [{ calls: [call('{"path":"shot.png"}', "read")] }, done], asked: 2 },
	"a prompt that is cut in silence": {
		prompt: "fox ".repeat(5000),
		replies: () => [{ ...done, reads: 4096 }],
		...{ asked: 1, unread: 4096 },
	},
};

describe.each(spoken)("$name", (of) => {
	test.each(Object.entries(outcomes))(
		"%s",
		async (name, { prompt = "Where does a fox sleep?", replies, ...expected }) => {
			await using wire = await openWire(of.speaker);
			wire.replies.push(...replies(of));
			const state = join(root, `${spoken.indexOf(of)}-${name.replaceAll(" ", "-")}`);
			const events: RuntimeEvent[] = [];
			let looks = 0;
			const look = defineTool({
				...{ name: "look", description: "looks", purity: "side_effect" },
				input: z.object({ what: z.string() }),
				async call({ what }) {
					looks++;
					return what === "half" ? "a fox \ud83e" : "a den";
				},
			});
			const open = (): Promise<Runtime> =>
				openRuntime({
					...{ state, model: of.model(wire), tools: [look as Tool, ...createFileTools(root)] },
					onEvent: (event) => void events.push(event),
					modelPolicy: { retry: { initialIntervalMs: 1, maxAttempts: 3 }, timeoutMs: name === "a hang" ? 300 : 20_000 },
				});
			const first = await open();
			await first.prompt(prompt);
			await first.idle();
			await first.close();
			const second = await open();
			second.resume();
			await second.idle();
			expect([wire.asked.length, looks]).toEqual([expected.asked, expected.looks ?? 0]);
			const ends = events.filter((event) => event.type === "turn_end");
			const unread = events.flatMap((event) => (event.type === "model_unread" ? event.read : []));
			expect(unread).toEqual(expected.unread === undefined ? [] : [expected.unread]);
			const said = (runtime: Runtime) =>
				runtime
					.conversation()
					.items.toArray()
					.flatMap((item) => (item.type === "reply" ? item.text : []));
			if (expected.fails) {
				expect(ends).toMatchObject([{ outcome: "interrupted", reason: expect.stringMatching(expected.fails) }]);
				expect(said(second)).toEqual([]);
			} else {
				expect(ends).toMatchObject([{ outcome: "completed" }]);
				expect(said(second)).toEqual([done.text]);
			}
			// What was asked before does not stand in the way.
			wire.replies.push({ ...done, reads: 9000 });
			await second.prompt("And by day?");
			await second.idle();
			expect(said(second).at(-1)).toBe(done.text);
			await second.close();
		},
	);
});
