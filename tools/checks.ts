/** Builds all packages, and checks types and style meanwhile. What each of them says is printed when it is over. */
import { spawn } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const modules = join(root, "node_modules");

const checks: Readonly<Record<string, readonly string[]>> = {
	build: [join(import.meta.dirname, "turbo.ts"), "run", "build", "--output-logs=errors-only"],
	types: [join(modules, "typescript/bin/tsc")],
	style: [join(modules, "@biomejs/biome/bin/biome"), "check", "."],
	"unused code": [join(modules, "knip/bin/knip.js")],
};

/** @returns did it go well? */
function run(name: string, command: readonly string[]): Promise<boolean> {
	const { promise, resolve, reject } = Promise.withResolvers<boolean>();
	const child = spawn(process.execPath, command, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
	const said: Buffer[] = [];
	for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => said.push(piece));
	child.on("error", reject);
	child.on("close", (code, signal) => {
		if (code !== 0) process.stderr.write(Buffer.concat(said));
		console.log(code === 0 ? `${name}: ok` : `${name}: failed (${signal ?? code})`);
		resolve(code === 0);
	});
	return promise;
}

const all = await Promise.all(Object.entries(checks).map(([name, command]) => run(name, command)));
process.exitCode = all.every((isWell) => isWell) ? 0 : 1;
