/**
 * Whatever lies in a state directory in the place of a file or a directory of ours: nothing outside is changed, and everything
 * that is done with the state ends, with the reason. A table: what `planted.ts` finds in a state × what it puts there × what is
 * done. `@reyn/wal` has the log's own files in own-files.test.ts.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, test } from "vitest";
import type { Case, Skip } from "./planted.ts";

/** Of one case: what waits for a pipe waits for good. */
const WATCHDOG_MS = 120_000;

const cases: Case[] = [];
let ended = "";

beforeAll(async () => {
	const child = spawn(process.execPath, ["--conditions=@reyn/source", join(import.meta.dirname, "planted.ts")]);
	let stderr = "";
	child.stderr.on("data", (data) => (stderr += data));
	const bark = (): void => {
		const { path, what, does } = cases.at(-1) ?? {};
		ended = `it hangs behind: ${what} as ${path}, ${does}`;
		child.kill("SIGKILL");
	};
	let watchdog = setTimeout(bark, WATCHDOG_MS);
	for await (const line of createInterface({ input: child.stdout })) {
		clearTimeout(watchdog);
		watchdog = setTimeout(bark, WATCHDOG_MS);
		const found: Case | Skip = JSON.parse(line);
		if ("skipped" in found) console.log(`not tried here: ${found.skipped} (${found.why})`);
		else cases.push(found);
	}
	clearTimeout(watchdog);
	ended ||= stderr;
});

/** Who does something with the files and directories that match. */
const everything = ["trust", "log", "verify", "repair", "script verify", "resume", "run", "gc", "repair --apply"];
const ofRuntime = ["log", "script verify", "resume", "run", "gc"];
const users: readonly (readonly [at: RegExp, does: readonly string[]])[] = [
	[/^(state)?$/, everything],
	[/^state\/wal(-\d+)?\.(jsonl|head|base)$/, everything],
	[/^own$/, ["trust"]],
	[/^state\/wal\.lock$/, ["trust", "resume", "run", "gc", "repair --apply"]],
	[
		/^(runs|agents|agents\/default|agents\/default\/state(\/plans)?|state\/(results|images|scripts|plans|kept|snapshots))$/,
		ofRuntime,
	],
	[/^state\/snapshots\/roots(\/.*)?$/, ofRuntime],
	[/^state\/kept(\/.*)?$/, ["trust"]],
	[/^state\/kept\/roots(\/[^.]+)?$/, ["gc"]],
	[/^state\/kept\/branches\.blob$/, ofRuntime],
	[/^state\/(kept|snapshots)\/log\.blob$/, ["resume", "run"]],
	[/^runs\/\w+$/, ["script verify", "resume", "gc"]],
	[/^runs\/\w+\/(script|args)-/, ["script verify", "resume"]],
	[/^state\/scripts\/\w+(\/|$)/, ["script verify"]],
	[/^state\/(scripts|plans)\/\w+$/, ["gc"]],
	[/^agents\/default\/state\/plans\/p\d+$/, ["gc"]],
	[/^state\/(results|images)\/\w+$/, ["gc"]],
];

test("all was tried, and everything ended", () => {
	expect(ended).toBe("");
	expect(new Set(cases.map(({ path }) => path)).size).toBeGreaterThan(20);
});

test("nothing outside is changed", () => {
	expect(cases.filter(({ untouched }) => !untouched)).toEqual([]);
});

test("it goes well, or is refused with the path of what lies there and how to go on", () => {
	const refused = (each: Case): boolean => each.outcome === "WAL_UNSAFE" && each.about === each.path;
	expect(cases.filter((each) => each.outcome !== "done" && !refused(each))).toEqual([]);
	for (const { message } of cases.filter(refused))
		expect(message).toMatch(/expected .*, found .*\. .*If you know how/s);
});

describe("what uses it refuses it", () => {
	test.each(users)("%s", (at, does) => {
		const meant = cases.filter((each) => at.test(each.path) && does.includes(each.does));
		expect(meant.length).toBeGreaterThan(0);
		expect(meant.filter(({ outcome }) => outcome !== "WAL_UNSAFE")).toEqual([]);
	});
});
