import { CliError } from "./exit-code.ts";
import { answerLines, asked } from "./print.ts";

/**
 * Asks a person; the answer that comes of itself is no. Off a terminal nobody is asked.
 *
 * @throws CliError `CLI_REFUSED`
 */
export async function confirm(question: string, yes = false): Promise<void> {
	if (yes) return;
	if (!process.stdin.isTTY)
		throw new CliError("CLI_REFUSED", "nothing was changed: this is not a terminal, so say --yes to go ahead");
	const lines = answerLines();
	const answer = await lines.question(asked(`${question} [y/N]`));
	lines.close();
	if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("CLI_REFUSED", "nothing was changed");
}
