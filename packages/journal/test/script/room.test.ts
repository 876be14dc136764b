/** What a script has under way costs its host room, and what it asks for one after the other must not keep the process. */
import { expect, test } from "vitest";
import { deepTest } from "../../../../tests/deep-test.ts";
import { runBody, testHost } from "./host.ts";
import { Process, script } from "./script-process.ts";

deepTest("more calls, or branches, than its host has room for are refused", async () => {
	const never = () => testHost(() => new Promise(() => {}));
	const expected = (what: string) => ({
		code: "SCRIPT_INVALID",
		message: expect.stringContaining(`at most 10000 ${what} under way at a time; found 10001`),
		detail: { call: what === "calls" ? "now" : "parallel", limit: 10_000, found: 10_001 },
	});
	await expect(runBody("for (;;) ctx.now();", never())).rejects.toMatchObject(expected("calls"));
	const branches = "return ctx.parallel(Array.from({ length: 10_001 }, () => async () => 1));";
	await expect(runBody(branches, never())).rejects.toMatchObject(expected("branches"));
	const nested = `return ctx.parallel([() => ${branches.slice(7, -1).replace("10_001", "10_000")}]);`;
	await expect(runBody(nested, never())).rejects.toMatchObject({ code: "SCRIPT_BRANCH_FAILED" });
	const often =
		"for (let i = 0; i < 3; i++) await ctx.parallel(Array.from({ length: 4000 }, () => () => ctx.now())); return 1;";
	await expect(runBody(often)).resolves.toBe(1);
});

test("a script that asks without an end leaves its process a turn", async () => {
	const run = new Process();
	const look = (): unknown => (run.log.records.length > 10 ? run.stop("stopped") : setImmediate(look));
	look();
	expect(await run.work(script('for (let i = 0; i < 3000; i++) await ctx.now(); return "done";'))).toMatchObject({
		status: "stopped",
	});
});
