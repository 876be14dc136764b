/** The question "[y/N]" that a person is asked before a command changes something. */
import { CliError } from "./exit-code.ts";
import { answerLines, asked } from "./print.ts";

/**
 * Asks a person; just Enter means no. Without a terminal there is nobody to ask, so only `yes` goes on.
 *
 * @throws CliError `CLI_REFUSED`
 */
export async function answered(question: string, yes: boolean): Promise<boolean> {
	if (yes) return true;
	if (!process.stdin.isTTY)
		throw new CliError("CLI_REFUSED", "nothing was changed: this is not a terminal, so say --yes to go ahead");
	const lines = answerLines();
	const answer = await lines.question(asked(`${question} [y/N]`));
	lines.close();
	return /^y(es)?$/i.test(answer.trim());
}

/** The same, where no is the end of it. @throws CliError `CLI_REFUSED` */
export async function confirm(question: string, yes = false): Promise<void> {
	if (!(await answered(question, yes))) throw new CliError("CLI_REFUSED", "nothing was changed");
}
