import type { Scope } from "@reyn/wal";
import type { SnapshotStore } from "../store.ts";

/** The part of vitest, jest or any other runner that the suite uses. */
export interface StoreRunner {
	describe(name: string, body: () => void): void;
	test(name: string, body: () => Promise<void>): void;
	expect(value: unknown): { toEqual(expected: unknown): void };
}

/** Runs the contract over a store; `make` gives an empty one. */
export function testSnapshotStore(
	{ describe, test, expect }: StoreRunner,
	name: string,
	make: () => Promise<SnapshotStore>,
): void {
	const main: Scope = { agent: "default", session: "main" };
	describe(`snapshots in ${name}`, () => {
		test("what was put comes back, per scope and seq", async () => {
			const store = await make();
			await store.put(main, 7, "seven");
			await store.put({ ...main, run: "p1" }, 7, "seven of a run");
			await store.put({}, 7, "seven of all");
			expect([await store.get(main, 7), await store.get({ ...main, run: "p1" }, 7), await store.get({}, 7)]).toEqual([
				"seven",
				"seven of a run",
				"seven of all",
			]);
			expect(await store.get(main, 8)).toEqual(undefined);
		});
		test("seqs are listed newest first, by number and not by name", async () => {
			const store = await make();
			for (const seq of [9, 100, 10]) await store.put(main, seq, String(seq));
			expect(await store.list(main)).toEqual([100, 10, 9]);
			expect(await store.list({})).toEqual([]);
		});
		test("a second put replaces the first", async () => {
			const store = await make();
			await store.put(main, 1, "old");
			await store.put(main, 1, "new");
			expect([await store.get(main, 1), await store.list(main)]).toEqual(["new", [1]]);
		});
		test("what was set aside is listed no more", async () => {
			const store = await make();
			await store.put(main, 1, "a");
			await store.put(main, 2, "b");
			await store.setAside(main, 2);
			expect([await store.list(main), await store.get(main, 2)]).toEqual([[1], undefined]);
		});
	});
}
