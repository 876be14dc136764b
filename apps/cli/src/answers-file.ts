/** The file of `--answers`: what is answered to questions where nobody is asked. The first entry that fits a question answers it. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { readYaml } from "./config/files.ts";
import { CliError } from "./exit-code.ts";

const entry = z.strictObject({
	to: z.string().min(1).describe("a question, without its question mark; `*` stands for any text"),
	answer: z.string().min(1),
});
const answersSchema = z.array(entry).min(1);

export interface GivenAnswer extends z.infer<typeof entry> {
	/** Where it stands: `answers.yaml:2`. */
	readonly place: string;
}

/** @throws CliError `CLI_CONFIG` */
export async function readAnswers(path: string): Promise<readonly GivenAnswer[]> {
	const text = await readFile(path, "utf8").catch((error: Error) => {
		throw new CliError("CLI_CONFIG", `--answers ${path} cannot be read: ${error.message}`);
	});
	const { value, placeOf } = await readYaml(path, text, answersSchema);
	return value.map((each, at) => ({ ...each, place: placeOf([at]) }));
}

export const answerIn = (given: readonly GivenAnswer[], question: string): GivenAnswer | undefined =>
	given.find(({ to }) => fits(bare(to), bare(question)));

const bare = (text: string): string => text.trim().replace(/\?$/, "");

/** Does `*` for any text make the pattern the whole of it? Each part is looked for behind the one before: no pattern takes long. */
function fits(pattern: string, text: string): boolean {
	const [first = "", ...rest] = pattern.split("*");
	const last = rest.pop();
	if (last === undefined) return text === pattern;
	if (!text.startsWith(first) || !text.endsWith(last)) return false;
	let at = first.length;
	for (const part of rest) {
		at = text.indexOf(part, at);
		if (at < 0) return false;
		at += part.length;
	}
	return at <= text.length - last.length;
}
