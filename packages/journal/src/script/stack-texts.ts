/**
 * Who makes the text of an error's stack, when a script reads it. Usually V8 calls a function of Node for that, and what
 * is thrown there is of the host: where the name of the error is no text, or where the stack is used up.
 */
import { createContext, Script } from "node:vm";

/** A context of the host's own, whose `Error` calls it for the text of a stack. */
const context = createContext({ work: () => {} });
const makeText: () => void = new Script(
	"Error.stackTraceLimit = 0; Error.prepareStackTrace = () => work(); () => void new Error().stack",
	{ filename: "reyn:realm" },
).runInContext(context);

let isWithin = false;

/**
 * Does some work in which V8 itself makes the texts of stacks, and no code of the host does: it calls nobody for a text
 * while another one is under way, so the work is done inside of one.
 */
export function withOwnTexts(work: () => void): void {
	if (isWithin) {
		work();
		return;
	}
	let hasRun = false;
	let failure: { readonly error: unknown } | undefined;
	context.work = () => {
		hasRun = true;
		try {
			work();
		} catch (error) {
			failure = { error };
		}
	};
	isWithin = true;
	try {
		makeText();
	} finally {
		isWithin = false;
	}
	if (!hasRun) throw new Error("a script can be run neither for the text of a stack nor where the stack is used up");
	if (failure) throw failure.error;
}
