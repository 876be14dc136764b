/** Latches, and how many listeners they put on a signal. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { Latch } from "../src/latch.ts";

const signalled = () => {
	const controller = new AbortController();
	const heard = (): number => getEventListeners(controller.signal, "abort").length;
	return { controller, signal: controller.signal, heard };
};

test("many latches listen to a signal once, and not at all when nothing waits", async () => {
	const { signal, heard } = signalled();
	const latches = Array.from({ length: 100 }, () => new Latch());
	const passed = latches.map((latch) => latch.wait(signal));
	expect(heard()).toBe(1);
	for (const latch of latches.slice(1)) latch.open();
	expect(heard()).toBe(1);
	latches[0]?.refuse(new Error("refused"));
	await expect(passed[0]).rejects.toThrow("refused");
	await Promise.all(passed.slice(1));
	expect(heard()).toBe(0);
});

test("a signal ends what still waits, and what comes to wait", async () => {
	const { controller, signal, heard } = signalled();
	const [open, shut, late] = [new Latch(), new Latch(), new Latch()];
	const passed = [open.wait(signal), shut.wait(signal)];
	open.open();
	controller.abort(new Error("stopped"));
	await passed[0];
	await expect(passed[1]).rejects.toThrow("stopped");
	await expect(late.wait(signal)).rejects.toThrow("stopped");
	shut.open();
	expect(shut.wait(signal)).toBeUndefined();
	expect(heard()).toBe(0);
});
