/** Files as a fold: a change of a file is a record with its whole content. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";
import { defineProjection } from "../projection.ts";

/** The files that there are: content by path. */
export type Files = Readonly<Record<string, string>>;

const path = z.string().refine(isInside, "expected a path inside the directory, such as agents/main.yaml");
/** What comes back from UTF-8 as it was. */
const content = z.string().refine((text) => text.isWellFormed(), "expected text without lone surrogates");

/** A file was created or edited: all of it. Or it was removed: null. */
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
			// Where a file is no folder can be, and the other way round: every state can be on a disk.
			const others = without(state, (each) => each.startsWith(`${path}/`) || path.startsWith(`${each}/`));
			return { ...others, [path]: content };
		}),
	],
});

/**
 * Is it a path inside a directory on every system: relative, its parts divided by `/`, none of them `..`? It is also safe as a
 * key, and a name that was read as it is: bytes that are not UTF-8 come as U+FFFD.
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
