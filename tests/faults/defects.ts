/**
 * Test the tests: each defect is planted in a copy of the source of its package, and a named test has to go red.
 * The copy lies outside this checkout (Node strips no types under node_modules), and resolves its packages through links to it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, readFile, symlink, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { type Fault, FaultError } from "./fault.ts";
import { withDirectory } from "./lab/start.ts";
import { type Defect, folderOf } from "./planted/defect.ts";
import { ofJournal } from "./planted/journal.ts";
import { ofOthers } from "./planted/others.ts";
import { ofTasks } from "./planted/tasks.ts";
import { ofWal } from "./planted/wal.ts";

export const defects: readonly Defect[] = [...ofWal, ...ofJournal, ...ofOthers, ...ofTasks];

export const fault: Fault = {
	name: "defects",
	title: "defects planted in the source of each layer",
	promise: "each turns a named test red",
	rows: [],
	needs: () => (process.platform === "win32" ? "needs links" : undefined),
	async run({ only, short }) {
		const figures: Record<string, string> = {};
		const planted = chosen(only, short);
		// A test that is red without a defect catches nothing.
		const tests = [...new Set(planted.flatMap((defect) => defect.tests))];
		const unsound = await withCopy(undefined, async (root) => {
			const found = await forEach(tests, (test) => outcomeOf(test, root));
			return tests.filter((_, i) => found[i] !== "green");
		});
		for (const test of unsound) figures[`${test} without a defect`] = "NOT GREEN: it proves nothing below";
		const caught = await forEach(planted, async (defect) => {
			const by = await withCopy(defect, async (root) => {
				for (const test of defect.tests.filter((each) => !unsound.includes(each))) {
					const outcome = await outcomeOf(test, root);
					if (outcome !== "green") return outcome === "red" ? test : `${test}, which did not end`;
				}
				return undefined;
			});
			// The whole takes long: one that is stopped has said what it saw.
			console.error(`${defect.name}: ${by ?? "SURVIVED"}`);
			return by;
		});
		for (const [i, { name }] of planted.entries()) figures[name] = caught[i] ?? "SURVIVED";
		const survived = planted.filter((_, i) => caught[i] === undefined).map(({ name }) => name);
		figures["caught / planted"] = `${planted.length - survived.length} / ${planted.length}`;
		if (survived.length > 0) throw new FaultError(`nobody noticed: ${survived.join("; ")}`, figures);
		return figures;
	},
};

/** @throws where no defect has the text: nothing would have been noticed, and all be well */
function chosen(only: string | undefined, short: boolean): readonly Defect[] {
	if (only === undefined) return short ? defects.filter((_, i) => i % 4 === 0) : defects;
	const found = defects.filter(({ name, tests }) => [name, ...tests].some((text) => text.includes(only)));
	if (found.length === 0) throw new FaultError(`no defect has "${only}" in its name or in its tests`, {});
	return found;
}

/** What each comes to, as many at once as there are cores. */
async function forEach<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
	const found: R[] = [];
	const left = items.entries();
	const worker = async (): Promise<void> => {
		for (const [i, item] of left) found[i] = await work(item);
	};
	await Promise.all(Array.from({ length: availableParallelism() }, worker));
	return found;
}

const repository = join(import.meta.dirname, "../..");

/** The packages, the apps and the tests in a directory of their own, the defect planted. */
async function withCopy<T>(defect: Defect | undefined, use: (root: string) => Promise<T>): Promise<T> {
	return withDirectory(async (root) => {
		await chmod(root, 0o755);
		// The links between packages are relative: each leads to the copy of the other.
		for (const path of ["packages", "apps", "examples", "tests", "tsconfig.base.json", "vitest.base.ts"])
			await cp(join(repository, path), join(root, path), {
				recursive: true,
				verbatimSymlinks: true,
				filter: (source) => !["dist", ".turbo"].includes(basename(source)),
			});
		await writeFile(join(root, "package.json"), '{ "private": true, "type": "module" }');
		await symlink(join(repository, "node_modules"), join(root, "node_modules"));
		if (defect) {
			const path = join(root, folderOf(defect.package), "src", defect.file);
			const source = await readFile(path, "utf8");
			const parts = source.split(defect.from);
			if (parts.length !== 2)
				throw new Error(`"${defect.name}": its place is ${parts.length - 1} times in ${defect.file}:\n${defect.from}`);
			await writeFile(path, parts.join(defect.to));
		}
		return use(root);
	});
}

/** To its first red test; one that is slow since the machine is busy is not red. */
const SLOWLY = ["--bail=1", "--testTimeout=120000"];

async function outcomeOf(test: string, root: string): Promise<"green" | "red" | "no end"> {
	const [of = "", name = ""] = test.split(" ");
	const args =
		of === "faults"
			? ["--conditions=@reyn/source", join(root, "tests/faults/run.ts"), name, "--short"]
			: [join(root, "node_modules/vitest/vitest.mjs"), "run", ...SLOWLY, "--root", join(root, folderOf(of)), name];
	// A defect may hang a test as well as fail it.
	const child = spawn(process.execPath, args, {
		cwd: root,
		env: envOfFastRun(),
		stdio: "ignore",
		timeout: 300_000,
		killSignal: "SIGKILL",
	});
	const [code, signal] = await once(child, "close");
	return code === 0 ? "green" : signal === "SIGKILL" ? "no end" : "red";
}

/** As this process has it, but for what makes a run a longer one or another one. */
function envOfFastRun(): NodeJS.ProcessEnv {
	const others = ["VITEST", "REYN_DEEP", "REYN_RUNS", "REYN_SEED", "REYN_STATES"];
	return Object.fromEntries(Object.entries(process.env).filter(([name]) => !others.includes(name)));
}
