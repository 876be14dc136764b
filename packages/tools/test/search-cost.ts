/**
 * What a search costs, and what of it ripgrep could save: `search-cost.ts <directory> <word>`. Which files hold a word is told by the built-in
 * search after it has opened each below the root and looked for NUL at its beginning: that stays, whoever looks for the word.
 */
import { spawnSync } from "node:child_process";
import { systemTimers } from "@reyn/wal";
import { Effort } from "../src/effort.ts";
import { createFileTools, defaultLimits } from "../src/file-tools.ts";
import { openRoot } from "../src/root-directory.ts";
import { walk } from "../src/walk.ts";

const [, , root = ".", word = "promise"] = process.argv;
const { signal } = new AbortController();
const search = createFileTools(root).find(({ name }) => name === "search");

/** The shortest of five, in milliseconds. */
async function time(what: string, work: () => unknown): Promise<void> {
	let least = Number.POSITIVE_INFINITY;
	for (let i = 0; i < 5; i++) {
		const since = performance.now();
		await work();
		least = Math.min(least, performance.now() - since);
	}
	console.log(`${what}: ${least.toFixed(0)} ms`);
}

/** @param bytes that are read of each file; undefined: none is opened */
async function looks(bytes: number | undefined): Promise<void> {
	using effort = new Effort(defaultLimits, signal, systemTimers);
	const start = await (await openRoot(root)).directory([]);
	for await (const { directory, files } of walk(start, { rules: [], effort })) {
		const left = (bytes === undefined ? [] : files).values();
		const lane = async (): Promise<void> => {
			for (const name of left) {
				const file = await directory.file(name);
				const length = Math.min(file.bytes, bytes ?? 0);
				await file.handle.read(Buffer.allocUnsafe(length), 0, length, 0);
				await file.handle.close();
			}
		};
		await Promise.all(Array.from({ length: 16 }, lane));
	}
	await start.close();
}

const found = String(await search?.call({ query: word }, { signal }));
console.log(found.split("\n", 1)[0]);
await time("the search", () => search?.call({ query: word }, { signal }));
await time("the walk alone", () => looks(undefined));
await time("and each file opened, and 8 KB of it read", () => looks(8192));
await time("and all of it", () => looks(Number.POSITIVE_INFINITY));
const args = ["--files-with-matches", "--text", "--ignore-case", "--fixed-strings", "--no-config", "--hidden"];
await time("ripgrep alone", () => spawnSync("rg", [...args, "--regexp", word, "--", "."], { cwd: root }));
