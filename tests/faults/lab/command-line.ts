/** The command line as the faults start it: in a place of its own, on a terminal, and looked at afterwards. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Place } from "../../cli.ts";
import { type Killable, startProcess } from "../../kit/killable.ts";
import { sleep, withDirectory } from "./start.ts";

/** It needs a plan. */
export const QUESTION = "How do foxes and owls work together, and what could break? Compare their days in detail";

/** It lies outside what the planted defects copy. */
export const cli = () => import("../../cli.ts");

export async function withPlace<T>(use: (here: Place) => Promise<T>): Promise<T> {
	return withDirectory(async (root) => {
		const cwd = join(root, "project");
		await mkdir(cwd);
		await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day. The den of a fox has two doors.\n");
		await writeFile(join(cwd, "owls.md"), "# Owls\n\nAn owl sleeps by day too. It hunts mice at night.\n");
		return use({ cwd, state: join(root, "reyn"), trace: join(root, "calls.jsonl") });
	});
}

/** `reyn` as the only program of a terminal, with the terminal's settings noted before and after. */
export async function onTerminal(here: Place, args: readonly string[]): Promise<Killable> {
	const reyn = [process.execPath, ...(await cli()).reyn].join(" ");
	const note = (name: string): string => noteOf(here, name);
	await rm(note("after"), { force: true });
	const script = [
		`stty -g > ${note("before")}`,
		`sh -c 'echo $$ > ${note("pid")}; exec ${reyn} --cwd ${here.cwd} --state ${here.state}${here.isCopy ? " --trust" : ""} ${args.join(" ")}'`,
		`echo $? > ${note("code")}`,
		`stty -g > ${note("after.tmp")}; mv ${note("after.tmp")} ${note("after")}`,
	].join("\n");
	await writeFile(note("script"), script);
	const env = { NO_COLOR: "1", TERM: "xterm" };
	return startProcess(["script", "-qec", `sh ${note("script")}`, "/dev/null"], { env, input: "as it goes" });
}

/** It ends with a code, and leaves the terminal as it was. */
export async function leaves(here: Place, code: number): Promise<void> {
	const [before, after] = [await appears(noteOf(here, "before")), await appears(noteOf(here, "after"))];
	assert.equal((await readFile(noteOf(here, "code"), "latin1")).trim(), String(code));
	assert.equal(after, before, "the terminal is not as it was");
}

export const noteOf = ({ cwd }: Place, name: string): string => join(cwd, "..", name);
export const logOf = ({ state }: Place): string => join(state, "state/wal.jsonl");

/** Resolves when that was written; rejects when the program ends without it, or is ended since it takes too long. */
export async function says(program: Killable, what: string, on?: "stdout" | "stderr"): Promise<void> {
	const late = setTimeout(() => void program.kill(), 120_000);
	await program.says(what, on).finally(() => clearTimeout(late));
}

async function appears(path: string): Promise<string> {
	for (let tries = 0; tries < 2400 && !existsSync(path); tries++) await sleep(50);
	return readFile(path, "latin1");
}

/** A log that was closed ends with its last record: what was allocated ahead is given back. */
export async function isClosed(here: Place): Promise<void> {
	await isSound(here);
	const text = await readFile(logOf(here), "latin1");
	assert.ok(/\}\n$/.test(text.slice(-2)), "the log was left as by a crash");
}

export async function isSound(here: Place): Promise<void> {
	const { run } = await cli();
	const { code, stdout, stderr } = await run(here, ["--json", "wal", "verify"]);
	assert.equal(code, 0, `${stdout} ${stderr}`);
	assert.equal((JSON.parse(stdout) as { torn?: unknown }).torn, undefined, "a torn tail");
}
