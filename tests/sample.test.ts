/** The fast run and the deep one: what a sample is, and that nothing is told of in the deep run alone. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { root } from "./workspace.ts";

afterEach(() => vi.unstubAllEnvs());

async function sampler(set: Readonly<Record<string, string | undefined>>) {
	for (const name of ["REYN_DEEP", "REYN_RUNS", "REYN_SEED"]) vi.stubEnv(name, set[name]);
	vi.resetModules();
	return import("./sample.ts");
}

test("the deep run goes through every point; the fast one through some, others by each seed, and through all with all seeds", async () => {
	const whole = [3, 4, 5, 6, 7, 8, 9, 10];
	expect([...(await sampler({ REYN_DEEP: "1" })).pointsOf(3, 10, 4)]).toEqual(whole);
	const seen: number[] = [];
	for (const seed of [0, 1, 2, 3]) {
		const some = [...(await sampler({ REYN_SEED: `${seed}` })).pointsOf(3, 10, 4)];
		expect(some).toHaveLength(2);
		seen.push(...some);
	}
	expect(seen.sort((a, b) => a - b)).toEqual(whole);
	expect([...(await sampler({ REYN_DEEP: "1" })).pointsOf(0, 9, 2, 3)]).toEqual([0, 3, 6, 9]);
	expect([...(await sampler({ REYN_SEED: "0" })).pointsOf(0, 9, 2, 3)]).toEqual([0, 6]);
	expect((await sampler({ REYN_DEEP: "1" })).some(["a", "b", "c"], 2)).toEqual(["a", "b", "c"]);
	expect((await sampler({ REYN_SEED: "3" })).some(["a", "b", "c"], 2)).toEqual(["b"]);
});

test("the fast run tells the histories of every day, a longer one others, and a seed those that it says", async () => {
	const fast = await sampler({});
	expect([fast.sample(1, 2), fast.histories(10, 100)]).toEqual([1, { numRuns: 10, seed: expect.any(Number) }]);
	expect((await sampler({})).histories(10, 100)).toEqual(fast.histories(10, 100));
	const deep = await sampler({ REYN_DEEP: "only" });
	expect([deep.sample(1, 2), deep.histories(10, 100).numRuns, deep.histories(10).numRuns]).toEqual([2, 100, 10]);
	const asked = await sampler({ REYN_RUNS: "7", REYN_SEED: "5" });
	expect(asked.histories(10, 100)).toEqual({ numRuns: 7, seed: 5 });
});

test("what is in the deep run alone has a shorter test beside it", () => {
	const deep = globSync("{packages,apps,tests}/**/*.deep.test.ts", { cwd: root, exclude: ["**/node_modules"] });
	expect(deep.length).toBeGreaterThan(0);
	expect(deep.filter((path) => !existsSync(join(root, path.replace(".deep.test.ts", ".test.ts"))))).toEqual([]);
});

test("no test sets a limit of its own, which a busy machine would not keep", () => {
	const files = globSync("{packages,apps,tests}/**/*.ts", {
		cwd: root,
		exclude: ["**/node_modules", "**/src", "**/dist"],
	});
	const limit = /\b(?:testTimeout|hookTimeout): |\{ timeout: |^\t*\}, [\d_]{4,}\);$/m;
	expect(files.length).toBeGreaterThan(100);
	const isOwn = (path: string): boolean => limit.test(readFileSync(join(root, path), "utf8"));
	expect(files.filter((path) => !path.endsWith("sample.test.ts") && isOwn(path))).toEqual([]);
});
