/** A journal of entries whose process is killed, or whose log ends at any record: each rewind is whole or not there. */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { fileEntries, memoryEntries } from "../src/entries/index.ts";
import { processId, readAll, step } from "./rewind-forever.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-entries-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Ids name seqs, of which a start takes one, and so does what is noted of a move: what is compared is the content, and its order. */
const contentOf = (shown: readonly { readonly type: string; readonly data: unknown }[]) =>
	shown.map(({ type, data }) =>
		type === "rewind"
			? [(data as { mode: string }).mode, (data as { affected: unknown }).affected]
			: (data as { n: number }).n,
	);

const STEPS = 48;

/** What is read after each number of steps. */
async function states(): Promise<unknown[]> {
	await using entries = await memoryEntries();
	const after = [contentOf(await readAll(entries))];
	for (let n = 0; n < STEPS; n++) {
		await step(entries, n);
		after.push(contentOf(await readAll(entries)));
	}
	return after;
}

test("killed right after a line of success it has what was said; killed before, it has that step or has not", async () => {
	const after = await states();
	const random = seeded(SEED);
	let [between, exact] = [0, 0];
	for (let kill = 0; kill < sample(4, 10); kill++) {
		const at = join(directory, `${kill}`);
		const program = startSource(join(import.meta.dirname, "rewind-forever.ts"), [at]);
		// Most at the two steps of each eight that rewind.
		const steps = 8 * random.below(STEPS / 8 - 1) + random.pick([4, 5, 6, 7]);
		await program.line(`${steps}`);
		if (random.chance(0.7)) await new Promise((resolve) => setTimeout(resolve, random() * 8));
		const { stdout } = await program.kill();
		const said = Math.min(STEPS - 1, stdout.trim().split("\n").length);
		await using entries = await fileEntries(at);
		const found = contentOf(await readAll(entries));
		expect([after[said], after[said + 1]], `seed ${SEED}, kill ${kill} after ${said}`).toContainEqual(found);
		expect((await entries.recover({ processId })).length).toBe(
			found.filter((each) => !Array.isArray(each) || each[0] === "summarize").length,
		);
		if (JSON.stringify(found) === JSON.stringify(after[said])) exact++;
		else between++;
		// And it goes on.
		const [last] = (await readAll(entries)).slice(-1);
		const plan = await entries.plan({ processId, beforeEntry: last?.id ?? "", mode: "both" });
		expect(await entries.apply({ processId, plan, actor: "ada" })).toBeDefined();
	}
	expect(exact + between).toBe(sample(4, 10));
	expect(exact).toBeGreaterThan(0);
});

test("whatever record the log ends behind, it has what was read then", async () => {
	const whole = join(directory, "whole");
	const entries = await fileEntries(whole);
	const [steps, log] = [sample(16, STEPS), join(whole, "wal.jsonl")];
	const linesNow = async () => (await readFile(log, "utf8")).split("\n").filter((line) => line.trim() !== "");
	/** By the number of lines that the log has: what is read. */
	const after = new Map<number, unknown>();
	for (let n = 0; n < steps; n++) {
		await step(entries, n);
		after.set((await linesNow()).length, contentOf(await readAll(entries)));
	}
	await entries.close();
	const lines = await linesNow();
	for (let left = 2; left <= lines.length; left++) {
		const at = join(directory, `${left}`);
		await cp(whole, at, { recursive: true });
		await writeFile(join(at, "wal.jsonl"), `${lines.slice(0, left).join("\n")}\n`);
		await rm(join(at, "wal.head"), { force: true });
		await using cut = await fileEntries(at);
		const known = [...after].filter(([count]) => count <= left).at(-1)?.[1] ?? [];
		const next = [...after].find(([count]) => count >= left)?.[1] ?? known;
		expect([known, next], `${left} lines`).toContainEqual(contentOf(await readAll(cut)));
		if (after.has(left)) expect(contentOf(await readAll(cut)), `${left} lines`).toEqual(after.get(left));
	}
});
