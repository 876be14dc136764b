// Taken out one by one, so that a sequence that is cut between two pieces of a stream is harmless as well.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text from models, tools and files without control codes: it cannot move the cursor, colour or rename the terminal. */
export function clean(text: string): string {
	return text.replace(unsafe, "");
}

/** The same on one line, cut to a width. */
export function oneLine(text: string, width = 100): string {
	const line = clean(text).replace(/\s+/g, " ").trim();
	return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}
