/** The lock that many hold together, or one alone. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { SharedLock } from "../src/kernel/shared-lock.ts";

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
	const lock = new SharedLock();
	const { said, work, end } = watched();
	const all = [lock.shared(work("a")), lock.shared(work("b")), lock.exclusive(work("alone")), lock.shared(work("c"))];
	all.push(lock.exclusive(work("alone again")));
	for (const name of ["b", "a", "alone", "c", "alone again", "c"]) await end(name);
	expect(await Promise.all(all)).toEqual(["a", "b", "alone", "c", "alone again"]);
	const [first, second] = said.indexOf("c begins") < said.indexOf("alone again begins") ? [3, 4] : [4, 3];
	expect([first, second].toSorted()).toEqual([3, 4]);
	expect(said.slice(0, 6)).toEqual(["a begins", "b begins", "b ends", "a ends", "alone begins", "alone ends"]);
	const rest = said.slice(6).map((line) => line.replace(/ (begins|ends)$/, ""));
	expect(rest[0]).toBe(rest[1]);
	expect(rest[2]).toBe(rest[3]);
});

test("what fails leaves the lock as it was", async () => {
	const lock = new SharedLock();
	const fails = (): Promise<never> => Promise.reject(new Error("no"));
	await expect(lock.shared(fails)).rejects.toThrow("no");
	await expect(lock.exclusive(fails)).rejects.toThrow("no");
	expect(await lock.exclusive(async () => "alone")).toBe("alone");
	expect(await lock.shared(async () => "beside")).toBe("beside");
});
