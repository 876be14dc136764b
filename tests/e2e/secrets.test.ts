/** The command line with a secret in its environment and a key in its prompt, where new files would be for all: what it leaves, and whom it calls. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Place, run } from "../cli.ts";
import { some } from "../sample.ts";
import { root } from "../workspace.ts";

const VALUE = "Canary-7f3a9Zq";
const KEY = `ghp_${"cAnary9".repeat(6)}`;
const hasStrace = spawnSync("strace", ["-qq", "-e", "trace=socket", "true"]).status === 0;
if (!hasStrace) console.log("skipped: calls to the network are looked for with strace, which does not run here");

let home: string;
let here: Place;
beforeAll(async () => {
	home = await mkdtemp(join(tmpdir(), "reyn-secrets-"));
	here = { cwd: join(home, "project"), state: join(home, "project/.reyn"), trace: join(home, "calls.jsonl") };
	await mkdir(here.cwd);
	await writeFile(join(here.cwd, "foxes.md"), `# Foxes\n\nThe fox token is ${VALUE}, and its key is ${KEY}.\n`);
	await writeFile(join(home, "ask.ts"), 'export default async (ctx) => ctx.tool("search", { query: "fox" });\n');
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Runs a command so that a file may be for everybody, and gives what it asked of the network. */
async function openly(...args: readonly string[]): Promise<readonly string[]> {
	const log = join(home, "strace.log");
	const traced = hasStrace ? ["strace", "-f", "-qq", "-e", "trace=socket,connect,sendto", "-o", log] : [];
	const via = ["sh", "-c", 'umask 000; exec "$@"', "sh", "env", `DEPLOY_TOKEN=${VALUE}`, ...traced];
	const ended = await run(here, args, undefined, via);
	expect([ended.code, ended.stderr]).toEqual([0, expect.anything()]);
	return hasStrace ? networkCalls(log) : [];
}

async function networkCalls(log: string): Promise<readonly string[]> {
	return (await readFile(log, "utf8")).split("\n").filter((line) => /AF_INET|AF_PACKET|sin_port/.test(line));
}

describe.skipIf(process.platform === "win32")("the command line", () => {
	test.each(
		some(
			[
				["run", ["run", "-p", `what is the fox token? mine is ${KEY} and ${VALUE}`]],
				[
					"a plan",
					["run", `--prompt=How do foxes and tokens and keys fit together? Compare foxes with ${VALUE}, and sum up.`],
				],
				["script run", ["script", "run", "../ask.ts"]],
				["skill run", ["skill", "run", "digest", "--input", JSON.stringify({ topic: `fox ${KEY}` })]],
			],
			2,
		),
	)("%s calls nobody, and keeps no secret", async (_, args) => {
		const given = args.map((arg) => (arg === "../ask.ts" ? join(home, "ask.ts") : arg));
		expect(await openly(...given)).toEqual([]);
		const bytes = await Promise.all((await filesIn(here.state)).map((path) => readFile(path, "latin1")));
		expect(bytes.join("\n")).toContain("[redacted ");
		for (const secret of [VALUE, KEY]) expect(bytes.filter((each) => each.includes(secret))).toEqual([]);
	});

	test("leaves files of one's own alone, whatever the umask", async () => {
		const modes = new Map<string, string>();
		for (const path of await filesIn(here.state)) modes.set(path, await modeOf(path));
		expect([...modes.keys()]).toContain(join(here.state, ".gitignore"));
		expect([...modes].filter(([, mode]) => mode !== "600")).toEqual([]);
		const directories = await Promise.all(
			(await directoriesIn(here.state)).map(async (path) => [path, await modeOf(path)]),
		);
		expect(directories.filter(([, mode]) => mode !== "700")).toEqual([]);
	});
});

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

async function filesIn(directory: string): Promise<readonly string[]> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true });
	return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

async function directoriesIn(directory: string): Promise<readonly string[]> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true });
	const below = entries.filter((entry) => entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
	return [directory, ...below];
}

describe("the scripts of the repository", () => {
	test("run turbo only where it tells nobody", async () => {
		const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
			scripts: Record<string, string>;
		};
		const bare = Object.entries(scripts).filter(([, text]) => /(?<!tools\/)\bturbo\b(?!\.ts)/.test(text));
		expect(bare).toEqual([]);
		expect(scripts.demo).toContain("node tools/turbo.ts run build");
	});

	test.runIf(hasStrace)("build without a word to the network, also in a home where nobody has said no", async () => {
		const log = join(home, "turbo.log");
		const build = ["tools/turbo.ts", "run", "build", "--dry=json", "--filter=@reyn/wal"];
		const { status } = spawnSync(
			"strace",
			["-f", "-qq", "-e", "trace=socket,connect,sendto", "-o", log, process.execPath, ...build],
			{
				cwd: root,
				env: { PATH: process.env.PATH, HOME: home },
			},
		);
		expect(status).toBe(0);
		expect(await networkCalls(log)).toEqual([]);
	});
});
