/**
 * Runs the tests of the packages, and what the READMEs show, on the other Nodes that are promised: `pnpm test:nodes`, and what follows goes
 * to vitest. npm has the binary of each Node as a package.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPackages, isPublished, root } from "../tests/workspace.ts";

export interface OtherNode {
	readonly version: string;
	/** The binary. */
	readonly path: string;
}

/** The floor that `engines` names, and the newest: the pinned one is what everything else runs on. */
const versions = ["22.18.0", "26.10.0"];

/** Those that npm has for this machine; it downloads each once. `skip` is told why another is not there. */
export function otherNodes(skip: (version: string, why: string) => void): readonly OtherNode[] {
	return versions.flatMap((version) => {
		const name = `node-${process.platform}-${process.arch}@${version}`;
		try {
			const asked = ["--yes", "--package", name, "--", "node", "-p", "process.execPath"];
			const path = execFileSync("npx", asked, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
			return [{ version, path }];
		} catch (error) {
			skip(version, `npm has no ${name} (${(error as Error).message.split("\n").at(-1)})`);
			return [];
		}
	});
}

/** How many passed, failed and were skipped, as the last line of a run says it. */
const closing = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m;

/** @returns its closing counts */
function test({ version, path }: OtherNode, given: readonly string[]): readonly number[] {
	const vitest = join(dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))), "vitest.mjs");
	const packages = findPackages().filter((each) => isPublished(each) && /^packages/.test(each.dir.slice(root.length)));
	const projects = packages
		// What it adds is made of the others, and takes as long as all of them.
		.filter(({ manifest }) => manifest.name !== "@reyn/runtime")
		.flatMap(({ manifest }) => ["--project", manifest.name]);
	const counts = [projects, ["--project", "reyn-tests", "readme.test"]].map((chosen) => {
		const args = [vitest, "run", "--reporter=dot", "--reporter=./tools/closing-line.ts", ...chosen, ...given];
		const env = {
			...process.env,
			PATH: `${dirname(path)}${delimiter}${process.env.PATH}`,
			REYN_BUILT: "1",
		};
		const { stdout, status } = spawnSync(path, args, {
			cwd: root,
			env,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "inherit"],
			maxBuffer: 256 * 1024 * 1024,
		});
		const [, ...numbers] = closing.exec(stdout) ?? [undefined, 0, 1, 0];
		if (status !== 0) console.log(stdout);
		return numbers.map(Number);
	});
	const sum = counts.reduce((all, each) => all.map((n, i) => n + (each[i] ?? 0)));
	console.log(`Node ${version}: ${said(sum)}`);
	return sum;
}

const said = ([passed = 0, failed = 0, skipped = 0]: readonly number[]): string =>
	`${passed} passed, ${failed} failed, ${skipped} skipped`;

if (process.argv[1] === import.meta.filename) {
	const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	if (!versions[0]?.startsWith(engines.node.replace(">=", ""))) throw new Error(`the floor is ${engines.node}`);
	let missing = 0;
	const nodes = otherNodes((version, why) => {
		missing++;
		console.log(`skipped: Node ${version}: ${why}`);
	});
	const counts = nodes.map((node) => test(node, process.argv.slice(2)));
	const [passed = 0, failed = 0, skipped = 0] = counts.reduce((a, b) => a.map((n, i) => n + (b[i] ?? 0)), [0, 0, 0]);
	console.log(said([passed, failed, skipped + missing]));
	process.exitCode = failed === 0 ? 0 : 1;
}
