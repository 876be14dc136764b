/** The contract of the `Model` port, for any model: an adapter of a provider, or one of your own. */
import type { Runner } from "@reyn/wal/testing";
import { partSchema } from "../model-step.ts";
import type { Model, ModelPart, ModelRequest } from "../ports.ts";
import { endsSoon, frozen } from "./within.ts";

export interface ModelUnderTest {
	readonly name: string;
	/** Makes a fresh model, with the same id each time. */
	make(): Model;
	/** Makes a model whose far side is silent: it gives no part of its answer for minutes. */
	makeSilent?(): Model;
	/** The request to ask it with. Default: a short question, with one tool that it may call. */
	readonly request?: ModelRequest;
}

const question: ModelRequest = {
	system: "Answer in one short sentence.",
	messages: [{ role: "user", text: "Where does a fox sleep?" }],
	tools: [
		{
			name: "search",
			description: "Searches files for words.",
			parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
		},
	],
};

/**
 * Tests a model for what `askModel` and the log need. It cannot test which failures of the far side may pass, nor whether those are
 * thrown with `retryable: true`.
 */
export function testModel(
	{ describe, test, expect }: Runner,
	{ name, make, makeSilent, request: given = question }: ModelUnderTest,
): void {
	const request = frozen(given);

	describe(`the model ${name}`, () => {
		test("has an id, each time the same", async () => {
			const { id } = make();
			expect([typeof id, id === ""]).toEqual(["string", false]);
			expect(make().id).toBe(id);
		});

		test("gives parts that the log can keep, and says once, at the end, what they cost", async () => {
			const parts = await collect(make(), request);
			for (const part of parts) {
				const read = partSchema.safeParse(part);
				expect([part, read.success]).toEqual([part, true]);
				expect(JSON.parse(JSON.stringify(part))).toEqual(part);
			}
			expect(parts.flatMap(({ type }, i) => (type === "usage" ? [i] : []))).toEqual([parts.length - 1]);
			expect(parts.length > 1).toBe(true);
		});

		test("calls tools that it was given, each call under an id of its own, and none where there are none", async () => {
			const calls = callsIn(await collect(make(), request));
			const known = request.tools.map((tool) => tool.name);
			expect(calls.filter((call) => !known.includes(call.name))).toEqual([]);
			expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
			expect(callsIn(await collect(make(), frozen({ ...given, tools: [] })))).toEqual([]);
		});

		test("answers several requests at once, each whole", async () => {
			const model = make();
			const answers = await Promise.all([1, 2, 3].map(() => collect(model, request)));
			for (const parts of answers) expect(parts.filter(({ type }) => type === "usage").length).toBe(1);
		});

		test("gives nothing to whoever has cancelled before", async () => {
			expect(await endOf(() => make().generate(request, { signal: AbortSignal.abort() }))).toEqual(cancelled);
		});

		test("gives nothing more to whoever cancels in the middle", async () => {
			const control = new AbortController();
			const answer = make().generate(request, { signal: control.signal })[Symbol.asyncIterator]();
			expect((await answer.next()).done).toBe(false);
			control.abort();
			expect(await endOf(() => ({ [Symbol.asyncIterator]: () => answer }))).toEqual(cancelled);
		});

		test("can be left in the middle", async () => {
			const answer = make().generate(request, { signal: new AbortController().signal })[Symbol.asyncIterator]();
			await answer.next();
			if (!answer.return) return;
			await endsSoon(answer.return());
			expect((await endsSoon(answer.next())).done).toBe(true);
		});

		if (makeSilent) {
			test("stops waiting for its far side when it is cancelled", async () => {
				const control = new AbortController();
				const end = endOf(() => makeSilent().generate(request, { signal: control.signal }));
				setTimeout(() => control.abort(), 20);
				expect(await end).toEqual(cancelled);
			});
		}
	});
}

const cancelled = { parts: 0, how: "it throws" };

/** Reads an answer to its end. A cancelled one has to end with an error, since one that just ends looks complete. */
async function endOf(answer: () => AsyncIterable<ModelPart>): Promise<{ parts: number; how: string }> {
	let parts = 0;
	const read = async () => {
		for await (const _ of answer()) parts++;
	};
	const how = await endsSoon(
		read().then(
			() => "it just ends",
			() => "it throws",
		),
	);
	return { parts, how };
}

async function collect(model: Model, request: ModelRequest): Promise<readonly ModelPart[]> {
	const parts: ModelPart[] = [];
	for await (const part of model.generate(request, { signal: new AbortController().signal })) parts.push(part);
	return parts;
}

const callsIn = (parts: readonly ModelPart[]) => parts.flatMap((part) => (part.type === "toolCall" ? [part.call] : []));
