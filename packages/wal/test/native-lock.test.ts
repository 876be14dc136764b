/** Where the addon that locks files cannot be loaded: what needs no lock works, and a writer of files is told what to do. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineRecord, openWal } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

/** Refuses the addon in each thread, as a loader does that finds no binary. */
const without = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from "node:module";
registerHooks({
	resolve(name, context, next) {
		if (name === "fs-native-extensions") throw new Error("no binary for this platform");
		return next(name, context);
	},
});`)}`;

test("memory and readers work, and a writer of files is WAL_IO", async () => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-lock-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	const wal = await openWal(directory, { records: [said] });
	await wal.append(said({ text: "a" })).durable;
	await wal.close();
	const program = `
const { memoryEngine, openWal } = await import(${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)});
const memory = await openWal(memoryEngine(), { records: [] });
await memory.close();
const reader = await openWal(${JSON.stringify(directory)}, { records: [], readOnly: true });
console.log(reader.tip);
await reader.close();
await openWal(${JSON.stringify(directory)}, { records: [] }).catch((error) => console.log(error.code, error.message));`;
	const file = join(directory, "program.mjs");
	await writeFile(file, program);
	const { stdout } = await promisify(execFile)(process.execPath, [
		"--conditions=@reyn/source",
		"--import",
		without,
		file,
	]);
	expect(stdout).toMatch(
		/^2\nWAL_IO no file can be locked here: .*no binary for this platform.*readOnly, memoryEngine/,
	);
});

test.each([
	["with a flag of V8", ["--expose-gc"]],
	["from a text of a module", ["--input-type=module"]],
	["with both, in two words", ["--expose-gc", "--input-type", "module"]],
])("a process that was begun %s opens a log", async (_, flags) => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-flags-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	const program = `
import(${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)}).then(async ({ openWal }) => {
	const wal = await openWal(${JSON.stringify(directory)}, { records: [] });
	console.log(wal.tip);
	await wal.close();
});`;
	const args = ["--conditions=@reyn/source", ...flags, "-e", program];
	expect((await promisify(execFile)(process.execPath, args)).stdout).toBe("1\n");
});
