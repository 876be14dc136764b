/** A program that is over leaves no trace in the state, whatever else is open: so what is done and taken back again is as if it never was. */
import { expect, test } from "vitest";
import { journal, Lane, laneClosed } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

test("beside a program that is open, the effects of one that is over are forgotten", async () => {
	const log = new DyingLog();
	const write = (name: string) => ({
		...{ kind: "tool", name, args: {}, purity: "side_effect" as const },
		call: async () => "written",
	});
	await new Lane("script/failed", scope, using(log)).perform(write("first"));
	const before = log.view.get(journal);
	expect(before.lastEffect).toBeGreaterThan(0);
	await new Lane("files/7", scope, using(log)).perform(write("second"));
	log.append(laneClosed({ lane: "files/7" }), scope);
	expect(log.view.get(journal)).toEqual(before);
});

test("a state of a version in which they were not forgotten is brought to that", async () => {
	const log = new DyingLog();
	const effect = { kind: "tool", name: "pay", args: {}, purity: "side_effect" as const, call: async () => "paid" };
	await new Lane("script/failed", scope, using(log)).perform(effect);
	const now = log.view.get(journal);
	expect(journal.migrate?.({ ...now, lastEffect: 99 }, 5)).toEqual(now);
});
