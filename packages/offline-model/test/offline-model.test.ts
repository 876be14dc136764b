/** The offline model: as a port, in the chat, as plan steps, and in what it finds. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Message, ToolCall } from "@reyn/journal";
import { testModel } from "@reyn/journal/testing";
import { createFileTools } from "@reyn/tools";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { approximateTokens, offlineModel } from "../src/offline-model.ts";
import { askIn, collect, inChat, live, parts, reply, request, type Told, user } from "./talk.ts";

testModel(
	{ describe, test, expect },
	{ name: "offline", make: offlineModel, makeSilent: () => offlineModel({ paceMs: 1e9 }) },
);

test("says which files it was given and that it does not see them, takes their lines for no words, and counts no bytes", async () => {
	const data = new Uint8Array(100_000);
	const file = { name: "spout.png", mediaType: "image/png", bytes: data.length, sha256: "ab".repeat(32) };
	const shown: Message = { role: "user", text: "hello\n[image spout.png, 100 KB]", files: [{ ...file, data }] };
	const { text: greeting } = await reply(request([user("hello")]));
	const said = await parts(request([shown]));
	expect(said.map((part) => (part.type === "text" ? part.text : "")).join("")).toBe(
		`I was given [image spout.png, 100 KB], and do not see it: I read texts alone.\n\n${greeting}`,
	);
	const { usage } = said.at(-1) as { usage?: { inputTokens: number } };
	expect(usage?.inputTokens).toBeLessThan(100);
	// What was given before is not said again.
	const later = await reply(request([shown, { role: "assistant", text: "…", toolCalls: [] }, user("hello")]));
	expect(later.text).toBe(greeting);
});

let root: string;

beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-offline-"));
	const files = {
		"README.md": "# Kettle\n\nA kettle that writes down every cup before it pours.\n\n## Install\nPlug it in.\n",
		"docs/pouring.md":
			"# Pouring\n\nA spout is the part that the tea leaves by. It is cleaned once a day.\n\n## Valve\nThe valve closes by itself.\n",
		"src/spout.ts":
			'import { valve } from "./valve.ts";\n\n/** The spout pours one cup and waits for the valve. */\nexport function pourCup(size: number): void {\n\tvalve(size);\n}\n',
		"src/valve.ts": "/** Opens for so long. */\nexport function valve(size: number): void {\n\tconsole.log(size);\n}\n",
		"src/ledger.py":
			'class CupLedger:\n    """Keeps every cup that was poured."""\n\n    def append_cup(self, cup):\n        self.cups.append(cup)\n',
		"test/spout.test.ts": 'test("the spout pours one cup at a time", () => {\n\tpourCup(1);\n});\n',
		"package-lock.json": '{ "spout": "1.0.0" }\n',
	};
	for (const [path, text] of Object.entries(files)) {
		await mkdir(dirname(join(root, path)), { recursive: true });
		await writeFile(join(root, path), text);
	}
});

afterAll(() => rm(root, { recursive: true }));

const ask = (messages: readonly Message[], tools = inChat, planned: readonly string[] = []): Promise<Told> =>
	askIn(root, messages, tools, planned);

describe("as a model", () => {
	test("an answer is text in pieces of a few words and one usage at the end", async () => {
		const all = await parts(request([user("hello")], inChat));
		expect(all.slice(0, -1).every((part) => part.type === "text" && part.text.split(/\s+/).length <= 6)).toBe(true);
		expect(all.length).toBeGreaterThan(2);
		const { text } = await reply(request([user("hello")], inChat));
		expect(all.at(-1)).toEqual({
			type: "usage",
			usage: {
				inputTokens: approximateTokens(JSON.stringify(request([user("hello")], inChat))),
				outputTokens: approximateTokens(text),
			},
		});
	});

	test("a tool call comes whole, and counts as output", async () => {
		const all = await parts(request([user("where is the spout?")], inChat));
		expect(all).toEqual([
			{ type: "toolCall", call: { id: expect.stringMatching(/^call_/), name: "search", args: { query: "spout" } } },
			{ type: "usage", usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) } },
		]);
		expect(all.at(-1)).toMatchObject({ usage: { outputTokens: expect.toSatisfy((tokens: number) => tokens > 10) } });
	});

	test("a token is about four characters", () => {
		expect([approximateTokens(""), approximateTokens("abcd"), approximateTokens("abcde")]).toEqual([0, 1, 2]);
	});

	test("the same request gets the same parts, and whole conversations repeat", async () => {
		for (const question of ["where is the spout?", "compare the spout and the valve", "what is here?"]) {
			expect(await parts(request([user(question)], inChat))).toEqual(await parts(request([user(question)], inChat)));
			expect((await ask([user(question)])).messages).toEqual((await ask([user(question)])).messages);
		}
	});

	test("no two calls of a conversation have the same id", async () => {
		const { messages } = await ask(
			(await ask([user("where is the spout?")])).messages.concat(user("where is the spout?")),
		);
		const ids = messages.flatMap((message) =>
			message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [],
		);
		expect(ids.length).toBeGreaterThan(3);
		expect(new Set(ids).size).toBe(ids.length);
	});

	test("an aborted call throws the signal's reason, before the first part and between two", async () => {
		const reason = new Error("enough");
		const stopped = new AbortController();
		const stream = offlineModel().generate(request([user("hello")], inChat), { signal: stopped.signal });
		const iterator = stream[Symbol.asyncIterator]();
		expect(await iterator.next()).toMatchObject({ done: false });
		stopped.abort(reason);
		await expect(iterator.next()).rejects.toBe(reason);
		await expect(collect(offlineModel().generate(request([user("hello")]), { signal: stopped.signal }))).rejects.toBe(
			reason,
		);
	});

	test("a paced call says the same, and an abort ends its wait with the reason", async () => {
		const asked = request([user("hello")], inChat);
		expect(await collect(offlineModel({ paceMs: 30 }).generate(asked, { signal: live }))).toEqual(await parts(asked));
		const reason = new Error("enough");
		const stopped = new AbortController();
		const waiting = collect(offlineModel({ paceMs: 1e9 }).generate(asked, { signal: stopped.signal }));
		stopped.abort(reason);
		await expect(waiting).rejects.toBe(reason);
	});
});

describe("in the chat", () => {
	test.each([
		["hi", /^Hello/],
		["Hi there!", /^Hello/],
		["thanks a lot", /welcome/],
		["who are you?", /^I am the offline model/],
		["what can you do?", /plan/],
		["help", /path:line/],
		["???", /path:line/],
		["ok", /next/],
		["bye", /Goodbye/],
	])("%s is answered in words, without a tool", async (question, answer) => {
		const { text, calls } = await reply(request([user(question)], inChat));
		expect(text).toMatch(answer);
		expect(calls).toEqual([]);
	});

	test.each(["", "...", "what about the", "und?"])(
		"%j names nothing, so it asks what to look for",
		async (question) => {
			const { text, calls } = await reply(request([user(question)], inChat));
			expect(text).toMatch(/look for/i);
			expect(calls).toEqual([]);
		},
	);

	test("a greeting before a question does not hide the question", async () => {
		expect((await ask([user("Hi! Where is the valve?")])).did[0]).toBe("search valve");
	});

	test("a simple question is one search, at most two reads, and an answer that quotes with path and line", async () => {
		const { did, text } = await ask([user("where is pourCup defined?")]);
		expect(did[0]).toBe("search pourcup");
		expect(did).toContain("read src/spout.ts");
		expect(did.length).toBeLessThanOrEqual(3);
		expect(text).toContain("pourCup is defined at src/spout.ts:4.");
		expect(text).toContain("src/spout.ts:3-6\n  3| /** The spout pours one cup and waits for the valve. */");
		expect(text).not.toContain("package-lock");
	});

	test("asked what a thing is, it quotes the sentence that says so", async () => {
		expect((await ask([user("What is a spout?")])).text).toMatch(
			/^“A spout is the part that the tea leaves by\.” \(docs\/pouring\.md:3\)/,
		);
	});

	test("every quoted line stands in the file as it is quoted", async () => {
		const { text } = await ask([user("how are cups appended?")]);
		expect(text).toContain("4|     def append_cup(self, cup):".replace("    def", "def"));
		expect(text).toContain("src/ledger.py:4");
	});

	test("what is nowhere is said to be nowhere", async () => {
		const { did, text } = await ask([user("does it use kafka?")]);
		expect(did).toEqual(["search kafka"]);
		expect(text).toBe('I found nothing about kafka: no line in the 7 files that I searched contains "kafka".');
	});

	test("when only a part is found, it says what is missing", async () => {
		const { text } = await ask([user("where does the spout talk to kafka?")]);
		expect(text).toContain("Nothing mentions");
		expect(text).toMatch(/kafka/);
	});

	test("a name that is nowhere is looked for by its parts, and the answer says that the whole is not there", async () => {
		const { did, text } = await ask([user("where is pourLedger?")]);
		expect(did.slice(0, 2)).toEqual(["search pourledger", "search pour ledger"]);
		expect(text).toMatch(/^No line has all of pourLedger\./);
	});

	test("a follow-up is about the question before", async () => {
		const before = await ask([user("where is the spout?")]);
		const { did, text } = await ask([...before.messages, user("and where is it tested?")]);
		expect(did[0]).toBe("search spout");
		expect(text).toContain("test/spout.test.ts:1");
		expect(text).not.toContain("src/spout.ts");
	});

	test("a question about a file reads that file, wherever it lies", async () => {
		expect((await ask([user("what is in docs/pouring.md?")])).did).toEqual(["read docs/pouring.md"]);
		const { did, text } = await ask([user("what does valve.ts do?")]);
		expect(did.at(-1)).toBe("read src/valve.ts");
		expect(text).toContain("- src/valve.ts:2: export function valve(size: number): void {");
	});

	test("a question about a file outside is refused with the tool's reason", async () => {
		const { did, text } = await ask([user("what does /etc/passwd contain?")]);
		expect(did).toEqual(["read /etc/passwd"]);
		expect(text).toContain("is absolute");
	});

	test("asked what is here, it lists and reads the introduction", async () => {
		const { did, text } = await ask([user("what is this project about?")]);
		expect(did).toEqual(["list", "read README.md"]);
		expect(text).toMatch(/^“# Kettle” \(README\.md:1\) “A kettle that writes down/);
		expect(text).toContain("- src/ 3 files");
	});

	test("without any tool to look with it says so", async () => {
		expect((await reply(request([user("where is the spout?")], ["plan"]))).text).toMatch(/no tools to look/);
	});
});

describe("with a plan", () => {
	const wide = [
		"compare the spout and the valve",
		"what is the difference between the ledger and the spout?",
		"explain how the spout works, with references to the code",
		"how do the spout and the valve work together?",
		"Where is a cup poured? How is it written down? What closes the valve?",
		"describe the spout, the valve, the ledger, the kettle, the cup and the tea",
		`compare the ${"porcelain teapot lid handle ".repeat(4)} with the valve`,
		"plan: how the ledger is kept",
	];

	test.each(wide)("%s becomes a plan of 2 to 7 steps with one last step", async (question) => {
		const { plan, did, text } = await ask([user(question)]);
		expect(did).toEqual(["plan"]);
		expect(text).toMatch(/^Plan 1a works on it in the background/);
		const steps = plan?.steps ?? [];
		expect(steps.length).toBeGreaterThanOrEqual(4);
		expect(steps.length).toBeLessThanOrEqual(7);
		const last = steps.at(-1);
		expect(last?.tools).toEqual([]);
		expect(last?.depends_on).toEqual(steps.slice(0, -1).map(({ id }) => id));
		for (const step of steps.slice(0, -1)) {
			expect(step.depends_on).toEqual([]);
			expect(step.tools.every((tool) => ["list", "search", "read"].includes(tool))).toBe(true);
			expect(step.tools.length).toBeGreaterThan(0);
		}
		expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
		for (const { description } of steps) expect(description.length).toBeLessThan(60);
	});

	test("the steps speak in the words of the question", async () => {
		const { plan } = await ask([user("Compare the tea spout with the closing valve.")]);
		expect(plan?.steps.map(({ description }) => description)).toEqual([
			"List the files around tea spout",
			"Find “tea spout” in the files",
			"Find “closing valve” in the files",
			"Find “tea spout and closing valve” together",
			"Compare tea spout and closing valve",
		]);
		expect(plan?.goal).toBe("Compare the tea spout with the closing valve.");
	});

	test("a refused plan is made simpler once; refused again, the question is answered at once", async () => {
		const again = await ask([user(wide[0] ?? "")], inChat, ["ERROR: step s2 wants the tool read"]);
		expect(again.did).toEqual(["plan", "plan"]);
		expect(again.plan?.steps.map(({ id, tools, depends_on }) => ({ id, tools, depends_on }))).toEqual([
			{ id: "s1", tools: ["search"], depends_on: [] },
			{ id: "s2", tools: [], depends_on: ["s1"] },
		]);
		const direct = await ask([user(wide[0] ?? "")], inChat, ["ERROR: no", "ERROR: no"]);
		expect(direct.did.slice(0, 3)).toEqual(["plan", "plan", "search spout valve"]);
		expect(direct.text).toContain("src/spout.ts");
	});

	const stepText = (
		goal: string,
		id: string,
		description: string,
		results: readonly (readonly [string, string, string])[] = [],
	) =>
		[
			`Goal: ${goal}`,
			`Step ${id}: ${description}`,
			...(results.length === 0 ? [] : ["Results of the steps before:"]),
			...results.map(([step, title, text]) => `### ${step}: ${title}\n${text}`),
		].join("\n");

	test("a search step searches, reads and reports one quoted line a bullet, in at most four calls", async () => {
		const asked = user(stepText("compare the spout and the valve", "s2", "Find “spout” in the files"));
		const { did, text, messages } = await ask([asked], ["search", "read"]);
		expect(did[0]).toBe("search spout");
		expect(messages.filter(({ role }) => role === "assistant").length).toBeLessThanOrEqual(4);
		expect(text).toContain("- src/spout.ts:3: /** The spout pours one cup and waits for the valve. */");
	});

	test("a list step lists, and says which files are named like the question", async () => {
		const { did, text } = await ask(
			[user(stepText("about the spout", "s1", "List the files around spout"))],
			["list", "read"],
		);
		expect(did).toEqual(["list", "read README.md"]);
		expect(text).toContain("Named like it: src/spout.ts, test/spout.test.ts");
	});

	test("a step about tests shows tests only, or says that there are none", async () => {
		const about = (label: string) =>
			ask([user(stepText("x", "s3", `See how tests cover “${label}”`))], ["search", "read"]);
		expect((await about("spout")).text).toContain("- test/spout.test.ts:1:");
		expect((await about("ledger")).text).toMatch(
			/^I found nothing about ledger in tests; what mentions it is elsewhere\./,
		);
	});

	test("a step whose tools fail says why", async () => {
		const step = user(stepText("x", "s1", "Find “spout” in the files"));
		const { calls } = await reply(request([step], ["search"]));
		const [call] = calls as [ToolCall];
		const failed: Message[] = [
			step,
			{ role: "assistant", text: "", toolCalls: calls },
			{ role: "tool", callId: call.id, name: "search", text: "ERROR: the disk is gone" },
		];
		expect((await reply(request(failed, ["search"]))).text).toBe("I could not look for spout: the disk is gone");
	});

	test("the last step answers from the results: in short, by part, what is missing, what to read next", async () => {
		const goal = "compare the spout and the valve";
		const text = stepText(goal, "s5", "Compare spout and valve", [
			["s1", "List the files around spout", "the root: 7 files (3 .ts).\n- src/ 3 files"],
			[
				"s2",
				"Find “spout” in the files",
				"pourCup is defined at src/spout.ts:4.\n- src/spout.ts:3: /** The spout pours. */\n- src/spout.ts:4: export function pourCup() {",
			],
			["s3", "Find “valve” in the files", "(FAILED: tool search: no permission)"],
			[
				"s4",
				"Look up “spout” in the docs",
				'I found nothing about spout: no line in the 7 files that I searched contains "spout".',
			],
		]);
		expect((await reply(request([user(text)]))).text).toBe(
			[
				"In short: compare the spout and the valve",
				"- spout: pourCup is defined at src/spout.ts:4.",
				"",
				"spout",
				"- src/spout.ts:3: /** The spout pours. */",
				"- src/spout.ts:4: export function pourCup() {",
				"",
				"Where things are",
				"  - src/ 3 files",
				"",
				"Missing from this answer:",
				"- valve: this step failed (tool search: no permission)",
				'- spout in the docs: I found nothing about spout: no line in the 7 files that I searched contains "spout".',
				"",
				"Read next: src/spout.ts",
			].join("\n"),
		);
	});

	test("no file shows both only where no quoted line speaks of both", async () => {
		const compared = async (together: string) => {
			const text = stepText("compare the spout and the valve", "s4", "Compare spout and valve", [
				["s1", "Find “spout” in the files", "x\n- src/spout.ts:3: the spout"],
				["s2", "Find “valve” in the files", "x\n- src/valve.ts:2: the valve"],
				["s3", "Find “spout and valve” together", `x\n- ${together}`],
			]);
			return (await reply(request([user(text)]))).text;
		};
		expect(await compared("docs/a.md:1: the tea")).toContain(
			"- No file quoted here shows both: spout is in src/spout.ts; valve is in src/valve.ts.",
		);
		expect(await compared("docs/a.md:1: the spout has a valve")).toContain("- Both: docs/a.md");
		expect(await compared("src/spout.ts:9: a valve")).toContain("- Both: src/spout.ts");
	});

	test("when every step failed, the answer says so and claims nothing", async () => {
		const text = stepText("explain the spout", "s2", "Answer", [["s1", "Find “spout” in the files", "(FAILED: gone)"]]);
		expect((await reply(request([user(text)]))).text).toBe(
			"I found nothing to answer “explain the spout” with.\n\nMissing from this answer:\n- spout: this step failed (gone)",
		);
	});

	test("results in the words of another model are carried over", async () => {
		const text = stepText("explain tea", "s2", "Write it up", [
			["s1", "Think about tea", "Tea is a drink.\nIt is hot.\nSee docs/pouring.md:3."],
		]);
		const answer = (await reply(request([user(text)]))).text;
		expect(answer).toContain("- Think about tea: Tea is a drink.");
		expect(answer).toContain("It is hot.");
	});

	test("a plan runs from the question to an answer with references, in any directory", async () => {
		const { plan } = await ask([user("compare the spout and the valve")]);
		const results = new Map<string, string>();
		for (const { id, description, tools, depends_on } of plan?.steps ?? []) {
			const before = depends_on.map(
				(need) =>
					[need, plan?.steps.find((step) => step.id === need)?.description ?? "", results.get(need) ?? ""] as const,
			);
			const asked = user(stepText(plan?.goal ?? "", id, description, before));
			results.set(id, (await ask([asked], tools)).text);
		}
		const answer = results.get("s5") ?? "";
		expect(answer).toContain("- spout: “A spout is the part that the tea leaves by.” (docs/pouring.md:3)");
		expect(answer).toContain("- valve: valve is defined at src/valve.ts:2. “The valve closes by itself.”");
		expect(answer.split("\n").length).toBeLessThanOrEqual(60);
		expect(answer).toContain("Read next: ");
	});
});

describe("for anything else", () => {
	test("with tools, an instruction is looked up like a question", async () => {
		const { did, text } = await ask([user("Find out where cups are appended.")], ["search", "read"]);
		expect(did[0]).toBe("search cup append");
		expect(text).toContain("src/ledger.py:4");
	});

	test("without tools, it keeps the lines of the given text that the instruction is about", async () => {
		const text =
			"Summarise what is said about the valve.\n\nThe kettle is red.\nThe valve closes by itself.\nIt was made in May.";
		expect((await reply(request([user(text)]))).text).toBe("- The valve closes by itself.");
	});

	test("given a search result, it keeps the best lines with their places", async () => {
		const found = await createFileTools(root)
			.find(({ name }) => name === "search")
			?.call({ query: "ledger" }, { signal: live });
		const { text } = await reply(request([user(`Sum up what is said about: ledger\n\n${found}`)]));
		expect(text).toContain("- src/ledger.py:1: class CupLedger:");
	});

	test("with neither tools nor text it says that it cannot", async () => {
		expect((await reply(request([user("Summarise it")]))).text).toMatch(/neither a text here nor a tool/);
	});
});
