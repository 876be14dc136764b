/** The contract of the `Tool` port, for any tool. */
import type { Runner } from "@reyn/wal/testing";
import { z } from "zod";
import type { Tool } from "../ports.ts";
import { purities } from "../purity.ts";
import { endsSoon, frozen } from "./within.ts";

export interface ToolUnderTest {
	readonly name: string;
	make(): Tool;
	/** Arguments that the tool answers; an effect is made once for each test that calls it. */
	readonly args: unknown;
	/** Arguments that the tool refuses, besides values that are no object. */
	readonly refused?: readonly unknown[];
}

/**
 * Tests a tool for what `callTool`, models and the log need. It cannot test whether the purity is true, nor whether the far side
 * recognises a repeat by its `idempotencyKey`. The schema is read by `z.fromJSONSchema`, which has no `if` and no `not`.
 */
export function testTool({ describe, test, expect }: Runner, { name, make, args, refused = [] }: ToolUnderTest): void {
	const call = async (given: unknown, signal = new AbortController().signal): Promise<string> => {
		const tool = make();
		const prepared = tool.prepare && { prepared: await tool.prepare(frozen(given), { signal }) };
		const answer = await tool.call(frozen(given), { signal, idempotencyKey: "0".repeat(64), ...prepared });
		if (typeof answer !== "object") return answer;
		// An error that is answered, not thrown, has no code.
		if (answer.isError) throw new Error(answer.text);
		return answer.text;
	};

	describe(`the tool ${name}`, () => {
		test("says what it is called, what it is for, and what it does to the world", async () => {
			const { name, description, purity } = make();
			// The names of functions that every provider accepts.
			expect([name, /^[A-Za-z0-9_-]{1,64}$/.test(name)]).toEqual([name, true]);
			expect(description.trim() === "").toBe(false);
			expect([purity, purities.includes(purity)]).toEqual([purity, true]);
		});

		test("says what it takes as a JSON Schema of an object, which its own arguments fit", async () => {
			const { parameters } = make();
			expect(JSON.parse(JSON.stringify(parameters))).toEqual(parameters);
			expect(parameters.type).toBe("object");
			const schema = z.fromJSONSchema(parameters as Parameters<typeof z.fromJSONSchema>[0]);
			expect([args, schema.safeParse(args).success]).toEqual([args, true]);
		});

		test("answers with a text, and leaves its arguments as they are", async () => {
			const text = await call(args);
			expect(typeof text).toBe("string");
			expect(text.toWellFormed()).toBe(text);
		});

		test("refuses other arguments with an error that has a code and says why in a line", async () => {
			for (const wrong of [null, "text", 7, [], ...refused]) {
				const error = await call(wrong).then(
					() => undefined,
					(thrown: unknown) => thrown,
				);
				const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
				expect([wrong, error instanceof Error]).toEqual([wrong, true]);
				expect([wrong, code, /^[A-Z][A-Z0-9_]+$/.test(String(code))]).toEqual([wrong, code, true]);
				expect([wrong, message, /^.+$/.test(String(message))]).toEqual([wrong, message, true]);
			}
		});

		test("does nothing for whoever has cancelled before, and gives the reason", async () => {
			const reason = new Error("cancelled by the suite");
			const end = await endsSoon(
				call(args, AbortSignal.abort(reason)).then(
					(text) => `it answers ${text}`,
					(error: unknown) => error,
				),
			);
			expect(end).toBe(reason);
		});

		test("ends soon for whoever cancels meanwhile", async () => {
			const control = new AbortController();
			const end = call(args, control.signal).then(
				() => "ended",
				() => "ended",
			);
			control.abort();
			expect(await endsSoon(end)).toBe("ended");
		});
	});
}
