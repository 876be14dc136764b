/** Verbs of one process on a log that another one has: done once, or refused with its reason; and who listens there is not believed blindly. */
import { chmodSync, lstatSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import { openRuntime, type Runtime } from "@reyn/runtime";
import { reset } from "@reyn/timetravel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { Frames, frameOf, MOST_BYTES } from "../src/holder/frames.ts";
import {
	act,
	beginAnywhere,
	beginThere,
	givenFor,
	holderOf,
	type Places,
	serveVerbs,
	type WorkVerb,
	type WriteVerb,
	whenGone,
} from "../src/index.ts";
import { type House, openHouse, verbOf } from "./house.ts";

let house: House;
let places: Places;
beforeEach(async () => {
	house = await openHouse();
	places = {
		directory: house.state,
		async reading(use) {
			await using reader = await house.reader();
			return await use(reader);
		},
		async working(use) {
			await using runtime = await openRuntime(house.options);
			return await use(runtime);
		},
	};
});
afterEach(() => house[Symbol.asyncDispose]());

const write = (name: string): WriteVerb => verbOf(name) as WriteVerb;
const look = (verb: WriteVerb, raw: Readonly<Record<string, unknown>>): Promise<object> =>
	places.reading((runtime) => verb.look(runtime, givenFor(verb, raw), false));
const tip = (): number => house.runtime.wal.tip;

async function resetsIn({ wal }: Runtime): Promise<number> {
	let count = 0;
	for await (const record of wal.read()) if (reset.is(record)) count++;
	return count;
}

describe("where another process has the log", () => {
	const acted: string[] = [];
	beforeEach(async () => {
		acted.length = 0;
		await serveVerbs(house.runtime, house.state, { onActed: (verb, actor) => void acted.push(`${verb} by ${actor}`) });
	});

	test("what was seen is done by it, once, and what was done is said", async () => {
		const verb = write("rewind");
		const done = await act(verb, await look(verb, { ref: "0" }), "ada", places);
		expect(done).toMatchObject({ result: { kind: "reset", target: 0 }, paused: [] });
		expect([await resetsIn(house.runtime), acted]).toEqual([1, ["rewind to #0 by ada"]]);
		expect(lstatSync(join(house.state, "holder.sock")).mode & 0o777).toBe(0o600);
	});

	test("what is stale there is refused with its own reason, and nothing is written", async () => {
		const verb = write("rewind");
		const seen = await look(verb, { ref: "0" });
		await house.do("rewind", { ref: "2" });
		const before = tip();
		await expect(act(verb, seen, "ada", places)).rejects.toMatchObject({
			code: "REWIND_STALE",
			message: expect.stringContaining("previewed at seq"),
		});
		expect([tip(), acted]).toEqual([before, []]);
	});

	test("work begins there", async () => {
		const asked = await beginThere(verbOf("ask") as WorkVerb, { text: "where does a fox sleep?" }, "ada", places);
		expect(asked).toMatchObject({ begun: { turn: expect.any(Number) }, pid: process.pid });
		await house.runtime.idle();
		expect(house.runtime.conversation().items.toArray().at(-1)).toMatchObject({ type: "reply" });
		const files = [{ name: "shot.png", base64: Buffer.from("\x89PNG\r\n\x1a\n", "latin1").toString("base64") }];
		await beginThere(verbOf("ask") as WorkVerb, { text: "what is it?", files }, "ada", places);
		await house.runtime.idle();
		expect(
			house.runtime
				.conversation()
				.items.toArray()
				.findLast(({ type }) => type === "prompt"),
		).toMatchObject({
			text: "what is it?\n[image shot.png, 8 B]",
		});
		const wrong = beginThere(
			verbOf("ask") as WorkVerb,
			{ text: "?", files: [{ ...files[0], base64: "" }] },
			"ada",
			places,
		);
		await expect(wrong).rejects.toMatchObject({ code: "FILE_REFUSED" });
		await expect(beginThere(verbOf("plan resume") as WorkVerb, { id: "p9" }, "ada", places)).rejects.toMatchObject({
			code: "PLAN_UNKNOWN",
		});
	});

	test("a script begins there, by its text, and of its end only its record is known here", async () => {
		const verb = verbOf("script run") as WorkVerb;
		const script = { name: "asks.ts", source: "export default async (ctx, args) => [await ctx.ask('Well?'), args];" };
		const begun = await beginThere(verb, { script, args: [1], answer: ["fine"], isolate: true }, "ada", places);
		expect(begun).toEqual({ begun: { run: expect.stringMatching(/^r[0-9a-f]{8}$/) }, pid: process.pid });
		await house.runtime.idle();
		const [run] = await places.reading(async ({ scripts }) => scripts.list());
		expect(run).toMatchObject({ ...begun?.begun, status: "completed" });
		const before = tip();
		for (const [of, code] of [
			[{ script: { name: "none.ts", source: "export const x = 1;" } }, "SCRIPT_INVALID"],
			[{ script: "none.ts" }, "OPERATOR_ARGS"],
			[{ script: { name: "large.ts", source: "x".repeat(MOST_BYTES) } }, "OPERATOR_HOLDER"],
		] as const)
			await expect(beginThere(verb, of, "ada", places)).rejects.toMatchObject({ code });
		expect(tip()).toBe(before);
	});

	test("each of many verbs is done once, or refused with its reason", async () => {
		const random = seeded(SEED);
		let done = 0;
		for (let i = 0; i < sample(15, 150); i++) {
			const before = await resetsIn(house.runtime);
			const name = random.pick(["rewind", "checkout", "undo", "redo", "label"]);
			const verb = write(name);
			const raw = {
				...(["rewind", "checkout", "label"].includes(name) && { ref: String(random.below(tip() + 1)) }),
				...(name === "label" && { name: `l${i}` }),
			};
			const seen = await look(verb, raw).catch((error: { code?: string }) => error.code);
			if (typeof seen !== "object" || verb.nothing?.(seen, () => "")) continue;
			// The process that has the log works on meanwhile.
			if (random.below(3) === 0) await house.do("label", { ref: "@", name: `m${i}` });
			const from = tip();
			const outcome = await act(verb, seen, "ada", places).then(
				() => "done",
				(error: { code?: string }) => error.code,
			);
			const written: number[] = [];
			for await (const record of house.runtime.wal.read({ after: from }))
				if (verb.isDoneBy(record, seen, "ada")) written.push(record.seq);
			expect([outcome, written.length], `${name} ${JSON.stringify(raw)}`).toEqual(
				outcome === "done" ? ["done", 1] : [expect.stringMatching(/STALE|NOT_ACTIVE|LABEL/), 0],
			);
			expect(await resetsIn(house.runtime)).toBe(
				before + (outcome === "done" && name !== "label" && !isLabel(seen) ? 1 : 0),
			);
			if (outcome === "done") done++;
		}
		expect(done).toBeGreaterThan(sample(2, 5));
	});

	test.each([
		["a length of a gigabyte", Buffer.from([0x40, 0, 0, 0])],
		["a message that is no JSON", Buffer.concat([Buffer.from([0, 0, 0, 4]), Buffer.from("oops")])],
		["a request that is none", frameOf({ verb: "rewind" })],
	])("%s ends that caller, and nobody else", async (_, bytes) => {
		const socket = createConnection(join(house.state, "holder.sock"));
		const closed = new Promise((resolve) => socket.once("close", resolve));
		socket.on("error", () => {});
		socket.resume();
		socket.write(bytes);
		await closed;
		const verb = write("label");
		await act(verb, await look(verb, { ref: "@", name: "after" }), "ada", places);
		expect(await house.runtime.timeline.labels()).toMatchObject([{ name: "after" }]);
	});

	test("a verb that is none there, or what was seen in another form, is refused", async () => {
		for (const [verb, seen] of [
			[{ ...write("label"), name: "log" }, {}],
			[{ ...write("label"), name: "erase" }, {}],
			[write("label"), { name: 3 }],
		] as const)
			await expect(act(verb as WriteVerb, seen, "ada", places)).rejects.toMatchObject({ code: "OPERATOR_HOLDER" });
	});
});

/** An undo of a label writes a label. */
const isLabel = (seen: object): boolean => "move" in seen && /label/.test(JSON.stringify(seen.move));

test("where nobody has it, it is done here", async () => {
	await house.runtime.close();
	const verb = write("label");
	await act(verb, await look(verb, { ref: "@", name: "here" }), "ada", places);
	expect(await places.reading(({ timeline }) => timeline.labels())).toMatchObject([{ name: "here" }]);
});

const work = (name: string): WorkVerb => verbOf(name) as WorkVerb;

test("where nobody has it, work begins here; what comes meanwhile joins it, and the log is let go behind it", async () => {
	await house.runtime.close();
	const places2: Places = {
		...places,
		async working(use) {
			await using runtime = await openRuntime(house.options);
			await await serveVerbs(runtime, house.state);
			return await use(runtime);
		},
	};
	const script = { name: "asks.ts", source: "export default (ctx) => ctx.ask('Well?', { choices: ['yes'] });" };
	const { begun, over } = await beginAnywhere(work("script run"), { script }, "ada", places2);
	await over;
	const { run } = begun as { run: string };
	const id = await places.reading(async ({ wal }) => wal.id);
	expect(await holderOf(house.state, id)).toBeUndefined();
	const [asked] = await places.reading(async (runtime) => runtime.questions());
	const question = asked?.seq as number;
	await expect(beginAnywhere(work("answer"), { question, answer: "no" }, "ada", places2)).rejects.toMatchObject({
		code: "RUNTIME_ANSWER",
	});
	const slow = await beginAnywhere(work("ask"), { text: "where does a fox sleep?" }, "ada", places2);
	const joined = await beginAnywhere(work("answer"), { question, answer: "yes" }, "ada", places2);
	expect([joined.begun, joined.pid]).toEqual([{ question, from: { kind: "script", id: run }, run }, process.pid]);
	await Promise.all([slow.over, joined.over]);
	const [script2] = await places.reading(async ({ scripts }) => scripts.list());
	expect([script2?.status, script2?.questions]).toEqual(["completed", []]);
	expect(await places.reading(async (runtime) => runtime.conversation().open)).toEqual([]);
	await using runtime = await openRuntime(house.options);
	await serveVerbs(runtime, house.state);
	expect(await holderOf(house.state, id)).toBe(process.pid);
	expect(await holderOf(house.state, "other")).toBeUndefined();
});

test("work that cannot begin gives its reason, and lets the log go", async () => {
	await house.runtime.close();
	await expect(beginAnywhere(work("plan resume"), { id: "p9" }, "ada", places)).rejects.toMatchObject({
		code: "PLAN_UNKNOWN",
	});
	await expect(beginAnywhere(work("ask"), { text: " " }, "ada", places)).rejects.toMatchObject({
		code: "OPERATOR_ARGS",
	});
	await (await openRuntime(house.options)).close();
});

test("where its holder hears nobody, the log is said to be locked", async () => {
	const verb = write("label");
	await expect(act(verb, await look(verb, { ref: "@", name: "here" }), "ada", places)).rejects.toMatchObject({
		code: "WAL_LOCKED",
	});
});

test("one that is closed hears nobody any more, and who waits for that is told", async () => {
	const holder = await serveVerbs(house.runtime, house.state);
	const gone = whenGone(house.state, new AbortController().signal);
	const asked = beginThere(verbOf("ask") as WorkVerb, { text: "where does a fox sleep?" }, "ada", places);
	expect(await asked).toMatchObject({ begun: { turn: expect.any(Number) } });
	await holder?.close();
	await gone;
	expect(await beginThere(verbOf("ask") as WorkVerb, { text: "and by day?" }, "ada", places)).toBeUndefined();
	await house.runtime.idle();
});

test("a socket that a dead process left is taken away by whoever has the log next", async () => {
	const left = createServer().listen(join(house.state, "left.sock"));
	await new Promise((resolve) => left.once("listening", resolve));
	rmSync(join(house.state, "holder.sock"), { force: true });
	const { renameSync } = await import("node:fs");
	renameSync(join(house.state, "left.sock"), join(house.state, "holder.sock"));
	chmodSync(join(house.state, "holder.sock"), 0o600);
	left.close();
	await serveVerbs(house.runtime, house.state);
	const verb = write("label");
	await act(verb, await look(verb, { ref: "@", name: "here" }), "ada", places);
	expect(await house.runtime.timeline.labels()).toHaveLength(1);
});

test.each([
	["a link", (path: string) => symlinkSync("/tmp", path)],
	["a file", (path: string) => writeFileSync(path, "")],
])("%s in the socket's place is neither used nor taken away", async (_, plant) => {
	const path = join(house.state, "holder.sock");
	plant(path);
	expect(await holderOf(house.state, house.runtime.wal.id)).toBeUndefined();
	await expect(serveVerbs(house.runtime, house.state)).rejects.toMatchObject({ code: "OPERATOR_HOLDER" });
	const verb = write("label");
	await expect(act(verb, await look(verb, { ref: "@", name: "x" }), "ada", places)).rejects.toMatchObject({
		code: "OPERATOR_HOLDER",
	});
	expect(lstatSync(path).isSocket()).toBe(false);
});

describe("a stranger that listens there", () => {
	/** Says hello, and then does what is given with each request. */
	async function strange(
		greeting: object | Buffer,
		then: (end: () => void) => Promise<void>,
		mode = 0o600,
	): Promise<Server> {
		const server = createServer((socket) => {
			socket.on("error", () => {});
			socket.write(Buffer.isBuffer(greeting) ? greeting : frameOf(greeting));
			socket.once("data", () => void then(() => socket.destroy()));
		});
		await new Promise<void>((resolve) => server.listen(join(house.state, "holder.sock"), resolve));
		chmodSync(join(house.state, "holder.sock"), mode);
		return server;
	}
	const own = () => ({ v: 1, log: house.runtime.wal.id, pid: 1 });

	test.each([
		["has another log", () => ({ ...own(), log: "0".repeat(32) }), 0o600],
		["speaks another version", () => ({ ...own(), v: 2 }), 0o600],
		["can be used by others", own, 0o666],
	])("is told nothing where it %s", async (_, greeting, mode) => {
		let asked = 0;
		using _server = disposable(await strange(greeting(), async () => void asked++, mode));
		const verb = write("label");
		const acting = act(verb, await look(verb, { ref: "@", name: "x" }), "ada", places);
		await expect(acting).rejects.toMatchObject({ code: "OPERATOR_HOLDER" });
		expect(asked).toBe(0);
	});

	test.each([true, false])("and dies before it answers: whether it was done (%s) is found out", async (isDone) => {
		const verb = write("label");
		const seen = await look(verb, { ref: "@", name: "x" });
		using _server = disposable(
			await strange(own(), async (end) => {
				if (isDone) await verb.act(house.runtime, seen, "ada");
				await house.runtime.close();
				end();
			}),
		);
		const done = await act(verb, seen, "ada", places);
		expect(done).toEqual(isDone ? { recorded: expect.any(Number) } : { name: "x", seq: expect.any(Number) });
		expect(await places.reading(({ timeline }) => timeline.labels())).toHaveLength(1);
	});

	test("and neither answers nor ends: the caller is told that nobody knows", async () => {
		const verb = write("label");
		using _server = disposable(await strange(own(), async (end) => end()));
		const acting = act(verb, await look(verb, { ref: "@", name: "x" }), "ada", places);
		await expect(acting).rejects.toMatchObject({ code: "OPERATOR_LOST" });
	});
});

const disposable = (server: Server): Disposable => ({ [Symbol.dispose]: () => void server.close() });

test("messages come whole, however they are cut on their way", () => {
	const messages = [{ a: 1 }, { b: "é".repeat(1000) }, {}, { c: [1, 2, 3] }];
	const bytes = Buffer.concat(messages.map(frameOf));
	const random = seeded(SEED);
	for (let i = 0; i < sample(50, 800); i++) {
		const [frames, found]: [Frames, unknown[]] = [new Frames(), []];
		for (let at = 0; at < bytes.length; ) {
			const end = Math.min(bytes.length, at + 1 + random.below(700));
			found.push(...frames.take(bytes.subarray(at, end)));
			at = end;
		}
		expect(found).toEqual(messages);
	}
	expect(() => frameOf({ a: "x".repeat(MOST_BYTES) })).toThrow(expect.objectContaining({ code: "OPERATOR_HOLDER" }));
});
