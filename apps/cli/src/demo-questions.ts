/** The two questions that `reyn demo` asks about a directory it knows nothing about. */
import { topicsOf } from "@reyn/tools";

export interface DemoQuestions {
	/** Needs several files, so the agent makes a plan for it. */
	readonly first: string;
	/** Asked after the rewind. */
	readonly second: string;
}

/** Takes the subjects from the names of the files. `first`, where it is given, replaces the first question. */
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
