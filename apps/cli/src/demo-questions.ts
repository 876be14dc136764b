import { topicsOf } from "@reyn/tools";

export interface DemoQuestions {
	/** Needs several sources. */
	readonly first: string;
	/** Asked after the rewind. */
	readonly second: string;
}

/** Questions about a directory that nobody has described. `first` replaces the one that needs several sources. */
export async function chooseQuestions(
	cwd: string,
	first: string | undefined,
	reading: Parameters<typeof topicsOf>[1],
): Promise<DemoQuestions> {
	const [one = "the files", two = "the rest", three = one] = await topicsOf(cwd, reading);
	return {
		first: first ?? `How do "${one}" and "${two}" work together, and where is each of them tested or explained?`,
		second: `Where is "${three}" defined?`,
	};
}
