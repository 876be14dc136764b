/** The benchmarks run: a small one, for its shape and not for its figures; the others are told of in the deep run. */
import { expect, test } from "vitest";
import { bench, namesOf } from "./bench.ts";

test("`pnpm bench recovery --json` prints one document with a row for each reader and a verdict for each goal", async () => {
	const report = JSON.parse(await bench("recovery", "--records", "2000", "--rounds", "1", "--json"));
	expect(report).toMatchObject({ bench: "recovery", rounds: 1, log: { records: 2000, sealed: 0 } });
	expect(namesOf(report.rows)).toEqual(["floor", "floor with state", "read", "full", "open"]);
	expect(report.goals).toHaveLength(3);
	for (const { ms, peakMiB } of report.rows) expect(Math.min(ms, peakMiB)).toBeGreaterThan(0);
});

test("`pnpm bench --help` names the benches, and an unknown one is refused with the same", async () => {
	const help = await bench("--help");
	expect(help).toContain("pnpm bench append");
	expect(help).toContain("pnpm bench checkout");
	expect(help).toContain("pnpm bench install");
	expect(help).toContain("pnpm bench open");
	expect(help).toContain("pnpm bench page");
	expect(help).toContain("pnpm bench plan");
	expect(help).toContain("pnpm bench recovery");
	expect(help).toContain("pnpm bench resume");
	expect(help).toContain("pnpm bench skills");
	expect(help).toContain("pnpm bench snapshot");
	expect(help).toContain("pnpm bench start");
	expect(help).toContain("pnpm bench tasks");
	await expect(bench("nothing")).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(help.trim()) });
	await expect(bench("append", "--rounds", "0")).rejects.toMatchObject({ code: 2 });
	await expect(bench("snapshot", "--steps", "10,")).rejects.toMatchObject({ code: 2 });
});
