/** What is found of the writes of a path from a moment on, without a look at all that were before: just what all of them say. */
import { List } from "@reyn/snapshot";
import { afterEach, expect, test, vi } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { type FileWrite, leftIn, observations, observationsOf } from "../src/features/files/file-writes.ts";
import { WritesByPath } from "../src/features/files/path-writes.ts";
import { mainSession } from "../src/index.ts";

afterEach(() => void vi.restoreAllMocks());

test("from any moment on, in any history of writes, it is what all writes say", () => {
	for (let i = 0; i < sample(500, 4_000); i++) {
		const writes = history(SEED + i);
		for (let moment = 0; moment <= writes.length; moment += 3) {
			// The list grows meanwhile.
			const byPath = new WritesByPath();
			for (const length of [Math.max(moment, writes.length - 5), writes.length]) {
				const all = writes.slice(0, length);
				const found = byPath.after(List.from(all), moment).map(({ path, writes, recent, earlier }) => ({
					...{ path, writes, left: leftIn(recent).toSorted() },
					first: observationsOf([...recent, ...writes], earlier).find(({ seq }) => seq > moment),
				}));
				const paths = [...new Set(all.filter(({ seq }) => seq > moment).map(({ path }) => path))];
				const expected = paths.map((path) => {
					const own = all.filter((each) => each.path === path);
					return {
						path,
						writes: own.filter(({ seq }) => seq > moment),
						left: leftIn(own.filter(({ seq }) => seq <= moment)).toSorted(),
						first: observations(all).find((each) => each.path === path && each.seq > moment),
					};
				});
				expect([SEED + i, moment, found]).toEqual([SEED + i, moment, expected]);
			}
		}
	}
});

test("costs the same after ten times the history before", () => {
	const looks = (before: number): number => {
		const edits = Array.from({ length: before }, (_, i) => write(i + 1, `f${i % 50}`, `${i}`, `${i + 50}`));
		const later = Array.from({ length: 50 }, (_, i) => write(before + i + 1, `f${i}`, `${before + i}`, "new"));
		const byPath = new WritesByPath();
		byPath.after(List.from(edits), before);
		const all = List.from([...edits, ...later]);
		const at = vi.spyOn(List.prototype, "at");
		const found = byPath.after(all, before);
		for (const { writes, recent, earlier } of found) observationsOf([...recent, ...writes], earlier);
		expect(found).toHaveLength(50);
		return at.mock.calls.length;
	};
	const few = looks(1_000);
	vi.restoreAllMocks();
	// A search for the moment has a few more steps.
	expect(looks(10_000) - few).toBeLessThan(10 * 50);
});

const write = (seq: number, path: string, before: string | null, after: string | null): FileWrite => ({
	...{ path, before, after, seq, ended: seq, scope: mainSession, lane: "l", outcome: "done" },
});

/** Of two paths and few versions, so that much comes again; also what no tools would make. */
function history(seed: number): readonly FileWrite[] {
	const random = seeded(seed);
	const version = (): string | null => random.pick([null, "1", "2", "3", "4"]);
	return Array.from({ length: 24 }, (_none, i): FileWrite => {
		const { ended: _ended, ...one } = write(i + 1, random.pick(["a", "b"]), version(), version());
		return {
			...one,
			outcome: random.pick(["done", "done", "done", "open", "failed"]),
			lane: random.chance(0.1) ? "files/1" : "l",
			...(random.chance(0.1) && { again: true }),
			...(random.chance(0.8) && { ended: i + 1 + random.below(3) }),
			...(random.chance(0.5) && { asked: Math.max(1, i - random.below(3)) }),
		};
	});
}
