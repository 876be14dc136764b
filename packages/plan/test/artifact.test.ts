/** The steps of a plan as they are kept: under their hash, held to it, and no larger than a plan may be. */
import { createHash } from "node:crypto";
import { mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobStore, fileBlobs, memoryBlobs } from "@reyn/wal";
import { beforeEach, expect, test } from "vitest";
import {
	decompositions,
	planAborted,
	planRuns,
	planStarted,
	readDecomposition,
	writeDecomposition,
} from "../src/index.ts";
import { planOf } from "./plan-process.ts";

let blobs: BlobStore;
beforeEach(() => {
	blobs = memoryBlobs();
});

const plan = planOf("s1 uses look", "s2 needs s1");
const nameOf = (hash: string): string => `${hash.slice(0, 2)}/${hash}`;

test("what was written is read back", async () => {
	const hash = await writeDecomposition(plan, blobs);
	expect(hash).toMatch(/^[0-9a-f]{64}$/);
	expect(await readDecomposition(hash, blobs)).toEqual({ kind: "sound", decomposition: plan });
	const bytes = (await blobs.get(nameOf(hash))) ?? Buffer.alloc(0);
	expect(Buffer.from(bytes).toString()).toContain('"goal": "Find out"');
	expect(createHash("sha256").update(bytes).digest("hex")).toBe(hash);
});

test("the same plan has the same hash, another one another", async () => {
	const hash = await writeDecomposition(plan, blobs);
	expect(await writeDecomposition(plan, blobs)).toBe(hash);
	expect(await writeDecomposition(planOf("s1", "s2 needs s1"), blobs)).not.toBe(hash);
	expect(await blobs.list("")).toHaveLength(2);
});

test("one that is gone is lost, and says so", async () => {
	const hash = await writeDecomposition(plan, blobs);
	await blobs.delete(nameOf(hash));
	expect(await readDecomposition(hash, blobs)).toEqual({ kind: "lost", why: `${nameOf(hash)} is gone` });
});

test.each<[how: string, change: (text: string) => string]>([
	["edited by hand", (text) => text.replace("Do s1", "Do s1 twice")],
	["cut", (text) => text.slice(0, -20)],
	["emptied", () => ""],
	["swapped for one of another shape", () => "[]\n"],
])("one that was %s is lost, and says so", async (_, change) => {
	const hash = await writeDecomposition(plan, blobs);
	const text = Buffer.from((await blobs.get(nameOf(hash))) ?? []).toString();
	await blobs.put(nameOf(hash), Buffer.from(change(text)));
	expect(await readDecomposition(hash, blobs)).toEqual({
		kind: "lost",
		why: `${nameOf(hash)} is not what was written: its hash has changed`,
	});
});

test("one that a newer version has written, which knows more of a step, is lost, and says so", async () => {
	const text = JSON.stringify({ ...plan, steps: plan.steps.map((step) => ({ ...step, mood: "good" })) });
	const hash = createHash("sha256").update(text).digest("hex");
	await blobs.put(nameOf(hash), Buffer.from(text));
	expect(await readDecomposition(hash, blobs)).toEqual({
		kind: "lost",
		why: expect.stringMatching(/^this version of Reyn cannot read them: .*"mood"/s),
	});
});

test.each(["", "../../e", `../${"e".repeat(64)}`, "E".repeat(64), "e".repeat(63)])(
	"a record that says %j in place of a hash names nothing",
	async (hash) => {
		expect(await readDecomposition(hash, blobs)).toEqual({ kind: "lost", why: `${JSON.stringify(hash)} is no hash` });
		expect(decompositions.ofRecord(planStarted({ plan: "p1", goal: "g", steps: 2, decomposition: hash }))).toEqual([]);
	},
);

test("the record of a start, and a state with the plan, name it; nothing else does", () => {
	const hash = "ab".repeat(32);
	const start = planStarted({ plan: "a name that a person gave", goal: "g", steps: 2, decomposition: hash });
	expect(decompositions.ofRecord(start)).toEqual([nameOf(hash)]);
	expect(decompositions.ofRecord(planAborted({ plan: "p1", reason: "" }))).toEqual([]);
	const record = { ...start, seq: 1, ts: 0, scope: {}, crc: "" };
	const state = planRuns.handlers.get(start.kind)?.apply(planRuns.init(), record);
	expect(decompositions.ofState(state ?? planRuns.init())).toEqual([nameOf(hash)]);
	expect([nameOf(hash), hash, `cd/${hash}`, "ab/notes"].map(decompositions.isName)).toEqual([
		true,
		false,
		false,
		false,
	]);
});

test("one that is larger than any plan may be is lost, and is not read", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-plan-"));
	const files = fileBlobs(join(directory, "plans"));
	const hash = await writeDecomposition(plan, files);
	const path = join(directory, "plans", `${nameOf(hash)}.blob`);
	// It takes no space: nothing but its size is there.
	await truncate(path, 8 * 1024 ** 3);
	const why = expect.stringContaining(`${path} has 8589934592 bytes; at most 1048576 were written`);
	expect(await readDecomposition(hash, files)).toEqual({ kind: "lost", why });
	await rm(directory, { recursive: true });
});
