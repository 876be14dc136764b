/** Who is answered at all: H2 to H7 of docs/security.md, as decisions on what was sent. */
import { expect, test } from "vitest";
import { type Asked, refusal } from "../src/server/guard.ts";

const PORT = 4711;
const own = ["Host", `127.0.0.1:${PORT}`] as const;

const asked = (more: Partial<Asked> & { readonly headers?: readonly string[] } = {}): Asked => ({
	httpVersion: "1.1",
	method: "GET",
	url: "/",
	rawHeaders: [...(more.headers ?? own)],
	...more,
});

const statusOf = (of: Asked): number | undefined => refusal(of, PORT)?.status;

test.each(["127.0.0.1", "localhost", "[::1]"])("this machine's own name %s is answered", (name) => {
	const host = `${name}:${PORT}`;
	expect(statusOf(asked({ headers: ["Host", host] }))).toBeUndefined();
	const headers = ["hOsT", host, "Origin", `http://${host}`, "Sec-Fetch-Site", "same-origin"];
	expect(statusOf(asked({ method: "POST", url: "/api/read", headers }))).toBeUndefined();
});

test.each([
	"evil.test",
	`evil.test:${PORT}`,
	"127.0.0.1",
	"localhost",
	`127.0.0.1:${PORT + 1}`,
	`127.0.0.1:${PORT}.evil.test`,
	`evil.127.0.0.1:${PORT}`,
	`localhost.:${PORT}`,
	`127.0.0.1.:${PORT}`,
	`0.0.0.0:${PORT}`,
	`127.1:${PORT}`,
	`a@127.0.0.1:${PORT}`,
	`127.0.0.1:${PORT}@evil.test`,
	`LOCALHOST:${PORT} `,
	`127.0.0.1:0${PORT}`,
	"",
])("a host %j is not", (host) => {
	expect(statusOf(asked({ headers: ["Host", host] }))).toBe(403);
});

test("no host, two of them, and an older HTTP are not", () => {
	expect(statusOf(asked({ headers: [] }))).toBe(400);
	expect(statusOf(asked({ headers: [...own, ...own] }))).toBe(400);
	expect(statusOf(asked({ headers: [...own, "HOST", "evil.test"] }))).toBe(400);
	expect(statusOf(asked({ httpVersion: "1.0" }))).toBe(400);
});

test.each(["http://evil/", "//evil/", "", "*", "evil.test:80", "/a b", "/\u0000", "/é"])(
	"a target %j is not",
	(url) => {
		expect(statusOf(asked({ url }))).toBe(400);
	},
);

test.each([
	["Origin", "http://evil.test"],
	["Origin", "null"],
	["Origin", ""],
	["Origin", `http://127.0.0.1:${PORT + 1}`],
	["Origin", `https://127.0.0.1:${PORT}`],
	["Origin", `http://localhost:${PORT}`],
	["Sec-Fetch-Site", "cross-site"],
	["Sec-Fetch-Site", "same-site"],
	["Sec-Fetch-Site", ""],
])("a page elsewhere is not: %s %j", (name, value) => {
	expect(statusOf(asked({ headers: [...own, name, value] }))).toBe(403);
});

test("two origins are not, though one is its own", () => {
	const origin = ["Origin", `http://127.0.0.1:${PORT}`];
	expect(statusOf(asked({ headers: [...own, ...origin] }))).toBeUndefined();
	expect(statusOf(asked({ headers: [...own, ...origin, ...origin] }))).toBe(403);
	const site = ["Sec-Fetch-Site", "same-origin"];
	expect(statusOf(asked({ headers: [...own, ...site, "sec-fetch-site", "cross-site"] }))).toBe(403);
});

test.each(["OPTIONS", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "get", undefined])(
	"the method %s is not",
	(method) => {
		expect(refusal({ ...asked(), method }, PORT)?.status).toBe(405);
	},
);
