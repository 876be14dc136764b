/** The log as somebody has it who takes this package alone: its README's example and wrong uses, strictly compiled and run, and bundled by esbuild. */
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, pattern } from "../markdown.ts";
import { compile, expectNone, installs, nodeTypes, run, skip, step, writeJson } from "./steps.ts";

/** @param tarball of `@reyn/wal` @param home a folder that is not there yet */
export function logAlone(tarball: string, home: string): void {
	mkdirSync(home);
	writeJson(join(home, "package.json"), {
		private: true,
		type: "module",
		dependencies: { "@reyn/wal": `file:${tarball}`, zod: "^4.0.0", "@types/node": nodeTypes() },
	});
	if (!step("npm installs the log alone", () => run("npm", installs, home))) {
		skip("the log alone", "it is not installed");
		return;
	}
	const readme = readFileSync(join(home, "node_modules/@reyn/wal/README.md"), "utf8");
	const [code = "", output = ""] = ["ts", "text"].map(
		(language) => blocksOf(readme).find(({ info }) => info === language)?.body,
	);
	writeFileSync(join(home, "readme.ts"), code);
	for (const name of ["wrong-uses.ts", "bundled.ts"]) copyFileSync(join(import.meta.dirname, name), join(home, name));

	step("the log's example and its wrong uses compile strictly, but for what must not", () =>
		compile(home, ["readme.ts", "wrong-uses.ts", "bundled.ts"]),
	);
	step("the log's example prints what its README says", () => {
		const said = run(process.execPath, ["readme.ts"], home);
		if (!pattern(output).test(said)) throw new Error(`expected:\n${output}\nfound:\n${said}`);
	});
	step("each wrong use of the log ends with its code", () => {
		const said = run(process.execPath, ["wrong-uses.ts"], home);
		if (said !== "24 wrong uses, tip 1\n") throw new Error(said);
	});
	for (const bundle of bundles) step(`the log, ${bundle.what}`, () => bundled(bundle, home));
}

interface Bundle {
	readonly what: string;
	readonly format: "esm" | "cjs";
	/** What is bundled beside the program, by name. */
	readonly beside?: Readonly<Record<string, string>>;
	/** Is the log left out, as the README asks? */
	readonly isLeftOut?: boolean;
	/** Are the packages in reach where it runs? */
	readonly isAtHome: boolean;
	/** What becomes of a log in files. */
	readonly files: string;
}

const worker = { worker: "node_modules/@reyn/wal/dist/worker.js" };

const bundles: readonly Bundle[] = [
	{ what: "left out of a bundle, works", format: "esm", isLeftOut: true, isAtHome: true, files: "tip 2" },
	{ what: "left out of a bundle of CommonJS, works", format: "cjs", isLeftOut: true, isAtHome: true, files: "tip 2" },
	{ what: "bundled with its thread beside, works", format: "esm", beside: worker, isAtHome: true, files: "tip 2" },
	{ what: "bundled, says that its thread is not there", format: "esm", isAtHome: false, files: "WAL_IO NO_THREAD" },
	{ what: "bundled as CommonJS, says so too", format: "cjs", isAtHome: false, files: "WAL_IO NO_THREAD" },
	{
		what: "bundled with its thread and without the lock's package, says that",
		...{ format: "esm", beside: worker, isAtHome: false, files: "WAL_IO NO_LOCK" },
	},
];

/** By tsup, which is esbuild. */
function bundled({ what, format, beside = {}, isLeftOut = false, isAtHome, files }: Bundle, home: string): void {
	const name = what.replaceAll(/\W+/g, "-");
	const outDir = join(home, "bundles", name);
	const config = join(home, `${name}.json`);
	const ours = ["@reyn/wal", "fs-native-extensions"];
	writeJson(config, {
		...{ entry: { program: "bundled.ts", ...beside }, format: [format], target: "node22", outDir, silent: true },
		...(isLeftOut ? { external: ours, noExternal: ["zod"] } : { noExternal: ["@reyn/wal", "zod"] }),
	});
	run("tsup", ["--config", config], home);
	const where = isAtHome ? outDir : `${home}-${name}`;
	if (!isAtHome) cpSync(outDir, where, { recursive: true });
	const said = run(process.execPath, [join(where, format === "cjs" ? "program.cjs" : "program.js")], where);
	expectNone(said === `memory: tip 2\nfiles: ${files}\n` ? [] : [`expected files: ${files}`, `found ${said}`]);
}
