/** The server of the page, over sockets: what docs/security.md says of it, and that what is confirmed is what was shown. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { givenFor, verbs } from "@reyn/operator";
import { openRuntime } from "@reyn/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { copyPage, type Subject, serve } from "../src/server/index.ts";
import { codeOf, type House, openHouse, openPage } from "./served.ts";

let house: House;
beforeAll(async () => {
	house = await openHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

const head = (text: string): string => text.slice(0, text.indexOf("\r\n"));

/** Every file of the state, in one hash, but the trail: it follows the writer in its own time. */
async function hashOf(directory: string): Promise<string> {
	const hash = createHash("sha256");
	const names = (await readdir(directory, { recursive: true, withFileTypes: true })).filter(
		(each) => each.isFile() && !each.parentPath.endsWith("/events"),
	);
	for (const each of names.toSorted((a, b) => (a.parentPath + a.name < b.parentPath + b.name ? -1 : 1)))
		hash.update(`${each.parentPath}/${each.name}\n`).update(await readFile(join(each.parentPath, each.name)));
	return hash.digest("hex");
}

describe("who is answered", () => {
	test("it listens on this machine alone", async () => {
		const own = Object.values(networkInterfaces())
			.flatMap((each) => each ?? [])
			.find(({ internal, family }) => !internal && family === "IPv4");
		if (!own) return void console.log("this machine has no other address: nothing was asked of it");
		const socket = connect(house.served.port, own.address);
		const refused = await new Promise((resolve) => {
			socket.on("error", ({ message }) => resolve(message));
			socket.on("connect", () => resolve("connected"));
		});
		socket.destroy();
		expect(refused).toContain("ECONNREFUSED");
	});

	test.each([
		["a foreign host", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "403"],
		["two hosts", "GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.test\r\n\r\n", "400"],
		["no host", "GET / HTTP/1.1\r\n\r\n", "400"],
		["an older HTTP", "GET / HTTP/1.0\r\nHost: HOST\r\n\r\n", "400"],
		["a whole address", "GET http://evil/ HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"],
		["a foreign page", "GET / HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.test\r\n\r\n", "403"],
		["a method of no page", "OPTIONS /api/read HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"],
		["a long header", `GET / HTTP/1.1\r\nHost: HOST\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, "4"],
		[
			"two lengths",
			"POST /api/read HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"400",
		],
		["no method at all", "hello\r\n\r\n", "400"],
	])("%s is not", async (_, bytes, status) => {
		const said = await house.raw(bytes);
		expect(head(said)).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
		expect(said.toLowerCase()).not.toContain("access-control-");
		expect(said.toLowerCase()).toContain("content-security-policy: default-src 'none'");
	});

	test.each([
		["no key", {}],
		["a wrong one", { authorization: `Bearer ${"0".repeat(64)}` }],
	])("a question with %s is told nothing", async (_, headers) => {
		for (const path of ["/api/state", "/api/follow"]) {
			const response = await fetch(`http://127.0.0.1:${house.served.port}${path}`, { headers });
			expect([path, response.status]).toEqual([path, 401]);
		}
		for (const path of ["/api/read", "/api/look", "/api/act"]) {
			const { status, body } = await house.ask(path, { verb: "log" }, { authorization: "", ...headers });
			expect([path, status, body.error.code]).toEqual([path, 401, "UI_NO_KEY"]);
		}
	});

	test("the key is taken from no other place than its header", async () => {
		const at = `http://127.0.0.1:${house.served.port}`;
		expect((await fetch(`${at}/api/state?token=${house.token}`)).status).toBe(404);
		expect((await fetch(`${at}/api/state`, { headers: { cookie: `token=${house.token}` } })).status).toBe(401);
	});

	test("the code of the address is taken once", async () => {
		const { status, body } = await house.ask("/api/session", { code: codeOf(house.served) });
		expect([status, body.error.code]).toEqual([401, "UI_NO_KEY"]);
	});

	test.each([
		"/..",
		"/../package.json",
		"/%2e%2e/package.json",
		"/..%2fpackage.json",
		"/page.js/../../index.js",
		"/page/page.js",
		"/page.js?",
		"/page.js%00",
		"/index.html",
		"/\\..\\x",
		"/api",
		"/api/",
		"/api/session/",
		"/constructor",
		"/__proto__",
		"/api/toString",
	])("there is no file at %s", async (path) => {
		expect(
			head(await house.raw(`GET ${path} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\r\n`)),
		).toContain(" 404 ");
	});

	test("every answer has the guards of the browser, and none has another origin's leave", async () => {
		const paths = ["/", "/page.js", "/page.css", "/api/state", "/nothing"];
		const answers = [...(await Promise.all(paths.map((path) => house.ask(path)))), await house.ask("/api/read", {})];
		expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 400]);
		for (const { headers } of answers) {
			expect(headers.get("content-security-policy")).toContain(
				"require-trusted-types-for 'script'; trusted-types 'none'",
			);
			expect(headers.get("x-content-type-options")).toBe("nosniff");
			expect(headers.get("referrer-policy")).toBe("no-referrer");
			expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
			expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
			expect(headers.get("cache-control")).toBe("no-store");
			expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
		}
	});
});

describe("what is asked", () => {
	const log = { verb: "log", given: {} };

	test.each([
		["text", "hello", {}, ""],
		["a list", [], {}, ""],
		["a form", JSON.stringify(log), { "content-type": "application/x-www-form-urlencoded" }, ""],
		["plain text", JSON.stringify(log), { "content-type": "text/plain" }, ""],
		["too much", JSON.stringify({ ...log, given: { x: "x".repeat(64 * 1024) } }), {}, "at most 65536 bytes"],
		[
			"too deep",
			JSON.stringify({ ...log, given: { x: JSON.parse("[".repeat(70) + "]".repeat(70)) } }),
			{},
			"at most 64 levels",
		],
		["more than there is", JSON.stringify({ ...log, more: 1 }), {}, ""],
		["a prototype", '{"verb":"log","given":{},"__proto__":{"given":1}}', {}, ""],
		["a param that the verb has not", JSON.stringify({ verb: "log", given: { x: 1 } }), {}, ""],
		["a param that is none", '{"verb":"log","given":{"__proto__":1,"constructor":2}}', {}, ""],
		["a verb that there is not", JSON.stringify({ verb: "hasOwnProperty" }), {}, ""],
		["a verb that writes", JSON.stringify({ verb: "undo" }), {}, ""],
		["a verb that works", JSON.stringify({ verb: "ask", given: { text: "x" } }), {}, ""],
		["no ref", JSON.stringify({ verb: "show", given: { ref: "-1" } }), {}, ""],
		["half a ref", JSON.stringify({ verb: "show", given: { ref: "1.5" } }), {}, ""],
	])("%s is refused in words", async (_, body, headers, words) => {
		const answer = await house.ask("/api/read", body, headers);
		expect(answer.status, JSON.stringify(answer.body)).toBe(400);
		expect(answer.body.error.message).toContain(words);
		expect(answer.body.error.message.length).toBeGreaterThan(10);
	});

	test.each(["100000000000000000000", "999"])("a moment that there is not is said so: %s", async (ref) => {
		const { status, body } = await house.ask("/api/read", { verb: "show", given: { ref } });
		expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
		expect(status).toBeLessThan(500);
	});

	test("a body that is announced and broken off ends nothing", async () => {
		for (let i = 0; i < 20; i++) {
			const socket = connect(house.served.port, "127.0.0.1");
			socket.on("error", () => {});
			const isWith = i % 2 === 0;
			await new Promise<void>((resolve) => void socket.on("connect", resolve));
			const key = isWith ? `Authorization: Bearer ${house.token}\r\n` : "";
			socket.write(
				`POST /api/read HTTP/1.1\r\nHost: 127.0.0.1:${house.served.port}\r\n${key}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"verb"`,
				() => socket.resetAndDestroy(),
			);
			await new Promise((resolve) => void socket.on("close", resolve));
		}
		expect((await house.ask("/api/state")).status).toBe(200);
	});

	test("looking changes nothing, to the byte, whatever is asked", async () => {
		const before = await hashOf(house.state);
		for (const path of ["/", "/api/state", "/api/act", "/api/look?verb=undo", "/api/read"]) await house.ask(path);
		for (const verb of verbs) {
			for (const given of [{}, { ref: "1" }, { ref: "@", mode: "both" }, { id: "p1" }, { run: "r1" }]) {
				await house.ask("/api/read", { verb: verb.name, given });
				await house.ask("/api/look", { verb: verb.name, given });
			}
		}
		expect(await hashOf(house.state)).toBe(before);
	});
});

/** Verbs that the page does not offer, and why. */
const elsewhere: Readonly<Record<string, string>> = {
	"wal inspect": "`records` has them, newest first, and `show` has one in full",
	"wal tail": "what comes is shown as it comes",
	"wal repair": "it repairs a log that no process has, and the page follows one",
};

test("each verb is offered by a page that may do all, or it is said why not", async () => {
	const begin: Subject["begin"] = async () => Promise.reject(new Error("nothing is begun here"));
	await using page = await openPage({ ...house.subject, begin, ahead: (read) => read(house.writer) });
	const { verbs: offered } = (await page.ask("/api/state")).body;
	expect([...offered, ...Object.keys(elsewhere)].sort()).toEqual(verbs.map(({ name }) => name).sort());
});

describe("what is confirmed", () => {
	const look = async (verb: string, given: object = {}) => house.ask("/api/look", { verb, given });
	const act = async (seen: string) => house.ask("/api/act", { seen });

	test("is what was shown, once, and undone again", async () => {
		const [first] = house.writer.timeline.checkpoints();
		const { tip } = house.writer.wal;
		const { body, status } = await look("rewind", { ref: String(first?.seq) });
		expect(status).toBe(200);
		expect(body.question).toBe(`rewind to #${first?.seq}?`);
		expect(body.shown.join("\n")).toContain("files in your workspace are not touched");
		expect(house.writer.wal.tip).toBe(tip);
		const done = await act(body.seen);
		expect([done.status, done.body.lines[0]]).toEqual([200, expect.stringContaining("done: rewound")]);
		expect(house.writer.wal.tip).toBeGreaterThan(tip);
		expect((await house.ask("/api/state")).body.tip).toBe(house.writer.wal.tip);
		const again = await act(body.seen);
		expect([again.status, again.body.error.code]).toEqual([409, "UI_UNKNOWN_PREVIEW"]);
		const undo = await look("undo");
		expect((await act(undo.body.seen)).status).toBe(200);
	});

	test("is refused once something else has happened, and nothing is written", async () => {
		const [first] = house.writer.timeline.checkpoints();
		const { body } = await look("rewind", { ref: String(first?.seq) });
		await house.writer.prompt("And by night?");
		await house.writer.idle();
		const { tip } = house.writer.wal;
		const { status, body: refused } = await act(body.seen);
		expect([status, refused.error.code]).toEqual([409, "REWIND_STALE"]);
		expect(house.writer.wal.tip).toBe(tip);
	});

	test("is shown of work only where there is something to show", async () => {
		const refused = await look("compact");
		expect([refused.status, refused.body.error.code]).toEqual([400, "UI_BAD_REQUEST"]);
		const unknown = await look("plan resume", { id: "p999" });
		expect([unknown.status, unknown.body.error.code]).toEqual([404, "PLAN_UNKNOWN"]);
		const wrong = await look("plan resume", { id: "p999", tip: 1 });
		expect([wrong.status, wrong.body.error.code]).toEqual([400, "OPERATOR_ARGS"]);
	});

	test("is nothing that a page made up", async () => {
		const { tip } = house.writer.wal;
		for (const seen of ["", "x", "__proto__", "constructor", "0".repeat(101), { tip, target: 1 }, null]) {
			const { status } = await act(seen as string);
			expect([400, 409], JSON.stringify(seen)).toContain(status);
		}
		expect(house.writer.wal.tip).toBe(tip);
	});

	test("a page that is only looked at changes nothing", async () => {
		const { act: _, ...rest } = house.subject;
		await using served = await serve({ ...rest, readOnly: "somebody said so" });
		const at = `http://127.0.0.1:${served.port}`;
		const headers = { "content-type": "application/json" };
		const post = (path: string, body: object, more = {}) =>
			fetch(at + path, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
		const { token } = (await (await post("/api/session", { code: codeOf(served) })).json()) as { token: string };
		const key = { authorization: `Bearer ${token}` };
		const state = (await (await fetch(`${at}/api/state`, { headers: key })).json()) as {
			verbs: string[];
			readOnly: string;
		};
		expect(state.readOnly).toBe("somebody said so");
		const writing = verbs.filter(({ access }) => access === "write").map(({ name }) => name);
		expect(state.verbs.filter((name) => writing.includes(name))).toEqual([]);
		const seen = ((await (await post("/api/look", { verb: "undo", given: {} }, key)).json()) as { seen?: string }).seen;
		expect((await post("/api/act", { seen: seen ?? "x" }, key)).status).toBe(405);
	});
});

describe("work", () => {
	const begun: string[] = [];
	const beginning = (): Partial<Subject> => ({
		async begin(verb, given) {
			begun.push(verb.name);
			return { begun: { ...verb.begun.parse(await verb.begin(house.writer, givenFor(verb, given))) }, pid: 7 };
		},
		holder: async () => 7,
	});

	test("is begun once it is asked for, in whatever process, and who has the log is said", async () => {
		await using other = await openPage({ ...house.subject, ...beginning() });
		const { status, body } = await other.ask("/api/begin", { verb: "ask", given: { text: "Who keeps the harbour?" } });
		expect([status, body]).toEqual([200, { begun: { turn: expect.any(Number) }, pid: 7, lines: [expect.any(String)] }]);
		await house.writer.idle();
		expect(house.writer.conversation().open).toEqual([]);
		const state = await other.ask("/api/state");
		expect(state.body).toMatchObject({ holder: { pid: 7, isHere: false }, verbs: expect.arrayContaining(["ask"]) });
	});

	test.each([
		["a verb that only reads", { verb: "log", given: {} }, 400],
		["nothing", { verb: "ask", given: { text: " " } }, 400],
		["a plan that there is not", { verb: "plan resume", given: { id: "p9" } }, 404],
	])("is refused where it is %s, and nothing is written", async (_, body, status) => {
		await using other = await openPage({ ...house.subject, ...beginning() });
		const { tip } = house.writer.wal;
		expect((await other.ask("/api/begin", body)).status).toBe(status);
		expect(house.writer.wal.tip).toBe(tip);
	});

	test("what fails behind its beginning is said with the state, until something else is begun", async () => {
		let fails = true;
		await using other = await openPage({
			...house.subject,
			begin: async () => ({
				begun: { turn: 1 },
				pid: 7,
				over: fails ? Promise.reject(new Error("no space")) : Promise.resolve(),
			}),
		});
		const ask = { verb: "ask", given: { text: "x" } };
		await other.ask("/api/begin", ask);
		expect((await other.ask("/api/state")).body).toMatchObject({ failed: "no space" });
		fails = false;
		await other.ask("/api/begin", ask);
		expect((await other.ask("/api/state")).body).not.toHaveProperty("failed");
	});

	test("what keeps it from recording is said with the state, as long as it does, and a page that listens hears of both", async () => {
		await using other = await openPage(house.subject);
		const { served, token } = other;
		const stream = await fetch(`http://127.0.0.1:${served.port}/api/follow`, {
			headers: { authorization: `Bearer ${token}` },
		});
		const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
		let heard = "";
		const hears = async (line: string): Promise<void> => {
			while (!heard.includes(line)) heard += (await reader.read()).value ?? "";
		};
		const waiting = async () => (await other.ask("/api/state")).body.waiting;
		expect(await waiting()).toBeUndefined();
		served.onEvent({ type: "disk_full", text: "no space on the device" });
		expect(await waiting()).toEqual({ for: "space", text: "no space on the device" });
		await hears('{"waits":true}');
		served.onEvent({ type: "disk_free" });
		expect(await waiting()).toBeUndefined();
		await hears('{"waits":false}');
		served.onEvent({ type: "log_away", text: "no answer" });
		expect(await waiting()).toEqual({ for: "log", text: "no answer" });
		served.onEvent({ type: "log_back" });
		expect(await waiting()).toBeUndefined();
		await reader.cancel();
	});

	test("is begun by no page that only looks", async () => {
		const answer = await house.ask("/api/begin", { verb: "ask", given: { text: "x" } });
		expect([answer.status, answer.body.error.code]).toEqual([405, "UI_READ_ONLY"]);
	});

	test("an answer is told as it comes", async () => {
		const gone = new AbortController();
		const response = await fetch(`http://127.0.0.1:${house.served.port}/api/follow`, {
			headers: { authorization: `Bearer ${house.token}` },
			signal: gone.signal,
		});
		const reader = response.body?.getReader();
		await reader?.read();
		const { scope } = { scope: { agent: "default", session: "main" } };
		house.served.onEvent({ type: "text", scope, turn: 3, round: 0, delta: "By d" });
		house.served.onEvent({ type: "text", scope, turn: 3, round: 0, delta: "ay." });
		let said = "";
		while (!said.includes("ay.")) said += new TextDecoder().decode((await reader?.read())?.value);
		expect(
			said
				.trim()
				.split("\n")
				.map((line) => JSON.parse(line)),
		).toEqual([
			{ turn: 3, from: 0, text: "By d" },
			{ turn: 3, from: 4, text: "ay." },
		]);
		gone.abort();
	});
});

test("a page is told of each move of the log, by a process that it is not, and only that it moved", async () => {
	const gone = new AbortController();
	const response = await fetch(`http://127.0.0.1:${house.served.port}/api/follow`, {
		headers: { authorization: `Bearer ${house.token}` },
		signal: gone.signal,
	});
	let said = "";
	const reading = (async () => {
		for await (const piece of response.body ?? []) said += new TextDecoder().decode(piece);
	})().catch(() => {});
	const tips = (): readonly number[] =>
		said.split("\n").flatMap((line) => (line.includes("tip") ? [JSON.parse(line).tip] : []));
	await expect.poll(tips).toEqual([house.writer.wal.tip]);
	await house.writer.prompt("Who keeps the harbour?");
	await house.writer.idle();
	await expect.poll(() => tips().at(-1)).toBe(house.writer.wal.durableTip);
	expect(said).not.toContain("harbour");
	expect([...tips()]).toEqual([...new Set(tips())].toSorted((a, b) => a - b));
	gone.abort();
	await reading;
	expect((await house.ask("/api/state")).status).toBe(200);
});

test("a log that cannot be read is said so, and what looks at its files answers", async () => {
	let isBroken = true;
	const other = await openHouse({
		open: async () => {
			if (isBroken) throw Object.assign(new Error("the log is damaged"), { code: "WAL_CORRUPT" });
			return openRuntime({
				state: other.state,
				model: { id: "none", async *generate() {} },
				tools: [],
				readOnly: true,
			});
		},
	});
	await using _ = other;
	const state = await other.ask("/api/state");
	expect([state.status, state.body.error.code]).toEqual([422, "WAL_CORRUPT"]);
	expect((await other.ask("/api/read", { verb: "wal verify" })).status).toBe(200);
	isBroken = false;
	expect((await other.ask("/api/state")).body.tip).toBe(other.writer.wal.tip);
});

test("no answer has a secret, and no file of the state has the key (H25)", async () => {
	const secret = "canary-4a77b1";
	await using own = await openHouse({}, { redact: (text) => text.replaceAll(secret, "[taken out]") });
	await own.writer.prompt(`Is ${secret} the word?`);
	await own.writer.idle();
	const all: string[] = [];
	const given: Readonly<Record<string, object>> = {
		show: { ref: "@" },
		diff: { a: "0" },
		search: { words: "word" },
		transcript: { ref: "@" },
	};
	for (const { name, access } of verbs) {
		if (access !== "read" && access !== "files") continue;
		all.push(JSON.stringify((await own.ask("/api/read", { verb: name, given: given[name] ?? {} })).body));
	}
	const { tip } = own.writer.wal;
	for (let ref = 1; ref <= tip; ref++)
		all.push(
			JSON.stringify((await own.ask("/api/read", { verb: "show", given: { ref: String(ref), entry: true } })).body),
		);
	all.push(JSON.stringify((await own.ask("/api/look", { verb: "rewind", given: { ref: "2" } })).body));
	const found = all.join("\n");
	expect(found).toContain("[taken out]");
	expect([secret, own.token, codeOf(own.served)].filter((each) => found.includes(each))).toEqual([]);
	const files = (await readdir(own.state, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
	const texts = await Promise.all(files.map((each) => readFile(join(each.parentPath, each.name), "latin1")));
	const kept = texts.join("\n");
	expect(kept).toContain("[taken out]");
	expect([secret, own.token, codeOf(own.served)].filter((each) => kept.includes(each))).toEqual([]);
});

test("a copy is of one moment, whatever comes meanwhile, and of a session that there is", async () => {
	await using own = await openHouse();
	let told = 0;
	const copy = copyPage(own.subject, {
		clock: { now: () => 0 },
		onProgress(done) {
			told = done;
			if (done === 1) void own.writer.prompt("Who comes in between?");
		},
	});
	const html = await copy;
	await own.writer.idle();
	const packed = /<script type="application\/gzip" id="copy">([^<]*)<\/script>/.exec(html)?.[1] ?? "";
	const answers: Record<string, { tip?: number; document?: { entries?: unknown[] } }> = JSON.parse(
		gunzipSync(Buffer.from(packed, "base64")).toString(),
	);
	expect(JSON.stringify(answers)).toContain("Who keeps the lighthouse?");
	expect(JSON.stringify(answers)).not.toContain("Who comes in between?");
	expect(answers["/api/state"]).toMatchObject({ readOnly: "this is a copy, made at 1970-01-01 00:00 UTC" });
	expect(told).toBeGreaterThan(2);
	const gone = { agent: "default", session: "gone" };
	await expect(copyPage({ ...own.subject, session: gone })).rejects.toMatchObject({ code: "RUNTIME_UNKNOWN_SESSION" });
});

test("a copy is made of a history that gc has cut too, and asks nothing of what is gone", async () => {
	await using own = await openHouse();
	const { writer } = own;
	const { tip } = writer.wal;
	const { seq } = await writer.checkout(writer.timeline.checkpoints()[0]?.seq ?? 0, "user");
	await writer.checkout(tip, "user");
	await writer.prompt("What is left?");
	await writer.idle();
	await writer.gc({ keepDays: 0, keepCheckpoints: 1 });
	const html = await copyPage(own.subject);
	const packed = /<script type="application\/gzip" id="copy">([^<]*)<\/script>/.exec(html)?.[1] ?? "";
	const answers: object = JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString());
	const { entries } = (await own.ask("/api/read", { verb: "log", given: {} })).body.document;
	expect(entries).toContainEqual(expect.objectContaining({ seq, gone: true }));
	expect(Object.keys(answers).filter((name) => name.includes(`"ref":"${seq}"`))).toEqual([]);
	expect(Object.keys(answers).filter((name) => name.includes(`"ref":"${writer.wal.tip}"`)).length).toBeGreaterThan(1);
});
