/** The record of a changed file, with its whole content, and the projection of all files. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { defineProjection } from "../projection.ts";

/** The existing files: content by path. */
export type Files = Readonly<Record<string, string>>;

const path = z.string().refine(isInside, "expected a path inside the directory, such as agents/main.yaml");
/** Text that survives UTF-8 unchanged. */
const content = z.string().refine((text) => text.isWellFormed(), "expected text without lone surrogates");

/** A file was created or edited, with its whole content; or removed: null. */
export const fileChanged = defineRecord("file_changed", z.object({ path, content: content.nullable() }));

/** The files of a scope. The newest content on a path through the history is what the fold of that path has. */
export const files = defineProjection<Files>({
	name: "files",
	version: 1,
	schema: z.record(path, content),
	init: () => ({}),
	handle: (on) => [
		on(fileChanged, (state, { path, content }) => {
			if (content === null) return without(state, (each) => each === path);
			// A path cannot be a file and a folder: removes what is in the way, so that every state can exist on a disk.
			const others = without(state, (each) => each.startsWith(`${path}/`) || path.startsWith(`${each}/`));
			return { ...others, [path]: content };
		}),
	],
});

/**
 * Is it a path inside a directory on every system: relative, with `/` between its parts, none of them `..`? It must also be safe as a
 * key, and have no U+FFFD, which stands for bytes of a file name that are no UTF-8.
 */
export function isInside(path: string): boolean {
	const parts = path.split("/");
	return (
		path.isWellFormed() &&
		path !== "__proto__" &&
		!/[\\:\0\uFFFD]/.test(path) &&
		parts.every((part) => part !== "" && part !== "." && part !== "..")
	);
}

function without(state: Files, isGone: (path: string) => boolean): Files {
	return Object.fromEntries(Object.entries(state).filter(([path]) => !isGone(path)));
}
