/**
 * Makes V8 itself format the stack of an error that a script reads. Usually V8 calls a function of Node for that, which may throw an
 * error of the host: when the name of the error is no text, or the stack is used up.
 */
import { createContext, Script } from "node:vm";

/** A context of the host's own, whose function that formats stacks calls `work`. It is made for the first script: most processes run none. */
const makeHost = () => {
	const context = createContext({ work: () => {} });
	const makeText: () => void = new Script(
		"Error.stackTraceLimit = 0; Error.prepareStackTrace = () => work(); () => void new Error().stack",
		{ filename: "reyn:realm" },
	).runInContext(context);
	return { context, makeText };
};
let host: ReturnType<typeof makeHost> | undefined;

let isWithin = false;

/**
 * Runs work in which V8 formats stacks itself, without code of the host. V8 calls no formatting function while one is running already, so
 * the work is run inside such a function.
 */
export function withOwnTexts(work: () => void): void {
	if (isWithin) {
		work();
		return;
	}
	let hasRun = false;
	let failure: { readonly error: unknown } | undefined;
	host ??= makeHost();
	host.context.work = () => {
		hasRun = true;
		try {
			work();
		} catch (error) {
			failure = { error };
		}
	};
	isWithin = true;
	try {
		host.makeText();
	} finally {
		isWithin = false;
	}
	if (!hasRun) throw new Error("a script can be run neither for the text of a stack nor where the stack is used up");
	if (failure) throw failure.error;
}
