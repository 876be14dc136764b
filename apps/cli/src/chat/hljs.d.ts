/** What is used of highlight.js. */
export const hljs: {
	highlight(
		text: string,
		options: { readonly language: string; readonly ignoreIllegals: boolean },
	): {
		/** As HTML, of which there are spans alone. */
		readonly value: string;
		/** What it was in at the end: what has begun has a parent. */
		readonly _top?: { readonly parent?: unknown };
	};
	listLanguages(): readonly string[];
};
