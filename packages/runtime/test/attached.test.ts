/** Images that are given with prompts and by tools: beside the log before it names them, in each request as long as they count, and gone by `gc` when nothing names them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AttachedFile, Message, Model } from "@reyn/journal";
import { createFileTools } from "@reyn/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type GivenFile, mainSession } from "../src/index.ts";
import { everyCut, linesOf } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { seal } from "./kept-files.ts";
import { emptyArea, lastOf, makeProject, open, type Project, type Script, scripted, storeAt } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const png = (text: string): Uint8Array => Buffer.from(`\x89PNG\r\n\x1a\n${text}`, "latin1");
const shot: GivenFile = { name: "shot.png", bytes: png("a fox in the snow") };

/** A model that takes images. */
const seeing = (script: Script): ReturnType<typeof scripted> =>
	Object.assign(scripted(script), { accepts: ["image/png"] });

const filesIn = (message: Message | undefined): readonly AttachedFile[] =>
	message && "files" in message ? (message.files ?? []) : [];

/** What a model was shown: each text, with the bytes of its files. */
const shownIn = (messages: readonly Message[] = []) =>
	messages.map((message) => [
		message.text,
		...filesIn(message).map(({ data }) => Buffer.from(data ?? []).toString("latin1")),
	]);

const blobs = (state = project.state) => storeAt(state).blobs("images").list("");

const asImage = Buffer.from(shot.bytes).toString("latin1");
const LABEL = "[image shot.png, 25 B]";

async function talk(model: Model, prompts: readonly (readonly [string, ...GivenFile[]])[]) {
	const opened = await open(project, { model });
	for (const [text, ...files] of prompts) {
		await opened.runtime.prompt(text, mainSession, files);
		await opened.runtime.idle();
	}
	return opened;
}

const interruptions = (items: readonly { readonly type: string }[]): unknown =>
	items.filter(({ type }) => type === "turn_end").map((each) => (each as { reason?: string }).reason);

describe("an image of a prompt", () => {
	test("is shown to the model with it and later, to people as a line, and its bytes are in no record", async () => {
		const model = seeing(() => "A fox.");
		const { runtime } = await talk(model, [["What is it?", shot], ["And where?"]]);
		expect(shownIn(model.asked[0]?.messages)).toEqual([[`What is it?\n${LABEL}`, asImage]]);
		expect(shownIn(model.asked[1]?.messages)).toEqual([[`What is it?\n${LABEL}`, asImage], ["A fox."], ["And where?"]]);
		expect(runtime.conversation().items.at(0)).toMatchObject({ text: `What is it?\n${LABEL}` });
		await runtime.close();
		const log = (await linesOf(project.state)).join("\n");
		for (const form of ["a fox in the snow", Buffer.from(shot.bytes).toString("base64")])
			expect(log).not.toContain(form);
		expect(log).toContain('"text":"What is it?"');
		expect(await blobs()).toHaveLength(1);
	});

	test("is asked about with the same request after a kill at any record, and nothing is paid again", async () => {
		const script: Script = ({ messages }) =>
			messages.at(-1)?.role === "user" ? [{ name: "read", args: { path: "own.png" } }] : "Two foxes.";
		await writeFile(join(project.cwd, "own.png"), png("another fox"));
		const whole = seeing(script);
		const { runtime } = await talk(whole, [["Which is older?", shot]]);
		await runtime.close();
		const requests = whole.asked.map(({ messages }) => shownIn(messages));
		expect(requests[1]?.at(-1)).toEqual([
			"own.png (image/png) is shown:\n[image own.png, 19 B]",
			Buffer.from(png("another fox")).toString("latin1"),
		]);
		await everyCut(project, async (state, kinds) => {
			const model = seeing(script);
			const { runtime: next } = await open({ ...project, state }, { model });
			next.resume();
			if (!kinds.includes("user_prompt")) await next.prompt("Which is older?", mainSession, [shot]);
			await next.idle();
			const paid = kinds.filter(
				(kind, at) => kind === "step_completed" && kinds[at - 1] !== "assistant_message",
			).length;
			const asked = model.asked.map(({ messages }) => shownIn(messages));
			// What is left of the requests, none twice.
			expect(asked).toEqual(requests.slice(requests.length - asked.length));
			expect(asked.length).toBeLessThanOrEqual(requests.length - Math.min(paid, 1));
			expect(next.conversation().items.toArray().at(-1)).toMatchObject({ type: "reply", text: "Two foxes." });
			await next.close();
		});
	});

	test("goes with its turn when that is taken back, and its blob stays while one can go back there", async () => {
		await writeFile(join(project.cwd, "own.png"), png("another fox"));
		const other: GivenFile = { name: "other.png", bytes: png("a hare") };
		const model = seeing(({ messages }) =>
			messages.at(-1)?.text.startsWith("Look") ? [{ name: "read", args: { path: "own.png" } }] : "seen",
		);
		const { runtime } = await talk(model, [["hello"], ["What is it?", shot], ["Look.", other]]);
		const [first] = runtime.timeline.checkpoints();
		await runtime.checkout(first?.seq ?? 0, "test");
		await runtime.prompt("What now?", mainSession, [other]);
		await runtime.idle();
		expect(
			model.asked
				.at(-1)
				?.messages.flatMap(filesIn)
				.map(({ name }) => name),
		).toEqual(["other.png"]);
		await runtime.close();
		// What this process has put would stay anyhow.
		const { runtime: next } = await open(project, { model });
		await next.gc();
		expect(await blobs()).toHaveLength(3);
		await next.close();
	});

	filesTest("a segment goes as a whole")(
		"is collected once no kept record and no state names it, and not before",
		async () => {
			const other: GivenFile = { name: "other.png", bytes: png("a hare") };
			const model = seeing((request) => `${lastOf(request)} `);
			const first = await talk(model, [["hello"], ["What is it?", shot]]);
			const [checkpoint] = first.runtime.timeline.checkpoints();
			await first.runtime.checkout(checkpoint?.seq ?? 0, "test");
			await first.runtime.prompt("Which one?", mainSession, [other]);
			await first.runtime.idle();
			await first.runtime.close();
			await seal(project.state);
			const next = await talk(model, [["and?"], ["so?"]]);
			await next.runtime.close();
			await seal(project.state);
			const last = await talk(model, [["well?"]]);
			expect((await last.runtime.gc({ keepDays: 0, keepCheckpoints: 1, dryRun: true })).artifacts.files).toBe(1);
			expect(await blobs()).toHaveLength(2);
			expect((await last.runtime.gc({ keepDays: 0, keepCheckpoints: 1 })).artifacts.files).toBe(1);
			// Its record is gone, and the state that outlives it names it still.
			expect(await blobs()).toHaveLength(1);
			await last.runtime.prompt("and now?");
			await last.runtime.idle();
			expect(model.asked.at(-1)?.messages.flatMap(filesIn)).toMatchObject([{ name: "other.png", data: other.bytes }]);
			await last.runtime.close();
		},
	);

	test("whose record the log has lost is collected, and can be given again", async () => {
		const { runtime } = await talk(
			seeing(() => "A fox."),
			[["What is it?", shot]],
		);
		await runtime.close();
		await everyCut(project, async (state, kinds) => {
			if (kinds.includes("user_prompt")) return;
			const { runtime: next } = await open({ ...project, state }, { model: seeing(() => "A fox.") });
			expect(await blobs(state)).toHaveLength(1);
			await next.gc({ keepDays: 0, keepCheckpoints: 1 });
			expect(await blobs(state)).toEqual([]);
			await next.prompt("What is it?", mainSession, [shot]);
			await next.idle();
			expect(next.conversation().items.toArray().at(-1)).toMatchObject({ text: "A fox." });
			await next.close();
		});
	});
});

describe("an image that is missing or damaged", () => {
	const damage = async (): Promise<void> => {
		for (const name of await blobs()) await storeAt(project.state).blobs("images").put(name, png("a fox in the snoW"));
	};

	test.each([
		["missing", () => emptyArea(project.state, "images")],
		["damaged", damage],
	])("%s: a prompt of it asks nobody, and says so; one of long ago has a line in its place", async (what, harm) => {
		const model = seeing(({ messages }) => {
			if (messages.length === 1) throw Object.assign(new Error("busy"), { code: "ECONNREFUSED" });
			return "I see.";
		});
		const { runtime } = await talk(model, [["What is it?", shot]]);
		const tries = model.asked.length;
		await runtime.close();
		await harm();
		const { runtime: next, events } = await open(project, { model });
		next.resume();
		await next.idle();
		expect(model.asked.length).toBe(tries);
		expect(interruptions(events)).toEqual([
			expect.stringMatching(
				new RegExp(`^the file shot\\.png of this prompt is ${what} \\([0-9a-f]{2}/[0-9a-f]{64}\\): give it again`),
			),
		]);
		await next.prompt("Say something.");
		await next.idle();
		expect(shownIn(model.asked.at(-1)?.messages)[0]).toEqual([
			expect.stringMatching(
				new RegExp(`^What is it\\?\\n\\[image shot\\.png, 25 B\\]\\n\\(shot\\.png is not shown: it is ${what} `),
			),
		]);
		expect(next.conversation().items.toArray().at(-1)).toMatchObject({ text: "I see." });
		await next.close();
	});

	test("is there again when the prompt of a cut turn is given again", async () => {
		const model = seeing(() => {
			if (model.asked.length < 7) throw Object.assign(new Error("busy"), { code: "ECONNREFUSED" });
			return "A fox.";
		});
		const { runtime } = await talk(model, [["What is it?", shot]]);
		await runtime.close();
		await damage();
		const { runtime: next } = await open(project, { model });
		const turn = await next.prompt("What is it?", mainSession, [shot]);
		await next.idle();
		expect(turn).toBe(next.conversation().items.at(0)?.seq);
		expect(shownIn(model.asked.at(-1)?.messages)).toEqual([[`What is it?\n${LABEL}`, asImage]]);
		await next.close();
	});
});

describe("what cannot be attached", () => {
	test.each([
		["a text that is called .png", { name: "notes.png", bytes: Buffer.from("a fox") }, "notes.png is neither an image"],
		[
			"a large image",
			{ name: "a.png", bytes: Buffer.concat([png(""), Buffer.alloc(4e6)]) },
			"a.png has 4 MB, and up to 3.75 MB",
		],
		[
			"a type that the model does not take",
			{ name: "a.gif", bytes: Buffer.from("GIF89a") },
			"a.gif is image/gif, and scripted takes image/png",
		],
		["an empty file", { name: "a.png", bytes: new Uint8Array() }, "a.png is neither an image"],
	])("%s is refused, and nothing is recorded or kept", async (_, file, said) => {
		const { runtime } = await open(project, { model: seeing(() => "") });
		const { tip } = runtime.wal;
		await expect(runtime.prompt("What is it?", mainSession, [shot, file])).rejects.toMatchObject({
			code: "FILE_REFUSED",
			message: expect.stringContaining(said),
		});
		expect([runtime.wal.tip, await blobs()]).toEqual([tip, []]);
		await runtime.close();
	});

	test("for a model of texts alone is said by its name, and what was given to another one is a line for it", async () => {
		const first = await talk(
			seeing(() => "A fox."),
			[["What is it?", shot]],
		);
		await first.runtime.close();
		const model = scripted(() => "I see no fox.");
		const { runtime } = await talk(model, [["And now?"]]);
		expect(shownIn(model.asked[0]?.messages)[0]).toEqual([
			`What is it?\n${LABEL}\n(shot.png is not shown: scripted takes texts alone)`,
		]);
		await expect(runtime.prompt("And this?", mainSession, [shot])).rejects.toThrow(
			"image/png, and scripted takes texts alone",
		);
		await runtime.close();
	});
});

test("the step of a plan is shown the image that it reads, and its record keeps that", async () => {
	await writeFile(join(project.cwd, "own.png"), png("another fox"));
	const steps = [
		{ id: "a", description: "look at it", tools: ["read"], depends_on: [] },
		{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
	];
	const model = seeing(({ messages, tools }) => {
		if (messages.at(-1)?.role === "tool") return "Seen.";
		if (tools.some(({ name }) => name === "plan")) return [{ name: "plan", args: { goal: "look", steps } }];
		return tools.length > 0 ? [{ name: "read", args: { path: "own.png" } }] : "Seen.";
	});
	const { runtime } = await talk(model, [["Look."]]);
	const shown = model.asked.flatMap(({ messages }) => messages.flatMap(filesIn));
	expect(shown).toMatchObject([{ name: "own.png", data: Buffer.from(png("another fox")) }]);
	await runtime.close();
	const { runtime: next } = await open(project, { model });
	await next.gc();
	expect(await blobs()).toHaveLength(1);
	await next.close();
});

test("no name of a file carries a secret, a control, or a line of its own into the log", async () => {
	const model = seeing(() => "A fox.");
	const secret = "sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	const { runtime } = await open(project, { model, redact: (text) => text.replaceAll(secret, "***") });
	await runtime.prompt("What is it?", mainSession, [{ ...shot, name: `a\n\u001b[2J${secret}].png` }]);
	await runtime.idle();
	expect(runtime.conversation().items.at(0)).toMatchObject({ text: "What is it?\n[image a___2J***_.png, 25 B]" });
	await runtime.close();
	expect((await linesOf(project.state)).join("\n")).not.toContain(secret);
});

test("a file that is larger than what is shown is not read by a tool, whatever it is", async () => {
	await writeFile(join(project.cwd, "large.png"), Buffer.concat([png(""), Buffer.alloc(4e6)]));
	const model = seeing(({ messages }) =>
		messages.length === 1 ? [{ name: "read", args: { path: "large.png" } }] : "no",
	);
	const { runtime } = await open(project, { model, tools: createFileTools(project.cwd) });
	await runtime.prompt("What is it?");
	await runtime.idle();
	expect(lastOf(model.asked[1] as never)).toBe("ERROR: large.png has 4.0 MB; of image/png up to 3.8 MB are shown");
	expect(await blobs()).toEqual([]);
	await runtime.close();
});
