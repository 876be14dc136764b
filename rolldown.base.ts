/** What each program that is made into files of its own has. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "rolldown";

/** The licences of what is in the files ask to be given along. */
export const licences: Plugin = {
	name: "licences",
	generateBundle(_, bundle) {
		const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
		const packages = new Set(
			modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll("\\", "/"))?.[0] ?? []),
		);
		this.emitFile({ type: "asset", fileName: "licences.txt", source: [...packages].sort().map(licenceOf).join("\n") });
	},
};

function licenceOf(directory: string): string {
	const { name, version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
	const file = readdirSync(directory).find((file) => /^licen[cs]e/i.test(file));
	if (!file) throw new Error(`${name} has no file with its licence`);
	return `${name} ${version} (${license})\n\n${readFileSync(join(directory, file), "utf8").trim()}\n`;
}
