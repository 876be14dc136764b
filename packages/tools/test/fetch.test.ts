/** `fetch`: what a page comes to, and that no address leads to this machine or the networks around it. */
import type { LookupAddress } from "node:dns";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { testTool } from "@reyn/journal/testing";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { isPublic } from "../src/fetch/address.ts";
import { createFetchTool, type FetchOptions } from "../src/fetch/index.ts";

let asked: string[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const server = createServer((request, response) => {
	asked.push(`${request.headers.host}${request.url}`);
	answer(request, response);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => server.close());
beforeEach(() => {
	asked = [];
	answer = page("<p>Hello.</p>");
});

const page =
	(body: string | Buffer, headers: Record<string, string> = { "content-type": "text/html" }, status = 200) =>
	(_: IncomingMessage, response: ServerResponse): void =>
		void response.writeHead(status, headers).end(body);

const { signal } = new AbortController();
/** This machine is the internet of these tests. */
const isAllowed = (address: string): boolean => address === "127.0.0.1";
const get = async (path: string, more: FetchOptions = {}, until = signal, from = 0): Promise<string> =>
	String(
		await createFetchTool({ isAllowed, ...more }).call(
			{ url: path.startsWith("/") ? at + path : path, from },
			{ signal: until },
		),
	);

testTool(
	{ describe, test, expect },
	{
		name: "fetch",
		make: () => createFetchTool({ isAllowed }),
		args: { url: at },
		refused: [
			{},
			{ url: "" },
			{ url: "file:///etc/passwd" },
			{ url: "ftp://a/b" },
			{ url: "http://me:secret@a/" },
			{ url: "javascript:1" },
			{ url: "/a" },
		],
	},
);

describe("a page", () => {
	test("of HTML is Markdown: what is said, where links lead, and nothing that runs", async () => {
		answer = page(`<html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body><nav>menu</nav>
			<h1>Foxes</h1><p>A fox <b>sleeps</b> by <a href="/day">day</a>, <a href="javascript:x()">not</a> by night.</p>
			<ul><li>one</li><li>two</li></ul><pre><code>let a = 1;</code></pre><img src="x" alt="a fox" onerror="x()"></body></html>`);
		expect((await get("/")).split("\n").slice(2).join("\n")).toBe(
			`# Foxes\n\nA fox **sleeps** by [day](${at}/day), not by night.\n\n-   one\n-   two\n\n\`\`\`\nlet a = 1;\n\`\`\`\n\na fox`,
		);
	});

	test.each([
		["text/plain; charset=iso-8859-1", Buffer.from("caf\xe9", "latin1"), "café"],
		["text/plain; charset=nothing-like-it", Buffer.from("café"), "café"],
		["application/json", Buffer.from('{"a":1}'), '{"a":1}'],
		["application/atom+xml", Buffer.from("<a>1</a>"), "<a>1</a>"],
		["", Buffer.from("plain"), "plain"],
	])("of the type %j is text as it is", async (type, body, text) => {
		answer = page(body, type === "" ? {} : { "content-type": type });
		expect((await get("/x")).split("\n").slice(2).join("\n")).toBe(text);
	});

	test.each([["image/png"], ["application/octet-stream"], ["application/pdf"]])(
		"of the type %s is none",
		async (type) => {
			answer = page("x", { "content-type": type });
			await expect(get("/")).rejects.toMatchObject({ code: "TOOL_NOT_TEXT" });
		},
	);

	test.each([
		["gzip", gzipSync],
		["br", brotliCompressSync],
		["deflate", deflateSync],
	] as const)("that is packed by %s is unpacked, and one that unpacks without an end is cut", async (how, pack) => {
		answer = page(pack("x".repeat(50_000_000)), { "content-type": "text/plain", "content-encoding": how });
		const text = await get("/", { maxBytes: 100_000 });
		expect(text).toMatch(
			/^http:.* \(the page has more than 100 KB; what comes behind was not read; 76,000 more characters; go on with from=24000\)/,
		);
		answer = page("no such thing", { "content-type": "text/plain", "content-encoding": how });
		await expect(get("/")).rejects.toMatchObject({ code: "TOOL_UNREACHABLE" });
	});

	test("that is long comes in pieces; one that is not there is shown with what the server says", async () => {
		answer = page(`${"a".repeat(24_000)}b`, { "content-type": "text/plain" });
		expect(await get("/")).toMatch(/1 more character; go on with from=24000/);
		expect(await get("/", {}, signal, 24_000)).toMatch(/\n\nb$/);
		answer = page("nothing here", { "content-type": "text/plain" }, 404);
		expect(await get("/")).toMatch(/\(the server says 404\)\n\nnothing here$/);
	});

	test("that does not come is waited for no longer than is said, and not at all once the work is stopped", async () => {
		answer = () => {};
		await expect(get("/", { timeoutMs: 200 })).rejects.toMatchObject({
			code: "TOOL_UNREACHABLE",
			message: expect.stringContaining("no answer within 0.2 s"),
		});
		answer = (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("begun");
		await expect(get("/", { timeoutMs: 200 })).rejects.toMatchObject({ code: "TOOL_UNREACHABLE" });
		const stop = new AbortController();
		const waiting = get("/", {}, stop.signal);
		stop.abort(new Error("no more"));
		await expect(waiting).rejects.toThrow("no more");
	});
});

describe("an address", () => {
	test.each([
		...[
			"http://127.0.0.1",
			"http://127.1",
			"http://2130706433",
			"http://0x7f000001",
			"http://0177.0.0.1",
			"http://127.0.0.1.",
			"http://[::1]",
		],
		...[
			"http://[::ffff:127.0.0.1]",
			"http://[::ffff:7f00:1]",
			"http://[0:0:0:0:0:ffff:7f00:1]",
			"http://[::127.0.0.1]",
			"http://[64:ff9b::7f00:1]",
			"http://[2002:7f00:1::]",
		],
		...[
			"http://0.0.0.0",
			"http://[::]",
			"http://10.0.0.1",
			"http://172.16.0.1",
			"http://172.31.255.255",
			"http://192.168.1.1",
			"http://169.254.169.254",
			"http://100.64.0.1",
		],
		...[
			"http://[fe80::1]",
			"http://[fc00::1]",
			"http://[fd12::1]",
			"http://[ff02::1]",
			"http://224.0.0.1",
			"http://255.255.255.255",
			"http://198.18.0.1",
		],
		...["http://localhost", "http://LOCALHOST", "http://localhost.", "http://１２７.0.0.1"],
	])("%s is not asked", async (url) => {
		const { port } = new URL(at);
		const lookup = ((_: string, __: object, done: (e: null, found: LookupAddress[]) => void) =>
			done(null, [{ address: "127.0.0.1", family: 4 }])) as never;
		await expect(createFetchTool({ lookup }).call({ url: `${url}:${port}/` }, { signal })).rejects.toMatchObject({
			code: "TOOL_CLOSED_ADDRESS",
		});
		expect(asked).toEqual([]);
	});

	test.each(["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "100.128.0.1"])(
		"%s is of the internet",
		(address) => {
			expect(isPublic(address)).toBe(true);
		},
	);

	/** Names that lead where a list says, an answer after the other. */
	const names = (...answers: readonly (readonly string[])[]) => {
		let next = 0;
		return ((_: string, __: object, done: (e: null, found: LookupAddress[]) => void) => {
			const found = answers[Math.min(next++, answers.length - 1)] ?? [];
			done(
				null,
				found.map((address) => ({ address, family: 4 })),
			);
		}) as never;
	};

	test("of a name is looked up once, and what it said then is asked; one of several that is closed closes it", async () => {
		const { port } = new URL(at);
		expect(await get(`http://fox.example:${port}/a`, { lookup: names(["127.0.0.1"], ["127.0.0.2"]) })).toContain(
			"Hello.",
		);
		await expect(get(`http://fox.example:${port}/`, { lookup: names(["127.0.0.2"]) })).rejects.toMatchObject({
			code: "TOOL_CLOSED_ADDRESS",
		});
		await expect(
			get(`http://fox.example:${port}/`, { lookup: names(["127.0.0.1", "10.0.0.1"]) }),
		).rejects.toMatchObject({ code: "TOOL_CLOSED_ADDRESS" });
		expect(asked).toEqual([`fox.example:${port}/a`]);
	});

	test("that leads on is followed within its host, each time looked at, and not for ever", async () => {
		const { port } = new URL(at);
		const leads = (to: string) => page("", { location: to }, 302);
		answer = (request, response) => (request.url === "/a" ? leads("/b") : page("<p>There.</p>"))(request, response);
		expect(await get("/a")).toMatch(new RegExp(`^${at}/b\n\nThere.$`));
		answer = leads("/a");
		await expect(get("/a")).rejects.toMatchObject({
			code: "TOOL_UNREACHABLE",
			message: expect.stringContaining("more than 5 times"),
		});
		// The name leads elsewhere when it is asked again.
		answer = leads("/again");
		await expect(
			get(`http://fox.example:${port}/`, { lookup: names(["127.0.0.1"], ["127.0.0.2"]) }),
		).rejects.toMatchObject({ code: "TOOL_CLOSED_ADDRESS" });
		for (const to of [
			"http://other.example/",
			`http://127.0.0.2:${port}/`,
			"file:///etc/passwd",
			"http://me:x@127.0.0.1/",
			"gopher://x",
		]) {
			answer = leads(to);
			await expect(get("/a"), to).rejects.toMatchObject({ code: "TOOL_UNREACHABLE" });
		}
	});

	test("is what a permission is asked for: its host and port", async () => {
		const wants = await createFetchTool().wants?.({ url: "https://Fox.Example:8443/a?b" }, { signal });
		expect(wants).toEqual([{ action: "fetch", subject: "fox.example:8443", shows: ["https://Fox.Example:8443/a?b"] }]);
	});
});
