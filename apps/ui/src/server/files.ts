/** The files of the page, by the names under which they are asked for: nothing else in any directory has one. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { UiError } from "./errors.ts";

export interface PageFile {
	readonly type: string;
	readonly text: Buffer;
}

const names: Readonly<Record<string, readonly [file: string, type: string]>> = {
	"/": ["index.html", "text/html; charset=utf-8"],
	"/page.js": ["page.js", "text/javascript; charset=utf-8"],
	"/page.css": ["page.css", "text/css; charset=utf-8"],
};

/** Beside what was built, and where the sources are built to. */
const places = ["./page/", "../../dist/page/"].map((path) => new URL(path, import.meta.url));

/** @throws UiError `UI_NO_PAGE` when it was not built */
export async function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
	const place = places.find((each) => existsSync(new URL("page.js", each)));
	if (!place) throw new UiError("UI_NO_PAGE", "the page is not built: run `pnpm build`");
	return new Map(
		await Promise.all(
			Object.entries(names).map(
				async ([name, [file, type]]) => [name, { type, text: await readFile(new URL(file, place)) }] as const,
			),
		),
	);
}
