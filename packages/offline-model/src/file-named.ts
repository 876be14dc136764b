/** Reads a file that a question names, wherever below the directory it lies. */
import type { Passed } from "./errand.ts";
import { countOf, isError, parseSearch } from "./evidence.ts";
import type { Draft } from "./reply.ts";
import type { Turn } from "./situation.ts";
import { isOutside } from "./terms.ts";

/** The first answer of `read` for the file. */
export interface Named {
	readonly path: string;
	readonly result: string;
	/** Lines of the whole file, as far as the answer says. */
	readonly total: number;
}

/** The file, once it was read or could not be; before that, what to look up; or that there is none. */
export function finding(
	path: string,
	turn: Turn,
	tools: ReadonlySet<string>,
	read: (path: string) => Draft,
): Named | Draft | Passed {
	if (!tools.has("read")) return { passed: 0 };
	const reads = turn.lookups.filter(({ call }) => call.name === "read");
	const done = reads.findLast(({ result }) => result !== undefined && !isMissing(result));
	if (done?.result !== undefined) {
		const total = countOf(/\(lines [\d,]+-[\d,]+ of ([\d,]+)\)/.exec(done.result)?.[1]);
		return { path: pathOf(done.call.args) ?? path, result: done.result, total };
	}
	if (reads.length === 0) return read(path);
	const [search] = turn.lookups.filter(({ call }) => call.name === "search");
	if (isOutside(path) || reads.length > 1 || !tools.has("search")) return { text: `There is no ${path} here.` };
	if (search === undefined) return { calls: [{ name: "search", args: { query: path, maxResults: 1 } }] };
	const result = search.result ?? "ERROR";
	const { paths, whole } = isError(result) ? { paths: [], whole: false } : parseSearch(result);
	const ending = `/${path.toLowerCase()}`;
	const fits = paths.filter((each) => `/${each.toLowerCase()}`.endsWith(ending));
	const nearest = fits.toSorted((a, b) => a.split("/").length - b.split("/").length)[0];
	if (nearest !== undefined) return read(nearest);
	return { text: whole ? `There is no ${path} here.` : `I found no ${path} in the part that I searched.` };
}

const isMissing = (result: string): boolean => isError(result) && /no such file|is a file/i.test(result);

const pathOf = (args: unknown): string | undefined =>
	typeof args === "object" && args !== null && "path" in args && typeof args.path === "string" ? args.path : undefined;
