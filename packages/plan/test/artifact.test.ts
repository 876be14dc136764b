import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
	decompositionPath,
	decompositions,
	planAborted,
	planRuns,
	planStarted,
	readDecomposition,
	writeDecomposition,
} from "../src/index.ts";
import { planOf } from "./plan-process.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-plan-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const plan = planOf("s1 uses look", "s2 needs s1");

test("what was written is read back", async () => {
	const hash = await writeDecomposition(directory, "p1", plan);
	expect(hash).toMatch(/^[0-9a-f]{64}$/);
	expect(await readDecomposition(directory, "p1", hash)).toEqual({ kind: "sound", decomposition: plan });
	expect(await readFile(join(directory, "p1", "decomposition.json"), "utf8")).toContain('"goal": "Find out"');
});

test("the same plan has the same hash, another one another", async () => {
	const hash = await writeDecomposition(directory, "p1", plan);
	expect(await writeDecomposition(directory, "p2", plan)).toBe(hash);
	expect(await writeDecomposition(directory, "p3", planOf("s1", "s2 needs s1"))).not.toBe(hash);
});

test("one that is gone is lost, and says so", async () => {
	const hash = await writeDecomposition(directory, "p1", plan);
	const path = decompositionPath(directory, "p1");
	await rm(path);
	expect(await readDecomposition(directory, "p1", hash)).toEqual({
		kind: "lost",
		why: `${path} is gone`,
	});
});

test.each<[how: string, change: (text: string) => string]>([
	["edited by hand", (text) => text.replace("Do s1", "Do s1 twice")],
	["cut", (text) => text.slice(0, -20)],
	["emptied", () => ""],
	["swapped for one of another shape", () => "[]\n"],
])("one that was %s is lost, and says so", async (_, change) => {
	const hash = await writeDecomposition(directory, "p1", plan);
	const path = decompositionPath(directory, "p1");
	await writeFile(path, change(await readFile(path, "utf8")));
	expect(await readDecomposition(directory, "p1", hash)).toEqual({
		kind: "lost",
		why: `${path} is not what was written: its hash has changed`,
	});
});

test("the record of a start, and a state with the plan, name its file below the directory; nothing else does", () => {
	const start = planStarted({ plan: "p1", goal: "g", steps: 2, decomposition: "" });
	const [name = ""] = decompositions.ofRecord(start);
	expect(join(directory, name)).toBe(decompositionPath(directory, "p1"));
	expect(decompositions.ofRecord(planAborted({ plan: "p1", reason: "" }))).toEqual([]);
	const record = { ...start, seq: 1, ts: 0, scope: {}, crc: "" };
	const state = planRuns.handlers.get(start.kind)?.apply(planRuns.init(), record);
	expect(decompositions.ofState(state ?? {})).toEqual([name]);
	expect(
		["p1/decomposition.json", "p1/notes.json", "decomposition.json", "a/p1/decomposition.json"].map(
			decompositions.isName,
		),
	).toEqual([true, false, false, false]);
});
