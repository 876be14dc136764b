/** Connections that really break: a server that cuts them, and clients as adapters of models have them. */
import { createServer, get, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { askModel, Lane, type Model } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const request = { system: "", messages: [], tools: [] };
const atOnce = { retry: { initialIntervalMs: 0, maxAttempts: 3 } };

/** Cuts calls off, and answers the others. */
async function serve(cut: (response: ServerResponse) => void, isCut: (call: number) => boolean) {
	let calls = 0;
	const server = createServer((_, response) => {
		if (isCut(++calls)) cut(response);
		else response.end("hello");
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		calls: () => calls,
		[Symbol.asyncDispose]: () =>
			new Promise<void>((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

async function urlOfNobody(): Promise<string> {
	await using closed = await serve(answered, () => false);
	return closed.url;
}

const answered = (): void => {};

const clients: Record<string, (url: string) => Promise<string>> = {
	fetch: async (url) => (await fetch(url)).text(),
	http: (url) =>
		new Promise((resolve, reject) => {
			get(url, { agent: false }, (response) => text(response).then(resolve, reject)).on("error", reject);
		}),
};

/** A model behind a client. */
const modelOver = (call: () => Promise<string>): Model => ({
	id: "far",
	async *generate() {
		yield { type: "text", text: await call() };
		yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
	},
});

const ask = (log: DyingLog, model: Model) =>
	askModel(new Lane("a", scope, using(log, { modelPolicy: atOnce })), model, request);

const cuts: Record<string, (response: ServerResponse) => void> = {
	"before an answer": (response) => response.socket?.destroy(),
	"with a reset": (response) => response.socket?.resetAndDestroy(),
	"amid an answer": (response) => {
		response.writeHead(200, { "content-length": 100 });
		response.write("hel", () => response.socket?.destroy());
	},
};

for (const [client, call] of Object.entries(clients)) {
	test.each(Object.keys(cuts))(`a model that is cut off %s is asked again (${client})`, async (when) => {
		await using server = await serve(cuts[when] as (typeof cuts)[string], (n) => n < 3);
		const log = new DyingLog();
		const reply = await ask(
			log,
			modelOver(() => call(server.url)),
		);
		expect([reply.text, server.calls()]).toEqual(["hello", 3]);
		expect(log.kinds).toEqual(["step_failed", "step_failed", "step_completed"]);
	});

	test(`a model that is never there is unavailable after the last try, and asked anew by the next run (${client})`, async () => {
		await using server = await serve(answered, () => false);
		const url = await urlOfNobody();
		const log = new DyingLog();
		let calls = 0;
		const gone = modelOver(() => {
			calls++;
			return call(url);
		});
		await expect(ask(log, gone)).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE", detail: { attempts: 3 } });
		expect(calls).toBe(3);
		const back = await ask(
			log,
			modelOver(() => call(server.url)),
		);
		expect(back.text).toBe("hello");
	});
}
