/** Where a script's calls stand is kept by Node in one store for all runs: each store more slows the whole process. */
import { setImmediate } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { Branches } from "../../src/script/branches.ts";
import { Process, script } from "./script-process.ts";

const { made } = vi.hoisted(() => ({ made: { stores: 0 } }));

// Files of tests share their modules: a mock has some of its own.
vi.hoisted(() => vi.resetModules());
afterAll(() => {
	vi.doUnmock("node:async_hooks");
	vi.resetModules();
});
vi.mock(import("node:async_hooks"), async (original) => {
	const real = await original();
	class Counted<T> extends real.AsyncLocalStorage<T> {
		constructor(...given: ConstructorParameters<typeof real.AsyncLocalStorage>) {
			super(...given);
			made.stores++;
		}
	}
	return { ...real, AsyncLocalStorage: Counted };
});

const source = script(
	'return ctx.parallel([1, 2].map((n) => async () => { await ctx.agent("a " + n); return ctx.agent("b " + n); }));',
);

test("however many scripts run, there is one store, made before the first", async () => {
	const before = made.stores;
	for (let run = 0; run < 5; run++) expect(await new Process().work(source)).toMatchObject({ status: "completed" });
	expect([before, made.stores]).toEqual([1, 1]);
});

const branchesOf = (run: string): Branches => new Branches(run, {}, new Process().ports);

test("a run inside a branch of another stands at its own root, and each finds its own branch again", async () => {
	const [outer, inner] = [branchesOf("outer"), branchesOf("inner")];
	const at = (): readonly string[] => [outer.current.lane.path, inner.current.lane.path];
	const seen: unknown[] = [at()];
	await outer.enter(outer.fork("parallel", "", 2), 1, async () => {
		seen.push(at());
		await inner.enter(inner.fork("parallel", "", 1), 0, async () => {
			await setImmediate();
			seen.push(at());
			await inner.enter(inner.fork("phase", "p", 1), 0, async () => void seen.push(at()));
		});
		seen.push(at());
	});
	seen.push(at());
	const [root, first] = ["script/outer", "script/outer/parallel/0/1"];
	expect(seen).toEqual([
		[root, "script/inner"],
		[first, "script/inner"],
		[first, "script/inner/parallel/0/0"],
		[first, "script/inner/parallel/0/0/phase.p/0"],
		[first, "script/inner"],
		[root, "script/inner"],
	]);
});
