/** What a stranger gets: cut a release of a copy, pack every package of it, look inside, live with the tarballs under plain npm. */
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { otherNodes } from "../../tools/nodes.ts";
import { objections, waitingChanges } from "../../tools/releasable.ts";
import { entriesOf, findPackages, isPublished, type Manifest, type Package, root, specifier } from "../workspace.ts";
import { complaints } from "./contents.ts";
import { logAlone } from "./log-alone.ts";
import { compile, expectNone, installs, nodeTypes, run, skip, step, tally, writeJson } from "./steps.ts";

interface Tarball extends Package {
	readonly file: string;
}

const temp = mkdtempSync(join(tmpdir(), "reyn-pack-"));
process.on("exit", () => rmSync(temp, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const copy = join(temp, "release");
step("the working tree is copied, with what was built", clone);
step("changeset version moves the family together", version);
step("nothing stands against publishing then", () => expectNone(objections(copy, {})));
step("the lockfile still fits", () => run("pnpm", ["install", "--frozen-lockfile", "--lockfile-only"], copy));
step("pnpm would publish the family, and nothing else", wouldPublish);

const tarballs = findPackages(copy).filter(isPublished).flatMap(pack);
for (const tarball of tarballs) inspect(tarball);
budget(tarballs);
consume(tarballs);
for (const { manifest, file } of tarballs) if (manifest.name === "@reyn/wal") logAlone(file, join(temp, "log-alone"));
for (const tarball of tarballs) if (entriesOf(tarball.manifest).length === 0) live(tarball);
for (const name of readdirSync(join(root, "examples"))) example(name, tarballs);
step("the release after this one moves the family together", version);

console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
process.exitCode = tally.failed === 0 ? 0 : 1;

function pack({ dir, manifest }: Package): Tarball[] {
	const file = join(temp, `${manifest.name.replace("/", "-")}.tgz`);
	const packed = step(`${manifest.name} packs`, () => {
		if (!existsSync(join(dir, "dist"))) throw new Error("dist is missing: run `pnpm build` first");
		run("pnpm", ["pack", "--out", file], dir);
	});
	return packed ? [{ dir, manifest, file }] : [];
}

function inspect({ manifest, file }: Tarball): void {
	const { name, version } = manifest;
	step(`${name} passes publint`, () => run("publint", ["run", "--strict", file], temp));
	// attw reads entries; a package that is only a command has none.
	if (entriesOf(manifest).length > 0) {
		step(`${name} passes attw`, () => run("attw", ["--profile", "esm-only", "--no-color", file], temp));
	}
	step(`${name} holds what it should, and nothing else`, () => {
		const dir = join(temp, "unpacked", name);
		mkdirSync(dir, { recursive: true });
		run("tar", ["-xzf", file, "-C", dir], temp);
		expectNone(complaints(join(dir, "package")));
	});
	step(`${name} carries the version of this release, and asks for it`, () => {
		const packed = packedManifest(name);
		expectNone([...(packed.version === version ? [] : [`it is ${packed.version}`]), ...strayRanges(packed, version)]);
	});
}

/** The log is taken alone, also by who wants little: one dependency, and not much to download or to load. */
function budget(tarballs: readonly Tarball[]): void {
	const log = tarballs.find(({ manifest: { name } }) => name === "@reyn/wal");
	if (!log) {
		skip("@reyn/wal stays light", "it is not packed");
		return;
	}
	step("@reyn/wal stays light", () => {
		const kib = Math.ceil(statSync(log.file).size / 1024);
		const dependencies = Object.keys(log.manifest.dependencies ?? {});
		expectNone([
			...(kib > 150 ? [`the tarball has ${kib} KiB; 150 are allowed`] : []),
			...(dependencies.join() === "fs-native-extensions" ? [] : [`it depends on ${dependencies.join(", ")}`]),
		]);
		const loaded = loadedBy(join(temp, "unpacked/@reyn/wal/package/dist"), "index.js");
		if (loaded > 136 * 1024) throw new Error(`importing it loads ${loaded} bytes of code; ${136 * 1024} are allowed`);
	});
}

function packedManifest(name: string): Manifest {
	return JSON.parse(readFileSync(join(temp, "unpacked", name, "package/package.json"), "utf8"));
}

/** The bytes of a module and of all that it imports beside itself. */
function loadedBy(dist: string, entry: string): number {
	const seen = new Map<string, number>();
	const visit = (file: string): void => {
		if (seen.has(file)) return;
		const code = readFileSync(join(dist, file), "utf8");
		seen.set(file, code.length);
		for (const [, path = ""] of code.matchAll(/from "\.\/([^"]+)"/g)) visit(path);
	};
	visit(entry);
	return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** An empty folder, plain npm, and nothing of this repository in reach but the tarballs. */
function consume(tarballs: readonly Tarball[]): void {
	const home = join(temp, "consumer");
	const files = Object.fromEntries(tarballs.map(({ manifest, file }) => [manifest.name, `file:${file}`]));
	mkdirSync(home);
	// What an entry of its own needs, a stranger installs beside the package.
	const peers = Object.assign(
		{},
		...tarballs.map(({ manifest: { name } }) => packedManifest(name).peerDependencies ?? {}),
	);
	writeJson(join(home, "package.json"), {
		private: true,
		type: "module",
		dependencies: { ...peers, ...files, "@types/node": nodeTypes() },
		// The tarballs ask for each other by version; a version that is not published yet must come from here.
		overrides: files,
	});
	const entries = tarballs.flatMap(({ manifest }) =>
		entriesOf(manifest).map((subpath) => specifier(manifest.name, subpath)),
	);
	const commands = tarballs.flatMap(({ manifest }) => Object.keys(manifest.bin ?? {}));

	if (!step("npm installs the tarballs", () => run("npm", installs, home))) {
		for (const name of [...entries, ...commands, "a TypeScript consumer", "an isolated script"])
			skip(name, "nothing is installed");
		return;
	}

	const lines = entries.flatMap((entry, i) => {
		const name = firstName(entry, home);
		return name ? `import { ${name} as name${i} } from "${entry}";` : [];
	});
	step("a TypeScript consumer compiles, strictly", () => {
		writeFileSync(join(home, "consumer.ts"), lines.join("\n"));
		compile(home, ["consumer.ts"]);
	});

	for (const command of commands) {
		step(`${command} --version answers`, () => {
			const said = run(process.execPath, [join("node_modules/.bin", command), "--version"], home).trim();
			const versions = new Set(tarballs.map(({ manifest }) => manifest.version));
			expectNone([...versions].filter((version) => !said.includes(version)).map((v) => `it says ${said}, not ${v}`));
		});
	}

	const other = otherNodes((version, why) => skip(`Node ${version}`, why));
	for (const { version, path } of other)
		step(`Node ${version} imports each entry, and runs each command`, () => {
			const program = entries.map((entry) => `await import("${entry}");`).join("\n");
			run(path, ["--input-type=module", "-e", program], home);
			for (const command of commands) run(path, [join("node_modules/.bin", command), "--version"], home);
		});

	step("a script runs in a process of its own", () => {
		const program = `import { checkScript, loadScript } from "@reyn/journal/script";
await checkScript(loadScript("export default () => {};", "s.ts"), {}, { isolate: true });`;
		run(process.execPath, ["--input-type=module", "-e", program], home);
	});
}

/** The command line alone, without any other package of ours: it asks, writes, looks, and runs a script in a process of its own. */
function live({ file }: Tarball): void {
	const home = join(temp, "alone");
	mkdirSync(home);
	writeJson(join(home, "package.json"), { private: true, dependencies: { "@reyn/cli": `file:${file}` } });
	if (!step("npm installs the command line, and no other package of ours", () => run("npm", installs, home))) {
		skip("reyn works alone", "it is not installed");
		return;
	}
	step("reyn works alone", () => {
		expectNone(readdirSync(join(home, "node_modules/@reyn")).filter((name) => name !== "cli"));
		const work = join(home, "work");
		mkdirSync(work);
		writeFileSync(join(work, "harbour.md"), "The lighthouse keeper is called Ada Brandt.\n");
		writeFileSync(
			join(work, "ask.ts"),
			'export default (ctx) => ctx.agent("Who is the keeper?", { tools: ["search"] });\n',
		);
		const reyn = (...args: string[]) => run(process.execPath, [join(home, "node_modules/.bin/reyn"), ...args], work);
		const said = [
			reyn("--help"),
			reyn("run", "-p", "Who is the lighthouse keeper?"),
			reyn("script", "run", "ask.ts", "--isolate"),
			reyn("log"),
			reyn("wal", "verify"),
			reyn("doctor"),
		];
		const expected = ["Usage: reyn", "Ada Brandt", "Ada Brandt", "turn Who is", "sound:", "is held to"];
		expectNone(
			expected.flatMap((text, i) => (said[i]?.includes(text) ? [] : [`expected: ${text}\nfound:\n${said[i]}`])),
		);
	});
}

/**
 * An example as whoever copies it has it: a folder of its own, plain npm, and the tarballs in place of the registry's packages.
 * Then what its transcript says is typed, line by line.
 */
function example(name: string, tarballs: readonly Tarball[]): void {
	const home = join(temp, "examples", name);
	const installed = step(`example ${name} installs`, () => {
		copyTracked(join(root, "examples", name), home);
		const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
		const files = Object.fromEntries(tarballs.map(({ manifest: { name }, file }) => [name, `file:${file}`]));
		const { dependencies } = manifest;
		const [named, below] = [true, false].map((isNamed) =>
			Object.fromEntries(Object.entries(files).filter(([name]) => name in dependencies === isNamed)),
		);
		// What it names itself, and what that needs.
		writeJson(join(home, "package.json"), {
			...manifest,
			dependencies: { ...dependencies, ...named },
			overrides: below,
		});
		run("npm", installs, home);
	});
	if (!installed) {
		skip(`example ${name} says what it should`, "it is not installed");
		return;
	}
	step(`example ${name} says what it should`, () => {
		const expected = readFileSync(join(root, "tests/pack/examples", `${name}.txt`), "utf8");
		const commands = [...expected.matchAll(/^\$ (.+)$/gm)].map(([, command = ""]) => command);
		const said = commands.map((command) => `$ ${command}\n${run("sh", ["-c", command], home)}`).join("");
		if (said !== expected) throw new Error(`expected:\n${expected}\nfound:\n${said}`);
		const readme = readFileSync(join(home, "README.md"), "utf8");
		const shown = [...readme.matchAll(/^```console\n(.*?)^```$/gms)].map(([, text = ""]) => text);
		expectNone(shown.filter((text) => !said.includes(text)).map((text) => `the README shows what is not so:\n${text}`));
	});
}

/** Import an entry in a process of its own, and return a name that it exports. */
function firstName(entry: string, home: string): string | undefined {
	let names: string[] = [];
	step(`${entry} imports`, () => {
		const script = `console.log(JSON.stringify(Object.keys(await import("${entry}"))))`;
		names = JSON.parse(run(process.execPath, ["--input-type=module", "-e", script], home));
		if (names.length === 0) throw new Error("it exports nothing");
	});
	return names[0];
}

/** A repository of its own, as a release is cut in one; `dist` is what the build has just left. */
function clone(): void {
	copyTracked(root, copy);
	for (const { dir } of findPackages()) {
		const dist = join(dir, "dist");
		if (existsSync(dist)) cpSync(dist, join(copy, relative(root, dist)), { recursive: true });
	}
	const as = ["-c", "user.name=pack", "-c", "user.email=pack@localhost", "-c", "commit.gpgsign=false"];
	run("git", ["init", "--quiet", "--initial-branch=main"], copy);
	run("git", ["add", "--all"], copy);
	run("git", [...as, "commit", "--quiet", "--no-verify", "--message=copy"], copy);
}

/** `changeset version` in the copy: one new version for the family, a changelog in each package, and ranges that follow. */
function version(): void {
	const [before] = findPackages(copy).filter(isPublished);
	// Right after a release no changeset is waiting; the machinery must still turn.
	if (waitingChanges(copy).length === 0) {
		writeFileSync(join(copy, ".changeset/planted.md"), `---\n"${before?.manifest.name}": minor\n---\n\nPlanted.\n`);
	}
	run("changeset", ["version"], copy);

	const family = findPackages(copy).filter(isPublished);
	const versions = new Set(family.map(({ manifest }) => manifest.version));
	const [version = ""] = versions;
	expectNone([
		...(versions.size === 1 ? [] : [`the family has ${versions.size} versions: ${[...versions].join(", ")}`]),
		...(version === before?.manifest.version ? [`still at ${version}`] : []),
		...family
			.filter(({ dir }) => !changelogOf(dir).includes(`## ${version}`))
			.map(({ manifest: { name } }) => `${name} has no CHANGELOG.md entry for ${version}`),
		...readdirSync(join(copy, "examples")).flatMap((name) =>
			strayRanges(JSON.parse(readFileSync(join(copy, "examples", name, "package.json"), "utf8")), version),
		),
	]);
}

/** Whom of the family a packed manifest, or an example, asks for otherwise than at `version` or compatible with it. */
function strayRanges(
	{ name, dependencies, peerDependencies, optionalDependencies }: Manifest,
	version: string,
): string[] {
	return Object.entries({ ...dependencies, ...peerDependencies, ...optionalDependencies })
		.filter(([other, range]) => other.startsWith("@reyn/") && range !== `^${version}`)
		.map(([other, range]) => `${name} asks for ${other} ${range}, not ^${version}`);
}

function wouldPublish(): void {
	const said = run("pnpm", ["-r", "publish", "--dry-run", "--no-git-checks"], copy);
	const found = [...said.matchAll(/^\S+ (\S+@[\d.]+) → /gmu)].map(([, each]) => each);
	const expected = findPackages(copy)
		.filter(isPublished)
		.map(({ manifest: { name, version } }) => `${name}@${version}`);
	if (found.toSorted().join() !== expected.toSorted().join()) throw new Error(`it would publish:\n${found.join("\n")}`);
}

/** What git has in a folder, or would take: not what a run has left there. */
function copyTracked(from: string, to: string): void {
	for (const file of run("git", ["ls-files", "-coz", "--exclude-standard"], from).split("\0")) {
		if (file && existsSync(join(from, file))) cpSync(join(from, file), join(to, file));
	}
}

function changelogOf(dir: string): string {
	const file = join(dir, "CHANGELOG.md");
	return existsSync(file) ? readFileSync(file, "utf8") : "";
}
