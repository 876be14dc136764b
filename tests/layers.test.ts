/** The diagram in ARCHITECTURE.md, asserted: imports point down, siblings never meet, and nobody reaches past an `index.ts`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join, posix, sep } from "node:path";
import { expect, test } from "vitest";
import { entriesOf, findPackages, isBundled, isPublished, type Package, type Ranges, specifier } from "./workspace.ts";

/** Who may import whom. A new package is a new row. */
const allowed: Readonly<Record<string, readonly string[]>> = {
	wal: [],
	snapshot: ["wal"],
	timetravel: ["snapshot", "wal"],
	journal: ["snapshot", "wal"],
	"rewind-modes": ["timetravel", "snapshot", "wal"],
	plan: ["journal", "snapshot", "wal"],
	"skill-resume": ["journal", "snapshot", "wal"],
	tasks: ["journal", "snapshot", "wal"],
	runtime: ["rewind-modes", "plan", "skill-resume", "tasks", "timetravel", "journal", "snapshot", "wal"],
	operator: ["runtime", "rewind-modes", "plan", "skill-resume", "tasks", "timetravel", "journal", "wal"],
	tools: ["journal", "wal"],
	"offline-model": ["tools", "journal", "wal"],
	"ai-sdk": ["journal", "wal"],
	ui: ["operator", "runtime", "wal"],
	"reyn-site": [],
	cli: [
		"ai-sdk",
		"ui",
		"operator",
		"runtime",
		"tools",
		"offline-model",
		"ai-sdk",
		"rewind-modes",
		"plan",
		"skill-resume",
		"tasks",
		"timetravel",
		"journal",
		"snapshot",
		"wal",
	],
};

/** What tests alone may have besides: a package at the side, which nothing of theirs needs. */
const allowedInTests: Readonly<Record<string, readonly string[]>> = {
	runtime: ["tools", "offline-model", "ai-sdk"],
	operator: ["tools", "offline-model"],
	ui: ["tools", "offline-model"],
};

/** The folders of runtime: which others of it each may import, and which packages of ours. */
const folders: Readonly<Record<string, { readonly folders: readonly string[]; readonly packages: readonly string[] }>> =
	{
		kernel: {
			folders: ["redaction", "stores"],
			packages: ["wal", "snapshot", "timetravel", "journal", "rewind-modes"],
		},
		redaction: { folders: ["kernel"], packages: ["wal", "journal"] },
		"features/conversation": {
			folders: ["kernel", "redaction"],
			packages: ["wal", "snapshot", "journal", "rewind-modes"],
		},
		"features/question": { folders: ["kernel"], packages: ["wal", "snapshot", "journal"] },
		"features/permission": { folders: ["kernel"], packages: ["wal", "snapshot", "journal"] },
		"features/files": { folders: ["kernel"], packages: ["wal", "snapshot", "journal", "timetravel"] },
		"features/config": {
			folders: ["kernel", "redaction"],
			packages: ["wal", "snapshot", "snapshot/files", "timetravel"],
		},
		"features/budget": { folders: ["kernel"], packages: ["wal", "snapshot", "journal"] },
		"features/plan": { folders: ["kernel"], packages: ["wal", "snapshot", "timetravel", "journal", "plan"] },
		"features/skill": { folders: ["kernel"], packages: ["wal", "snapshot", "journal", "skill-resume"] },
		"features/task": { folders: ["kernel"], packages: ["wal", "snapshot", "timetravel", "journal", "tasks"] },
		"features/script": {
			folders: ["kernel", "redaction"],
			packages: ["wal", "snapshot", "timetravel", "journal", "journal/script"],
		},
	};

interface Source {
	/** From the package's folder, with forward slashes: `src/index.ts`. */
	readonly path: string;
	readonly text: string;
}

interface Room extends Package {
	readonly sources: readonly Source[];
}

test("imports point down and siblings never meet", () => {
	expect(violations(readRooms())).toEqual([]);
});

test("an import is seen in each of its forms, and not in a comment", () => {
	const text = `
import "a";
import b, { type B } from "b";
import type {
	C,
} from 'c';
export { d } from "d";
const e = await import("e");
let f: import("f").F;
export const query = from("not");
 * import { g } from "g";
// import "h";
`;
	expect(importsIn(text)).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("a tool is called in one place: there it is permitted, performed and observed", () => {
	expect(readRooms().flatMap(toolCallsIn)).toEqual([]);
});

test("no package knows the command line: what it says names no command of it", () => {
	const packages = readRooms().filter(({ dir }) => basename(join(dir, "..")) === "packages");
	const commands =
		/\breyn (?:chat|run|resume|log|show|diff|rewind|checkout|undo|redo|label|branches|plan|skill|script|gc|wal)\b/g;
	const named = packages.flatMap(({ manifest: { name }, sources }) =>
		sources.flatMap(({ path, text }) =>
			(text.match(commands) ?? []).map((command) => `${name}: ${path} says ${command}`),
		),
	);
	expect(named).toEqual([]);
});

test("every source file begins with what it is for", () => {
	expect(readRooms().flatMap(unlabelledIn)).toEqual([]);
});

test.each(['import { a } from "./a.ts";', "\n/** Too late. */"])(
	"a source file that begins otherwise is reported: %j",
	(text) => {
		const reports = withSource("@reyn/plan", text)(readRooms()).flatMap(unlabelledIn);
		expect(reports).toContain(
			"@reyn/plan: src/planted/index.ts does not begin with a comment that says what it is for",
		);
	},
);

test.each([
	"const text = await tool.call(args, { signal });",
	"const text = await findTool(tools, name).call(args, context);",
	"return tools.find((each) => each.name === name)?.call(args, context);",
	"const { purity, call: run } = findTool(tools, name);",
	"const { call } = tool;",
])("a second caller of a tool is reported: %s", (line) => {
	const reports = withSource("@reyn/plan", line)(readRooms()).flatMap(toolCallsIn);
	expect(reports).toEqual([`@reyn/plan: src/planted/index.ts calls a tool: ${line}`]);
});

// The checker is itself checked: each defect is planted in memory and must be reported by name.
test.each([
	[
		"a dependency across to a sibling",
		withManifest("@reyn/plan", { dependencies: { "@reyn/timetravel": "workspace:^" } }),
		"@reyn/plan depends on @reyn/timetravel",
	],
	[
		"a peer dependency that points up",
		withManifest("@reyn/wal", { peerDependencies: { "@reyn/runtime": "workspace:^" } }),
		"@reyn/wal depends on @reyn/runtime",
	],
	[
		"a dev dependency across to a sibling",
		withManifest("@reyn/journal", { devDependencies: { "@reyn/timetravel": "workspace:^" } }),
		"@reyn/journal depends on @reyn/timetravel",
	],
	[
		"a package at the side that tests alone may have",
		withManifest("@reyn/runtime", { dependencies: { "@reyn/tools": "workspace:^" } }),
		"@reyn/runtime depends on @reyn/tools",
	],
	[
		"an import of a package that tests alone have",
		withSource("@reyn/runtime", 'import { createFileTools } from "@reyn/tools";'),
		"@reyn/runtime: src/planted/index.ts imports @reyn/tools, which its package.json does not declare",
	],
	["a package that has no row", withManifest("@reyn/wal", { name: "@reyn/attic" }), "@reyn/attic has no row"],
	[
		"an import of an undeclared package",
		withSource("@reyn/skill-resume", 'import type { Timeline } from "@reyn/timetravel";'),
		"@reyn/skill-resume: src/planted/index.ts imports @reyn/timetravel, which its package.json does not declare",
	],
	[
		"a published import that only development has",
		withSource("@reyn/wal", 'import fc from "fast-check";'),
		"@reyn/wal: src/planted/index.ts imports fast-check, which its package.json does not declare",
	],
	[
		"an import past the exports",
		withSource("@reyn/snapshot", 'import { decode } from "@reyn/wal/src/codec.ts";'),
		"@reyn/snapshot: src/planted/index.ts imports @reyn/wal/src/codec.ts, which @reyn/wal does not export",
	],
	[
		"a relative import out of the package",
		withSource("@reyn/snapshot", 'import { decode } from "../../../wal/src/codec.ts";'),
		"@reyn/snapshot: src/planted/index.ts imports ../../../wal/src/codec.ts, which is outside its package",
	],
	[
		"a kernel that knows a feature",
		withSource(
			"@reyn/runtime",
			'import { conversation } from "../features/conversation/conversation.ts";',
			"src/kernel/x.ts",
		),
		"src/kernel/x.ts imports ../features/conversation/conversation.ts; kernel may not know features/conversation",
	],
	[
		"a kernel that knows the list of features",
		withSource("@reyn/runtime", 'import { builtIn } from "../features/index.ts";', "src/kernel/x.ts"),
		"src/kernel/x.ts imports ../features/index.ts; kernel may not know features",
	],
	[
		"a kernel that knows a feature's package",
		withSource("@reyn/runtime", 'import { planRuns } from "@reyn/plan";', "src/kernel/x.ts"),
		"src/kernel/x.ts imports @reyn/plan; kernel may not know plan",
	],
	[
		"a kernel that knows what a feature's package has for others of Reyn",
		withSource("@reyn/runtime", 'import { stepOf } from "@reyn/plan/internal";', "src/kernel/x.ts"),
		"src/kernel/x.ts imports @reyn/plan/internal; kernel may not know plan",
	],
	[
		"a feature that knows another",
		withSource("@reyn/runtime", 'import { PLAN } from "../plan/pieces.ts";', "src/features/skill/x.ts"),
		"src/features/skill/x.ts imports ../plan/pieces.ts; features/skill may not know features/plan",
	],
	[
		"a feature that knows what is above it",
		withSource("@reyn/runtime", 'import { Runtime } from "../../runtime.ts";', "src/features/skill/x.ts"),
		"src/features/skill/x.ts imports ../../runtime.ts; features/skill may not know what is above it",
	],
	[
		"a feature that has no row",
		withSource("@reyn/runtime", "", "src/features/attic/index.ts"),
		"@reyn/runtime: src/features/attic/index.ts has no row for features/attic",
	],
	[
		"an index that exports whatever there is",
		withSource("@reyn/journal", 'export * from "./perform.ts";'),
		"@reyn/journal: src/planted/index.ts has `export *`",
	],
	[
		"a file of runtime's outside its stores",
		withSource("@reyn/runtime", 'import { readFile } from "node:fs/promises";'),
		"@reyn/runtime: src/planted/index.ts imports node:fs/promises, which is a matter of its stores",
	],
	[
		"a file engine outside of runtime's stores",
		withSource("@reyn/runtime", 'import {\n\ttype Clock,\n\tfileBlobs,\n} from "@reyn/wal";'),
		"@reyn/runtime: src/planted/index.ts has fileBlobs, which is a matter of its stores",
	],
	[
		"a look at a directory outside of runtime's stores",
		withSource("@reyn/runtime", 'import { assertOwnDirectory as look } from "@reyn/wal/internal";'),
		"@reyn/runtime: src/planted/index.ts has assertOwnDirectory, which is a matter of its stores",
	],
])("%s is reported", (_defect, plant, report) => {
	const rooms = readRooms();
	const before = new Set(violations(rooms));
	const added = violations(plant(rooms)).filter((violation) => !before.has(violation));
	expect(added).toContainEqual(expect.stringContaining(report));
});

function violations(rooms: readonly Room[]): string[] {
	const byName = new Map(rooms.map((room) => [room.manifest.name, room]));
	return rooms.flatMap((room) => [
		...edgeViolations(room),
		...room.sources.flatMap((source) => [
			...importViolations(room, source, byName),
			...indexViolations(room, source),
			...(room.manifest.name === "@reyn/runtime" ? folderViolations(source) : []),
			...storeViolations(room, source),
		]),
	]);
}

function edgeViolations({ manifest }: Room): string[] {
	const row = allowed[manifest.name.replace("@reyn/", "")];
	if (!row) return [`${manifest.name} has no row in tests/layers.test.ts: say what it may import`];
	const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest;
	const inTests = [...row, ...(allowedInTests[manifest.name.replace("@reyn/", "")] ?? [])];
	const beyond = (ranges: Ranges, names: readonly string[]) =>
		Object.keys(ranges)
			.filter((name) => isOurs(name) && !names.includes(name.replace("@reyn/", "")))
			.map(
				(name) => `${manifest.name} depends on ${name}; the diagram allows ${names.join(", ") || "nothing of ours"}`,
			);
	return [
		...beyond({ ...dependencies, ...peerDependencies, ...optionalDependencies }, row),
		...beyond(devDependencies ?? {}, inTests),
	];
}

function importViolations(room: Room, source: Source, byName: ReadonlyMap<string, Room>): string[] {
	const { name, dependencies, peerDependencies, optionalDependencies } = room.manifest;
	const declared = {
		...{ ...dependencies, ...peerDependencies, ...optionalDependencies },
		...(isBundled(room) ? room.manifest.devDependencies : {}),
	};
	return importsIn(source.text).flatMap((target) => {
		const at = `${name}: ${source.path} imports ${target}`;
		if (target.startsWith(".")) {
			const inside = posix.join(posix.dirname(source.path), target);
			return inside.startsWith("../") ? [`${at}, which is outside its package`] : [];
		}
		if (isBuiltin(target)) return [];
		const owner = packageOf(target);
		if (!(owner in declared) && (isOurs(owner) || isPublished(room))) {
			return [`${at}, which its package.json does not declare`];
		}
		const theirs = byName.get(owner)?.manifest;
		const entries = theirs && entriesOf(theirs).map((subpath) => specifier(owner, subpath));
		return entries?.includes(target) === false ? [`${at}, which ${owner} does not export`] : [];
	});
}

/** The kernel knows no feature, and no feature another. */
function folderViolations({ path, text }: Source): string[] {
	const own = folderOf(path);
	const row = own === undefined ? undefined : folders[own];
	if (!row && own?.startsWith("features/")) return [`@reyn/runtime: ${path} has no row for ${own}`];
	if (!row) return [];
	return importsIn(text).flatMap((target) => {
		const isWithin = target.startsWith(".");
		const name = isWithin
			? folderOf(posix.join(posix.dirname(path), target))
			: target.replace(/^@reyn\/|\/internal$/g, "");
		const isAllowed = isWithin
			? name === own || row.folders.includes(name ?? "")
			: !isOurs(target) || row.packages.includes(name ?? "");
		return isAllowed
			? []
			: [`@reyn/runtime: ${path} imports ${target}; ${own} may not know ${name ?? "what is above it"}`];
	});
}

/** `features/plan` of `src/features/plan/index.ts`; nothing of what lies in `src` itself. */
const folderOf = (path: string): string | undefined => /^src\/((?:features\/[^/]+|[^/]+))\/[^/]+$/.exec(path)?.[1];

function indexViolations(room: Room, { path, text }: Source): string[] {
	if (basename(path) !== "index.ts" || !/^\s*export\s+(type\s+)?\*/m.test(text)) return [];
	return [`${room.manifest.name}: ${path} has \`export *\`; list the names one by one`];
}

/** Source files whose first line is no comment. A program may begin with its `#!` line instead. */
function unlabelledIn({ manifest: { name }, sources }: Room): string[] {
	return sources
		.filter(({ text }) => !/^(?:\/\*\*|\/\/|#!)/.test(text))
		.map(({ path }) => `${name}: ${path} does not begin with a comment that says what it is for`);
}

/** The only callers of a tool: the one place, and the suite that tests a tool. */
const callers = ["src/call-tool.ts", "src/testing/tool-suite.ts"];

/** Whose lines call a tool, or take what calls it, as far as names say so. */
function toolCallsIn({ manifest: { name }, sources }: Room): string[] {
	const calls = /\btools?\w*\b.*\.call\(|\w*Tool\w*\b.*\.call\(|\{[^}]*\bcall\b[^}]*\}\s*=\s.*tool/i;
	return sources
		.filter(({ path }) => name !== "@reyn/journal" || !callers.includes(path))
		.flatMap(({ path, text }) =>
			text.split("\n").flatMap((line) => {
				const code = line.trim();
				return calls.test(code) && !/^(\/\/|\/?\*)/.test(code) ? [`${name}: ${path} calls a tool: ${code}`] : [];
			}),
		);
}

/** What knows that a state is files. */
const ofFiles = [
	"assertOwnDirectory",
	"atomicWrite",
	"fileBlobs",
	"fileEngine",
	"fileSnapshots",
	"hashOwnFile",
	"readOwnFile",
	"removeFiles",
];

/** All of runtime but its stores runs over any of them. */
function storeViolations({ manifest }: Room, { path, text }: Source): string[] {
	if (manifest.name !== "@reyn/runtime" || path.startsWith("src/stores/")) return [];
	const found = (what: string): string => `@reyn/runtime: ${path} ${what}, which is a matter of its stores`;
	const code = withoutComments(text);
	return [
		...importsIn(text).flatMap((target) => (/^(node:)?fs(\/|$)/.test(target) ? [found(`imports ${target}`)] : [])),
		...ofFiles.flatMap((name) => (new RegExp(`\\b${name}\\b`).test(code) ? [found(`has ${name}`)] : [])),
	];
}

const withoutComments = (text: string): string => text.replace(/^\s*(\/\/|\/?\*).*$/gm, "");

/** The modules that a file names, in order. Statements start a line (biome sees to it), so no parser is needed. */
function importsIn(text: string): string[] {
	const code = withoutComments(text);
	const statement = /^\s*(?:import|export)\s(?:[^;"'=]*?\sfrom\s*)?["']([^"']+)["']/gm;
	const expression = /\bimport\(\s*["']([^"']+)["']/g;
	return [statement, expression].flatMap((form) => [...code.matchAll(form)].map(([, target = ""]) => target));
}

function packageOf(target: string): string {
	return target
		.split("/")
		.slice(0, target.startsWith("@") ? 2 : 1)
		.join("/");
}

function isOurs(name: string): boolean {
	return name.startsWith("@reyn/");
}

function readRooms(): Room[] {
	return findPackages().map((found) => ({ ...found, sources: readSources(found.dir) }));
}

function readSources(dir: string): Source[] {
	const src = join(dir, "src");
	if (!existsSync(src)) return [];
	return readdirSync(src, { recursive: true, encoding: "utf8" })
		.filter((file) => /\.tsx?$/.test(file))
		.map((file) => ({
			path: `src/${file.replaceAll(sep, "/")}`,
			text: readFileSync(join(src, file), "utf8"),
		}));
}

function withManifest(name: string, change: Partial<Package["manifest"]>): (rooms: readonly Room[]) => Room[] {
	return changing(name, (room) => ({ ...room, manifest: { ...room.manifest, ...change } }));
}

function withSource(name: string, text: string, path = "src/planted/index.ts"): (rooms: readonly Room[]) => Room[] {
	return changing(name, (room) => ({ ...room, sources: [...room.sources, { path, text }] }));
}

function changing(name: string, change: (room: Room) => Room): (rooms: readonly Room[]) => Room[] {
	return (rooms) => rooms.map((room) => (room.manifest.name === name ? change(room) : room));
}
