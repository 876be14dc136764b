/** One look after the other at what is packed: each says whether it went well, and the next one is taken either way. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { root } from "../workspace.ts";

export const tally = { passed: 0, failed: 0, skipped: 0 };

/** What npm is asked, so that it brings a folder's packages. */
export const installs = ["install", "--no-audit", "--no-fund", "--prefer-offline"];

export function step(name: string, work: () => unknown): boolean {
	try {
		work();
	} catch (error) {
		tally.failed++;
		console.log(`FAIL  ${name}\n${String(error instanceof Error ? error.message : error).replace(/^/gm, "      ")}`);
		return false;
	}
	tally.passed++;
	console.log(`ok    ${name}`);
	return true;
}

export function skip(name: string, reason: string): void {
	tally.skipped++;
	console.log(`skip  ${name}: ${reason}`);
}

export function expectNone(problems: readonly string[]): void {
	if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Run a tool of this repository, or of the system, and return what it printed; a non-zero exit throws all of it. */
export function run(command: string, args: readonly string[], cwd: string): string {
	// Inside a git hook GIT_DIR names the real repository, and `git init` in the copy would land there.
	const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")));
	env.PATH = [join(root, "node_modules/.bin"), env.PATH].join(delimiter);
	const { error, status, stdout, stderr } = spawnSync(command, args, {
		cwd,
		env,
		encoding: "utf8",
		stdio: ["ignore", "pipe", "pipe"],
		maxBuffer: 64 * 1024 * 1024,
	});
	if (error) throw error;
	if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}\n${stdout}${stderr}`.trimEnd());
	return stdout;
}

export function writeJson(file: string, value: unknown): void {
	writeFileSync(file, JSON.stringify(value, null, "\t"));
}

/** Files of a folder, by the types of what is installed there and no others. */
export function compile(home: string, files: readonly string[]): void {
	const compilerOptions = {
		...{ module: "nodenext", moduleResolution: "nodenext", target: "es2024", types: ["node"] },
		...{ strict: true, skipLibCheck: false, noEmit: true },
	};
	writeJson(join(home, "tsconfig.json"), { compilerOptions, files });
	run("tsc", ["-p", "tsconfig.json"], home);
}

/** The version of Node's types that a stranger installs beside ours. */
export const nodeTypes = (): string =>
	JSON.parse(readFileSync(join(root, "node_modules/@types/node/package.json"), "utf8")).version;
