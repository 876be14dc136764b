/** The question "[y/N]" that a person is asked before a command changes something. */
import { CliError } from "./exit-code.ts";
import { answerLines, asked } from "./print.ts";

/**
 * Asks a person; just Enter means no. Without a terminal there is nobody to ask, so only `yes` goes on.
 *
 * @throws CliError `CLI_REFUSED`; `CLI_INTERRUPTED` by Ctrl-C
 */
export async function answered(question: string, yes: boolean): Promise<boolean> {
	if (yes) return true;
	if (!process.stdin.isTTY)
		throw new CliError("CLI_REFUSED", "nothing was changed: this is not a terminal, so say --yes to go ahead");
	const lines = answerLines();
	// Ctrl-D is a no. Ctrl-C is a key here, and no signal.
	const left = new Promise<string>((resolve, reject) => {
		lines.once("close", () => resolve(""));
		lines.once("SIGINT", () => reject(new CliError("CLI_INTERRUPTED", "nothing was changed")));
	});
	try {
		return /^y(es)?$/i.test((await Promise.race([lines.question(asked(`${question} [y/N]`)), left])).trim());
	} finally {
		lines.close();
	}
}

/** The same, where no is the end of it. @throws CliError `CLI_REFUSED` */
export async function confirm(question: string, yes = false): Promise<void> {
	if (!(await answered(question, yes))) throw new CliError("CLI_REFUSED", "nothing was changed");
}
