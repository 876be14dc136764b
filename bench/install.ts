/** What the command line weighs where it is installed: alone, and beside the package of each provider of models. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "./figures.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

const cli = join(import.meta.dirname, "../apps/cli");
const MIB = 1024 * 1024;

export interface InstallOptions {
	readonly rounds: number;
	readonly json: boolean;
}

interface Row {
	readonly name: string;
	/** Packages in `node_modules`, and their files in MiB. */
	readonly packages: number;
	readonly installedMiB: number;
	/** The median of `reyn --version`. */
	readonly versionMs: number;
}

interface Report {
	readonly bench: "install";
	readonly machine: Machine;
	readonly rounds: number;
	/** What is downloaded of the command line itself. */
	readonly tarballMiB: number;
	readonly rows: readonly Row[];
}

export async function benchInstall({ rounds, json }: InstallOptions): Promise<void> {
	await inScratch(async (directory) => {
		const tarball = join(directory, "cli.tgz");
		run("pnpm", ["pack", "--out", tarball], cli);
		const { peerDependencies } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
		const beside: readonly (readonly [string, string])[] = Object.entries(peerDependencies);
		const rows = [undefined, ...beside].map((provider, at): Row => {
			const home = join(directory, String(at));
			mkdirSync(home);
			const dependencies = { "@reyn/cli": `file:${tarball}`, ...(provider && Object.fromEntries([provider])) };
			writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, dependencies }));
			run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], home);
			const times = Array.from({ length: rounds + 1 }, () => {
				const from = performance.now();
				run(process.execPath, [join(home, "node_modules/@reyn/cli/dist/bin.js"), "--version"], home);
				return performance.now() - from;
			});
			return {
				name: provider ? `with ${provider[0]}` : "alone",
				packages: packagesIn(home),
				installedMiB: bytesOf(join(home, "node_modules")) / MIB,
				// The first is for what Node keeps of what it has compiled.
				versionMs: median(times.slice(1)),
			};
		});
		const of = { machine: machine(), rounds, tarballMiB: statSync(tarball).size / MIB, rows };
		const report: Report = { bench: "install", ...of };
		console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
	});
}

function run(command: string, args: readonly string[], cwd: string): void {
	const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
	if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${error ?? stdout + stderr}`);
}

/** As npm notes them in its own lockfile: the first entry is the directory itself. */
function packagesIn(home: string): number {
	const { packages } = JSON.parse(readFileSync(join(home, "package-lock.json"), "utf8"));
	return Object.keys(packages).length - 1;
}

const bytesOf = (directory: string): number =>
	readdirSync(directory, { recursive: true, withFileTypes: true })
		.filter((each) => each.isFile())
		.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

function textOf({ machine: on, rounds, tarballMiB, rows }: Report): string {
	return [
		`installing the command line, a tarball of ${short(tarballMiB)} MiB; medians of ${rounds} rounds`,
		machineLine(on),
		"",
		table(
			["@reyn/cli", "packages", "MiB", "`--version`, ms"],
			rows.map(({ name, packages, installedMiB, versionMs }) => [
				name,
				String(packages),
				short(installedMiB),
				short(versionMs),
			]),
		),
	].join("\n");
}
