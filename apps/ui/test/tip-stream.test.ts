/** A stream of tips that ends by itself, as where the log is opened anew, says the last one and ends nothing else. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { systemTimers, type Timers } from "@reyn/wal";
import { expect, test } from "vitest";
import { Reader } from "../src/server/reader.ts";
import { Said } from "../src/server/said.ts";
import { streamTips } from "../src/server/tip-stream.ts";
import { Waiting } from "../src/server/waiting.ts";

class Ending extends Reader {
	override async *tips(): AsyncGenerator<number> {
		yield 7;
		yield 8;
	}
}

test("the last tip is said, and nothing is written behind the end", async () => {
	const wrong: unknown[] = [];
	const reader = new Ending(() => Promise.reject(new Error("nothing is opened")));
	const server = createServer((_, response) => {
		response.on("error", (error) => wrong.push(error));
		void streamTips(
			response,
			{ reader, said: new Said(), waiting: new Waiting(), timers: systemTimers },
			new AbortController().signal,
		);
	});
	await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
	const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
	expect((await response.text()).trim().split("\n").at(-1)).toBe('{"tip":8}');
	await setImmediate();
	expect(wrong).toEqual([]);
	server.closeAllConnections();
	await new Promise((resolve) => void server.close(resolve));
});

/** A page that does not read: nothing that is written to it is ever taken. */
class Deaf extends Writable {
	headersSent = false;
	writeHead(): void {
		this.headersSent = true;
	}
	override _write(_chunk: Buffer, _encoding: string, _done: () => void): void {}
}

test("for a page that does not read nothing piles up, however much happens (H18)", async () => {
	const response = new Deaf({ highWaterMark: 1024 });
	const said = new Said();
	class Busy extends Reader {
		override async *tips(): AsyncGenerator<number> {
			for (let tip = 1; tip <= 100_000; tip++) {
				if (tip % 100 === 0) {
					said.take({ type: "text", scope: {}, turn: 1, round: 0, delta: "x".repeat(100) });
					await setImmediate();
				}
				yield tip;
			}
		}
	}
	const reader = new Busy(() => Promise.reject(new Error("nothing is opened")));
	await streamTips(
		response as unknown as ServerResponse,
		{ reader, said, waiting: new Waiting(), timers: systemTimers },
		new AbortController().signal,
	);
	expect(response.headersSent).toBe(true);
	expect(response.writableLength).toBeLessThan(4 * 1024);
});

test("a page hears a beat every ten seconds, by the timers, until it goes", async () => {
	const due: { ms: number; run: () => void; isCancelled: boolean }[] = [];
	const timers: Timers = {
		after(ms, run) {
			const timer = { ms, run, isCancelled: false };
			due.push(timer);
			return () => {
				timer.isCancelled = true;
			};
		},
	};
	const lines: string[] = [];
	class Hearing extends Deaf {
		override _write(chunk: Buffer, _encoding: string, done: () => void): void {
			lines.push(String(chunk).trim());
			done();
		}
	}
	const { promise: over, resolve: end } = Promise.withResolvers<void>();
	class Quiet extends Reader {
		override async *tips(): AsyncGenerator<number> {
			yield 1;
			await over;
		}
	}
	const gone = new AbortController();
	const reader = new Quiet(() => Promise.reject(new Error("nothing is opened")));
	const response = new Hearing() as unknown as ServerResponse;
	const streaming = streamTips(response, { reader, said: new Said(), waiting: new Waiting(), timers }, gone.signal);
	for (let beats = 0; beats < 2; beats++) {
		await expect.poll(() => due.length).toBe(beats + 1);
		due.at(-1)?.run();
	}
	expect([due.map(({ ms }) => ms), lines.filter((line) => line.includes("beat"))]).toEqual([
		[10_000, 10_000, 10_000],
		['{"beat":true}', '{"beat":true}'],
	]);
	gone.abort();
	expect(due.at(-1)?.isCancelled).toBe(true);
	end();
	await streaming;
});
