/**
 * The program in a few files: to find, read and compile each of many takes Node longer than most commands work. What every command
 * needs is one file, what few need is loaded when they do, and the thread and the process that the program starts are a file each.
 */
import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ChunkingContext, defineConfig, type Plugin, type RolldownOptions } from "rolldown";
import { licences } from "../../rolldown.base.ts";

const dist = join(import.meta.dirname, "dist");
rmSync(dist, { recursive: true, force: true });

/** Each beside the others: that is where its code looks for the thread and the process. */
const programs: Readonly<Record<string, string>> = {
	bin: "src/bin.ts",
	worker: "../../packages/wal/src/file/worker.ts",
	child: "../../packages/journal/src/script/child.ts",
	runner: "../../packages/tools/src/shell/runner.ts",
	// What skills in files import (`src/skills/find.ts`).
	"skill-parts": "src/skills/skill-parts.ts",
	"skill-zod": "src/skills/skill-zod.ts",
};

/** Imported, a module of Node gives all its names, and loads for them what few programs use; asked for like this it does not. */
const builtins: Plugin = {
	name: "builtins",
	resolveId: { filter: { id: /^node:/ }, handler: (id) => ({ id: `\0${id}`, moduleSideEffects: false }) },
	load: {
		filter: { id: /^\0node:/ },
		handler: (id) => `module.exports = process.getBuiltinModule("${id.slice(1)}");`,
	},
};

/** What `reyn --help` says is written down, so that it needs nothing of the program (`src/at-once.ts`). */
const help: Plugin = {
	name: "help",
	writeBundle() {
		const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
		writeFileSync(join(dist, "help.txt"), execFileSync(process.execPath, [join(dist, "bin.js"), "--help"], { env }));
	},
};

/** The page that `reyn ui` serves, as it was built beside its server. */
const page: Plugin = {
	name: "page",
	writeBundle() {
		cpSync(join(import.meta.dirname, "../ui/dist/page"), join(dist, "page"), { recursive: true });
	},
};

/** The modules that are loaded with one of these go into one file; what is in two groups goes into the first. */
const group = (name: string, priority: number, paths: readonly string[]) => ({
	...{ debugName: name, priority },
	name: (id: string, graph: ChunkingContext) =>
		paths.some((path) => importsOf(join(import.meta.dirname, path), graph).has(id)) ? name : null,
});

/** A module, and all that is loaded with it. */
function importsOf(id: string, graph: ChunkingContext, found = new Set<string>()): ReadonlySet<string> {
	if (found.has(id)) return found;
	found.add(id);
	for (const each of graph.getModuleInfo(id)?.importedIds ?? []) importsOf(each, graph, found);
	return found;
}

export default defineConfig(
	Object.entries(programs).map(
		([name, path]): RolldownOptions => ({
			cwd: import.meta.dirname,
			input: { [name]: path },
			platform: "node",
			// What is native lies beside no bundle; skills and what is given to them have one zod.
			external: name === "skill-parts" ? /^zod$/ : /^fs-native-extensions/,
			resolve: {
				conditionNames: ["@reyn/source", "import", "node"],
				// For Node it has modules of the old kind, which ask for more of Node than it needs.
				alias: { yaml: join(import.meta.dirname, "node_modules/yaml/browser/index.js") },
			},
			// Node loads `navigator` when it is asked for, as zod does to know whether it is at Cloudflare.
			transform: { target: "node22", define: { navigator: "undefined" } },
			plugins: name === "bin" ? [builtins, licences, help, page] : [],
			output: {
				dir: dist,
				paths: { zod: "./skill-zod.js" },
				format: "es",
				// All of zod, of which the program itself needs a part.
				minify: name === "skill-zod",
				sourcemap: name !== "skill-zod",
				sourcemapExcludeSources: true,
				comments: { legal: true, annotation: false, jsdoc: false },
				chunkFileNames: "[name]-[hash].js",
				codeSplitting: name === "bin" && {
					groups: [group("first", 2, ["src/at-once.ts", "src/compiled.ts"]), group("main", 1, ["src/main.ts"])],
				},
			},
		}),
	),
);
