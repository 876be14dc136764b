/** What the page asks of a history and of a moment of it. Said once: a copy of the page has the answers to just these. */

/** As JSON has it. */
export type Given = Readonly<Record<string, string | number | boolean | readonly (string | object)[]>>;

export interface Ask {
	readonly verb: string;
	readonly given: Given;
}

/** So many rows are read at a time. */
export const ROWS = 200;
/** So many messages of a moment are shown at first. */
export const MESSAGES = 40;
/** More is read as a whole, and not as a list. */
const MOST_CHANGES = 200;
/** So many moves are shown. */
const MOST_MOVES = 5;

const inSession = (session: string | undefined): Given => (session === undefined ? {} : { session });

export const history = (before?: number): Ask => ({
	verb: "log",
	given: { n: ROWS, ...(before !== undefined && { before }) },
});

export const status: Ask = { verb: "status", given: {} };
export const spend: Ask = { verb: "spend", given: {} };
export const moves = (verb: "undo" | "redo"): Ask => ({ verb, given: { list: true, n: MOST_MOVES } });

export const conversation = (seq: number, session: string | undefined, n: number): Ask => ({
	verb: "transcript",
	given: { ref: String(seq), n, ...inSession(session) },
});

/** @param to the moment that it is compared with; undefined: now */
export const changes = (seq: number, session: string | undefined, to?: number): Ask => ({
	verb: "diff",
	given: {
		a: String(seq),
		b: to === undefined ? "@" : String(to),
		state: true,
		n: MOST_CHANGES,
		...inSession(session),
	},
});

export const state = (seq: number, session: string | undefined): Ask => ({
	verb: "show",
	given: { ref: String(seq), n: MOST_CHANGES, ...inSession(session) },
});

export const record = (seq: number, session: string | undefined): Ask => ({
	verb: "show",
	given: { ref: String(seq), entry: true, ...inSession(session) },
});

/** On this line one rewinds; on a line that was left one checks out, and there are no modes. */
export const going = (seq: number, isActive: boolean, mode: string): Ask =>
	isActive ? { verb: "rewind", given: { ref: String(seq), mode } } : { verb: "checkout", given: { ref: String(seq) } };

/** The name under which a copy has an answer. */
export const nameOf = (path: string, ask?: Ask): string =>
	ask === undefined ? path : `${path} ${JSON.stringify([ask.verb, ask.given])}`;
