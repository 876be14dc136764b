/** The page: one script, one style sheet and the shell that names them, with nothing from anywhere else. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "rolldown";
import { licences } from "../../rolldown.base.ts";

const page = join(import.meta.dirname, "src/page");

/** In their order: a later one may change what an earlier one says. */
const styles = ["page", "shell", "timeline", "moment", "now", "dialog", "narrow"];

const files: Plugin = {
	name: "files",
	generateBundle() {
		const read = (name: string): string => readFileSync(join(page, name), "utf8");
		const style = styles.map((name) => read(`style/${name}.css`)).join("\n");
		this.emitFile({ type: "asset", fileName: "page.css", source: style });
		this.emitFile({ type: "asset", fileName: "index.html", source: read("index.html") });
	},
};

export default defineConfig({
	cwd: import.meta.dirname,
	input: { page: "src/page/main.tsx" },
	platform: "browser",
	resolve: { conditionNames: ["import", "browser", "module"] },
	transform: { target: "es2023", jsx: { runtime: "automatic", importSource: "preact" } },
	plugins: [files, licences],
	output: { dir: "dist/page", format: "es", entryFileNames: "[name].js", minify: true, comments: { legal: true } },
});
