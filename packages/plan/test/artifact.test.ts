import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
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

describe("a plan of any name", () => {
	const names = ["../../", "..", "a/../../b", "/etc", "CON", "p", "P", "\n", "a\0b", "あ".repeat(100), "p".repeat(300)];

	test.each(names)("%j is kept below its directory, and read back", async (name) => {
		const below = join(directory, "deep", "plans");
		const hash = await writeDecomposition(below, name, plan);
		expect(await readDecomposition(below, name, hash)).toEqual({ kind: "sound", decomposition: plan });
		expect(await readdir(directory)).toEqual(["deep"]);
		expect(await readdir(join(directory, "deep"))).toEqual(["plans"]);
		const [folder = "", ...others] = await readdir(below);
		expect([await readdir(join(below, folder)), others]).toEqual([["decomposition.json"], []]);
	});

	test("has a file of its own, also where case is folded", () => {
		const paths = names.map((name) => decompositionPath(directory, name).toLowerCase());
		expect(new Set(paths).size).toBe(names.length);
	});

	test.each(["P 1", "P1", "a/b"])(
		"%j is found where an older version has put it, and is not taken away",
		async (name) => {
			const text = `${JSON.stringify(plan, null, "\t")}\n`;
			const hash = createHash("sha256").update(text).digest("hex");
			await mkdir(join(directory, name), { recursive: true });
			await writeFile(join(directory, name, "decomposition.json"), text);
			expect(await readDecomposition(directory, name, hash)).toEqual({ kind: "sound", decomposition: plan });
			const start = planStarted({ plan: name, goal: "g", steps: 2, decomposition: hash });
			expect(decompositions.ofRecord(start)).toContain(`${name}/decomposition.json`);
			expect(decompositions.ofRecord(start).map((each) => join(directory, each))).toContain(
				decompositionPath(directory, name),
			);
		},
	);

	test("is not looked for outside of its directory", async () => {
		const hash = await writeDecomposition(directory, "out", plan);
		const inner = join(directory, "inner");
		expect(await readDecomposition(inner, "../out", hash)).toMatchObject({ kind: "lost" });
		expect(await readDecomposition(inner, "out", hash)).toMatchObject({ kind: "lost" });
		const start = planStarted({ plan: "../out", goal: "g", steps: 2, decomposition: hash });
		expect(decompositions.ofRecord(start).filter((each) => each.includes(".."))).toEqual([]);
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

test("one that is larger than any plan may be is lost, and is not read", async () => {
	const hash = await writeDecomposition(directory, "p1", plan);
	const path = decompositionPath(directory, "p1");
	// It takes no space: nothing but its size is there.
	await truncate(path, 8 * 1024 ** 3);
	const why = expect.stringContaining(`${path} has 8589934592 bytes; at most 1048576 were written`);
	expect(await readDecomposition(directory, "p1", hash)).toEqual({ kind: "lost", why });
});
