/** What a command loads before it works: counted, since a time says nothing on a busy machine. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, relative, sep } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { thirdParties } from "../tools/third-party.ts";
import { type Place, run } from "./cli.ts";
import { startProcess } from "./kit/killable.ts";
import { root } from "./workspace.ts";

const app = join(root, "apps/cli");
const dist = join(app, "dist");

/** Says at the end which files Node was asked for. */
const COUNTING = `import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ load: (url, context, next) => (url.startsWith("file:") && loaded.push(url), next(url, context)) });
process.on("exit", () => process.stderr.write("\\n" + JSON.stringify(loaded)));`;

const at = mkdtempSync(join(tmpdir(), "reyn-start-up-"));
const place: Place = { cwd: at, state: join(at, ".reyn"), trace: join(at, "calls.jsonl") };

async function filesLoadedBy(...args: readonly string[]): Promise<readonly string[]> {
	const counting = `--import=data:text/javascript,${encodeURIComponent(COUNTING)}`;
	// What starts with REYN_ may be a setting, and is looked at: the variables of these tests are not the program's.
	const counted = [
		"-u",
		"REYN_BUILT",
		"-u",
		"REYN_DEEP",
		"-u",
		"REYN_RUNS",
		"-u",
		"REYN_SEED",
		process.execPath,
		counting,
	];
	const { code, stderr } = await startProcess(["env", ...counted, join(dist, "bin.js"), ...args]).ended;
	expect(code, stderr).toBe(0);
	const urls: readonly string[] = JSON.parse(stderr.slice(stderr.lastIndexOf("\n") + 1));
	return urls.map((url) => basename(url));
}

/** What few commands need. */
const late = [
	...[
		"apps/cli/src/chat/session",
		"apps/cli/src/chat/live",
		"apps/cli/src/chat/highlight",
		"apps/cli/src/completion",
		"apps/cli/src/demo.",
		"apps/cli/src/doctor",
		"apps/cli/src/ui.",
		"apps/ui/src/server",
	],
	...[
		"packages/offline-model/src/reply",
		"packages/wal/src/log-writer",
		"packages/wal/src/file/worker",
		"packages/journal/src/script/child",
	],
];

/** What a file was made of; one that only leads to others has no map. */
function sourcesOf(name: string): readonly string[] {
	const path = join(dist, `${name}.map`);
	const sources: readonly string[] = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).sources : [];
	return sources.map((source) => relative(root, join(dist, source)).replaceAll(sep, "/"));
}

/** The texts of all files that end so. */
const texts = (end: string) =>
	readdirSync(dist)
		.filter((name) => name.endsWith(end))
		.map((name) => readFileSync(join(dist, name), "utf8"));

// Without a build before, what lies there may be of another day.
describe.runIf(process.env.REYN_BUILT === "1")("the command line as it is built", () => {
	beforeAll(async () => {
		writeFileSync(join(at, "harbour.md"), "The lighthouse keeper is called Ada Brandt.\n");
		expect(await run(place, ["run", "-p", "Who is the lighthouse keeper?"])).toMatchObject({ code: 0 });
	});
	afterAll(() => rmSync(at, { recursive: true, force: true }));

	test.each(["--version", "--help"])("%s needs four small files", async (flag) => {
		const loaded = await filesLoadedBy(flag);
		expect(loaded.length, loaded.join(" ")).toBeLessThanOrEqual(4);
		expect(loaded.filter((name) => readFileSync(join(dist, name)).length > 20_000)).toEqual([]);
	});

	test.each(["log", "branches", "sessions"])("%s needs six, and none of what few commands need", async (verb) => {
		const loaded = await filesLoadedBy("--cwd", place.cwd, verb);
		expect(loaded.length, loaded.join(" ")).toBeLessThanOrEqual(6);
		const sources = loaded.flatMap((name) => sourcesOf(name));
		expect(sources).toContain("apps/cli/src/main.ts");
		expect(sources.filter((source) => late.some((each) => source.startsWith(each)))).toEqual([]);
	});

	test("its first file imports none, so that an old Node is told what it is", () => {
		expect(readFileSync(join(dist, "bin.js"), "utf8")).not.toMatch(/^import\b/m);
	});

	test("the help that was written down is what the program says", async () => {
		const { stdout } = await startProcess([
			...[process.execPath, "--conditions=@reyn/source", join(app, "src/bin.ts"), "--help"],
		]).ended;
		expect(readFileSync(join(dist, "help.txt"), "utf8")).toBe(stdout);
	});

	test("imports of others nothing but what its package asks for", () => {
		const { dependencies } = JSON.parse(readFileSync(join(app, "package.json"), "utf8"));
		const imported = texts(".js").flatMap((text) =>
			[...text.matchAll(/^(?:import|export) .*?from "([^".][^"]*)";$/gm)].map(([, target = ""]) => target),
		);
		expect(imported.filter((target) => !isBuiltin(target) && !(target in dependencies))).toEqual([]);
		expect(Object.keys(dependencies)).toEqual(["fs-native-extensions"]);
	});

	test("names the licence of each package that is in it, and has one language of zod", () => {
		const sources: readonly string[] = texts(".map").flatMap((text) => JSON.parse(text).sources);
		const carried = thirdParties().filter(({ name }) =>
			sources.some((source) => source.includes(`/node_modules/${name}/`)),
		);
		expect(carried.map(({ name }) => name)).toContain("zod");
		const text = readFileSync(join(dist, "licences.txt"), "utf8");
		for (const { name, version, license } of carried) expect(text).toContain(`${name} ${version} (${license})\n`);
		const others = new Set(
			sources.flatMap((source) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []),
		);
		expect([...others].sort()).toEqual(carried.map(({ name }) => name));
		expect(sources.filter((source) => source.includes("/zod/v4/locales/")).map((source) => basename(source))).toEqual([
			"en.js",
		]);
	});
});
