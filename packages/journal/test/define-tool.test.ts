/** Tools that are made of a schema and functions. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { callTool, defineTool, Lane } from "../src/index.ts";
import { testTool } from "../src/testing/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const made: unknown[] = [];
const pay = defineTool({
	name: "pay",
	description: "Pays.",
	purity: "side_effect",
	inDoubt: "ask",
	input: z.strictObject({ euros: z.number().positive(), to: z.string().default("bob") }),
	prepare: async ({ euros }) => ({ before: euros }),
	async call({ euros, to }, { prepared, signal }) {
		signal.throwIfAborted();
		made.push(prepared);
		return `${to} has ${euros}`;
	},
});

testTool(
	{ describe, test, expect },
	{ name: "pay", make: () => pay, args: { euros: 3 }, refused: [{}, { euros: -1 }] },
);

const call = (args: unknown, log = new DyingLog()) =>
	callTool(new Lane("a", scope, using(log)), [pay], { id: "1", name: "pay", args });

test("its functions are given what the schema makes of the arguments, and its fields are the tool's", async () => {
	made.length = 0;
	expect(await call({ euros: 3 })).toEqual({ text: "bob has 3", failed: false });
	expect([made, pay.inDoubt, pay.purity]).toEqual([[{ before: 3 }], "ask", "side_effect"]);
	expect(pay.parameters).toEqual({
		type: "object",
		properties: {
			euros: { type: "number", exclusiveMinimum: 0 },
			to: { type: "string", default: "bob" },
		},
		required: ["euros"],
		additionalProperties: false,
	});
});

test("wrong arguments are refused before anything is prepared or begun, in a line that says what to mend", async () => {
	const log = new DyingLog();
	const { text, failed } = await call({ euros: "three", from: "ann" }, log);
	expect([failed, text]).toEqual([true, expect.stringMatching(/^ERROR: pay: "euros": .*; .*"from"/)]);
	expect(log.kinds).toEqual(["step_failed"]);
	expect(log.records[0]?.data).toMatchObject({ reason: { code: "TOOL_INVALID_ARGS" } });
});
