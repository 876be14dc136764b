/** The rooms of this folder keep apart: a fault knows its own and the lab, the lab knows none, and each fault is on the list. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { expect, test } from "vitest";
import { faults } from "./index.ts";

const rooms = ["log", "snapshots", "steps", "process", "disk"];

interface Source {
	/** From this folder, with forward slashes. */
	readonly path: string;
	readonly text: string;
}

const sources: readonly Source[] = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
	.filter((path) => path.endsWith(".ts"))
	.map((path) => ({
		path: path.replaceAll(sep, "/"),
		text: readFileSync(join(import.meta.dirname, path), "utf8"),
	}));

test("a fault knows its own room and the lab, and the lab none", () => {
	expect(sources.flatMap(strayImportsIn)).toEqual([]);
});

test("an import of another room is reported", () => {
	const planted = (path: string, target: string): string[] =>
		strayImportsIn({ path, text: `import { x } from "${target}";` });
	expect(planted("snapshots/x.ts", "../log/hostile.ts")).toEqual(["snapshots/x.ts imports ../log/hostile.ts"]);
	expect(planted("lab/x.ts", "../disk/slow.ts")).toEqual(["lab/x.ts imports ../disk/slow.ts"]);
	expect(planted("disk/x.ts", "../lab/start.ts")).toEqual([]);
	expect(planted("disk/x.ts", "./full.ts")).toEqual([]);
});

test("each fault is on the list, in a file of its name", () => {
	const found = sources
		.filter(({ path, text }) => rooms.includes(roomOf(path)) && text.includes("export const fault: Fault"))
		.map(({ path }) => basename(path, ".ts"));
	const listed = faults.map(({ name }) => name).filter((name) => name !== "defects");
	expect(found.sort()).toEqual(listed.sort());
});

function strayImportsIn({ path, text }: Source): string[] {
	const own = roomOf(path);
	if (own === "") return [];
	const targets = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map(([, target = ""]) => target);
	return targets.flatMap((target) => {
		const at = relative(import.meta.dirname, join(import.meta.dirname, path, "..", target)).replaceAll(sep, "/");
		const room = at.startsWith("..") ? "" : roomOf(at);
		return room === "" || room === own || room === "lab" ? [] : [`${path} imports ${target}`];
	});
}

/** Empty for what lies in this folder itself. */
const roomOf = (path: string): string => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "");
