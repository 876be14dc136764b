/** Carries errors between host and realm as text, since no object of one side may reach the other. */
export interface ErrorText {
	readonly name?: string | undefined;
	readonly message: string;
	readonly stack?: string | undefined;
	readonly code?: string | undefined;
	readonly detail?: unknown;
}

/** What an error of the host says, as JSON text. */
export function textOfError(error: unknown): string {
	if (!(error instanceof Error)) return JSON.stringify({ message: String(error) });
	const { name, message, code, detail } = error as Error & { code?: unknown; detail?: unknown };
	const said: ErrorText = { name, message, ...(typeof code === "string" ? { code } : {}) };
	try {
		return JSON.stringify({ ...said, detail });
	} catch {
		return JSON.stringify(said);
	}
}

const own = ["DETERMINISM", "SCRIPT_BRANCH_FAILED", "SCRIPT_INVALID", "SCRIPT_NOT_JSON", "SCRIPT_TIMEOUT"] as const;

/** Makes an error of this package. It is passed in, so that a child process need not load the error classes. */
export type MakeError = (
	code: (typeof own)[number],
	message: string,
	detail: Readonly<Record<string, unknown>>,
	options?: ErrorOptions,
) => Error;

/** An error of the host in place of what was thrown in a realm. Its stack has the lines of the script alone. */
export function errorOfText(
	{ name = "Error", message, stack = "", code, detail }: ErrorText,
	file: string,
	make: MakeError,
): Error {
	const known = own.find((each) => each === code);
	const error = known
		? make(known, message, (detail ?? {}) as Record<string, unknown>)
		: Object.assign(new Error(message), {
				name,
				...(code === undefined ? {} : { code }),
				...(detail === undefined ? {} : { detail }),
			});
	const isFrame = (line: string): boolean => line.includes(`(${file}:`) || line.includes(` ${file}:`);
	const frames = stack.split("\n").filter((line) => line.startsWith("    at ") && isFrame(line));
	error.stack = [`${error.name}: ${message}`, ...frames].join("\n");
	return error;
}

/** Where in the script the stack of {@link errorOfText} begins; both from 1. */
export function lineOf({ stack = "" }: Error): { readonly line: number; readonly column: number } | undefined {
	const [, line, column] = /:(\d+):(\d+)\)?$/m.exec(stack.slice(stack.indexOf("\n    at "))) ?? [];
	return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}
