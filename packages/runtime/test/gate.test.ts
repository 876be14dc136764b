import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Gate } from "../src/kernel/shared-lock.ts";

/** Says when each piece of work begins and ends. */
function watched() {
	const said: string[] = [];
	const ends = new Map<string, () => void>();
	const work = (name: string) => async () => {
		said.push(`${name} begins`);
		await new Promise<void>((resolve) => ends.set(name, resolve));
		said.push(`${name} ends`);
		return name;
	};
	const end = async (name: string): Promise<void> => {
		await nextTurn();
		ends.get(name)?.();
		await nextTurn();
	};
	return { said, work, end };
}

test("writes go on beside each other, and none beside what is done alone", async () => {
	const gate = new Gate();
	const { said, work, end } = watched();
	const all = [gate.pass(work("a")), gate.pass(work("b")), gate.alone(work("alone")), gate.pass(work("c"))];
	all.push(gate.alone(work("alone again")));
	for (const name of ["b", "a", "alone", "c", "alone again", "c"]) await end(name);
	expect(await Promise.all(all)).toEqual(["a", "b", "alone", "c", "alone again"]);
	const [first, second] = said.indexOf("c begins") < said.indexOf("alone again begins") ? [3, 4] : [4, 3];
	expect([first, second].toSorted()).toEqual([3, 4]);
	expect(said.slice(0, 6)).toEqual(["a begins", "b begins", "b ends", "a ends", "alone begins", "alone ends"]);
	const spans = said.slice(6).map((line) => line.replace(/ (begins|ends)$/, ""));
	expect(spans[0]).toBe(spans[1]);
	expect(spans[2]).toBe(spans[3]);
});

test("what fails leaves the gate as it was", async () => {
	const gate = new Gate();
	const fails = (): Promise<never> => Promise.reject(new Error("no"));
	await expect(gate.pass(fails)).rejects.toThrow("no");
	await expect(gate.alone(fails)).rejects.toThrow("no");
	expect(await gate.alone(async () => "alone")).toBe("alone");
	expect(await gate.pass(async () => "beside")).toBe("beside");
});
