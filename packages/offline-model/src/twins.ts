/** Tells what was built of what: of `src/pour.ts`, `lib/pour.js` and `lib/pour.d.ts` only the first was written by somebody. */

const folders =
	/(?:^|\/)(?:src|source|lib|dist|build|out|output|bundles?|esm?|cjs|umd|commonjs|module|browser|types|typings)(?=\/)/gi;
const endings = /(?:\.(?:min|d|prod|development|bundle))*\.(?:tsx?|[mc]ts|jsx?|[mc]js|coffee|flow|d\.[mc]?ts)$/i;

/** The same for all that were built of one file. */
const keyOf = (path: string): string | undefined =>
	endings.test(path) ? `/${path.replace(endings, "")}`.replace(folders, "").toLowerCase() : undefined;

/** The more, the nearer to what was written. */
function written(path: string): number {
	const folder = /(?:^|\/)(?:src|source)\//i.test(path)
		? 8
		: /(?:^|\/)(?:dist|build|out|output|bundles?|esm?|cjs|umd|commonjs|module)\//i.test(path)
			? -4
			: 0;
	const ending = /\.d\.[mc]?ts$|\.min\./i.test(path)
		? -2
		: /\.(?:tsx?|[mc]ts|coffee)$/i.test(path)
			? 2
			: /\.jsx?$/i.test(path)
				? 1
				: 0;
	return folder + ending;
}

/** Those of some paths that were built of another one of them. */
export function builtOf(paths: readonly string[]): ReadonlySet<string> {
	const groups = Map.groupBy(new Set(paths), keyOf);
	return new Set(
		[...groups].flatMap(([key, twins]) => {
			if (key === undefined || twins.length < 2) return [];
			const most = Math.max(...twins.map(written));
			return twins.filter((path) => written(path) < most);
		}),
	);
}
