/** The benchmarks run: a small one, for its shape and not for its figures. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("`pnpm bench recovery --json` prints one document with a row for each reader and a verdict for each goal", async () => {
	const script = join(import.meta.dirname, "../bench/run.ts");
	const args = ["--conditions=@reyn/source", script, "recovery", "--records", "2000", "--rounds", "1", "--json"];
	const { stdout } = await promisify(execFile)(process.execPath, args);
	const report = JSON.parse(stdout);
	expect(report).toMatchObject({ bench: "recovery", rounds: 1, log: { records: 2000, sealed: 0 } });
	expect(report.rows.map(({ name }: { name: string }) => name)).toEqual(["floor", "full", "open"]);
	expect(report.goals).toHaveLength(3);
	for (const { ms, peakMiB } of report.rows) expect(Math.min(ms, peakMiB)).toBeGreaterThan(0);
}, 60_000);
