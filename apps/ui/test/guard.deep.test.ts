/** What takes the server's time and room: who is slow is cut off, who comes in crowds gets no further, and a page that is there is answered. */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type House, openHouse } from "./served.ts";

let house: House;
beforeAll(async () => {
	house = await openHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

test.each([
	["a header", "GET / HTTP/1.1\r\nHost: HOST\r\nX: "],
	[
		"a body",
		"POST /api/session HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
	],
])("%s that never ends is cut off (H17)", async (_, bytes) => {
	// Resolves when the server has closed it: this end never does.
	expect(await house.raw(bytes)).toMatch(/^(HTTP\/1\.1 4\d\d|$)/);
	expect((await house.ask("/api/state")).status).toBe(200);
});

test("a connection that was never used is closed without a word: what a browser asks for on it then is asked again", async () => {
	expect(await house.raw("")).toBe("");
});

test("a crowd that says nothing takes no room for good (H18)", async () => {
	const crowd: Socket[] = [];
	for (let i = 0; i < 200; i++) {
		const socket = connect(house.served.port, "127.0.0.1");
		socket.on("error", () => {});
		crowd.push(socket);
		await new Promise<void>((resolve) => {
			socket.once("connect", resolve);
			socket.once("close", resolve);
		});
	}
	await expect
		.poll(() => crowd.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length)
		.toBeGreaterThan(0);
	for (const socket of crowd) socket.destroy();
	await expect.poll(async () => (await house.ask("/api/state").catch(() => undefined))?.status).toBe(200);
});
