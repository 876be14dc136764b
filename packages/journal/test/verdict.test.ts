/** What a gate gives that is no verdict lets nothing pass. */
import { expect, test } from "vitest";
import { Lane, type Step } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const payment: Step<string> = { kind: "tool", name: "pay", args: {}, purity: "side_effect", call: async () => "paid" };

test.each([[["deny"]], [["wait"]], [["pass"]], [new String("deny")]])(
	"a verdict that only looks like one lets nothing pass: %o",
	async (kind) => {
		const log = new DyingLog();
		const gate = async () => ({ kind }) as never;
		await expect(new Lane("p", scope, using(log, { gate })).perform(payment)).rejects.toMatchObject({
			code: "CALL_WAITING",
		});
		expect(log.kinds).toEqual([]);
	},
);
