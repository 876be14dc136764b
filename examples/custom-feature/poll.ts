/** Polls, as a feature: records, a projection, a tool and an undo rule of their own, in one file. */
import { journalRecords, type Tool } from "@reyn/journal";
import {
	backgroundMessages,
	type Feature,
	type FeatureHost,
	type Frame,
	inBackground,
	type Kernel,
	kindsOf,
	type Piece,
	type Session,
} from "@reyn/runtime";
import { defineProjection, type View } from "@reyn/snapshot";
import { type Draft, defineRecord } from "@reyn/wal";
import { z } from "zod";

const poll = z.string();
export const pollOpened = defineRecord(
	"poll_opened",
	z.object({ poll, question: z.string(), voters: z.int().positive() }),
);
export const pollVoted = defineRecord("poll_voted", z.object({ poll, voter: z.string(), choice: z.string() }));
/** A person has ended it before everybody had voted. */
export const pollStopped = defineRecord("poll_stopped", z.object({ poll }));
export const pollOver = defineRecord("poll_over", z.object({ poll, result: z.string() }));
const pollRecords = [pollOpened, pollVoted, pollStopped, pollOver];

const pollState = z.object({
	question: z.string(),
	voters: z.int(),
	opened: z.int(),
	votes: z.record(z.string(), z.string()),
	status: z.enum(["waiting", "running", "over"]),
});
type Poll = z.infer<typeof pollState>;
type PollState = Readonly<Record<string, Poll>>;

/** A poll of which all have voted, or that was stopped, is counted. */
export const polls = defineProjection<PollState>({
	name: "polls",
	version: 1,
	schema: z.record(z.string(), pollState),
	init: () => ({}),
	handle: (on) => [
		on(pollOpened, (state, { poll, question, voters }, { seq }) => ({
			...state,
			[poll]: { question, voters, opened: seq, votes: {}, status: "waiting" },
		})),
		on(pollVoted, (state, { poll, voter, choice }) =>
			whileOpen(state, poll, (before) => {
				const votes = { ...before.votes, [voter]: choice };
				return { ...before, votes, status: Object.keys(votes).length < before.voters ? "waiting" : "running" };
			}),
		),
		on(pollStopped, (state, { poll }) => whileOpen(state, poll, (before) => ({ ...before, status: "running" }))),
		on(pollOver, (state, { poll }) => (state[poll] ? { ...state, [poll]: { ...state[poll], status: "over" } } : state)),
	],
});

/** Who comes too late says nothing; nor does a record whose poll was opened on another line of history. */
const whileOpen = (state: PollState, poll: string, next: (before: Poll) => Poll): PollState =>
	state[poll]?.status === "waiting" ? { ...state, [poll]: next(state[poll]) } : state;

const pollsIn = (view: View): readonly Piece[] =>
	Object.entries(view.get(polls)).map(([id, { question, opened, status }]) => ({
		kind: "poll",
		id,
		work: {
			name: `poll ${id}`,
			scope: { ...view.scope, run: id },
			kinds: kindsOf([...pollRecords, ...journalRecords]),
		},
		status,
		title: question,
		since: opened,
	}));

/** The world that is told how a poll ended: once, however often the process is killed. */
export interface Board {
	post(result: string, key: string): Promise<void>;
	/** Was it posted under this key? */
	has(key: string): Promise<boolean>;
}

/** What who listens is told of the end of a poll. */
export interface PollEnd {
	readonly type: "poll_end";
	readonly poll: string;
	readonly result: string;
}

export const pollFeature = (board: Board): Feature<Polls> => ({
	name: "poll",
	records: { code: pollRecords },
	projections: [polls],
	begins: [pollOpened],
	undo: { [pollStopped.kind]: ({ scope }) => ({ takenBackBy: { scope } }) },
	needs: [backgroundMessages],
	pieces: pollsIn,
	// Nothing has to be said of it: it is counted again from the votes that are there.
	settle: () => ({ becomes: "running" }),
	// Whoever follows the log is told of the end of a poll, in another process too.
	tell: (record) => {
		if (!pollOver.is(record)) return [];
		return [{ type: "poll_end", ...record.data } satisfies PollEnd];
	},
	start: (kernel) => new Polls(kernel, board),
});

export class Polls implements FeatureHost {
	readonly #kernel: Kernel;
	readonly #board: Board;

	constructor(kernel: Kernel, board: Board) {
		this.#kernel = kernel;
		this.#board = board;
	}

	/** A turn may open some: the answer of each comes by itself, when all have voted. */
	tools({ session, for: who }: Frame): readonly Tool[] {
		const openOf = (prepared: unknown) => {
			const { id } = prepared as { id: string };
			return { id, said: `${id} is open; it brings its result by itself` };
		};
		const open: Tool = {
			name: "open_poll",
			description: "Asks so many people a question, and brings what most of them say",
			parameters: z.toJSONSchema(args),
			purity: "side_effect",
			// Durable before the call: after a crash it is known which poll this call opens, and whether it has.
			prepare: async () => ({ id: `poll${this.#kernel.ids.hex(3)}` }),
			call: async (given, { prepared }) => {
				const { id, said } = openOf(prepared);
				await this.#append(session, id, pollOpened({ poll: id, ...args.parse(given) }));
				return said;
			},
			reconcile: async (_key, prepared) => {
				const { id, said } = openOf(prepared);
				return session.view.get(polls)[id] ? { kind: "done", result: said } : { kind: "not_done" };
			},
		};
		return who === "turn" ? [open] : [];
	}

	vote(id: string, voter: string, choice: string): Promise<void> {
		return this.#append(this.#sessionOf(id), id, pollVoted({ poll: id, voter, choice }));
	}

	/** Ends a poll before all have voted; `undo` takes that back. */
	stop(id: string): Promise<void> {
		return this.#append(this.#sessionOf(id), id, pollStopped({ poll: id }));
	}

	goOn(session: Session, piece: Piece): void {
		inBackground(this.#kernel, session, piece, async (lane) => {
			const result = resultOf(session.view.get(polls)[piece.id] as Poll);
			await lane.perform({
				kind: "step",
				name: "post",
				args: { result },
				purity: "side_effect",
				call: ({ idempotencyKey: key = "" }) => this.#board.post(result, key),
				reconcile: async (key) =>
					(await this.#board.has(key)) ? { kind: "done", result: undefined } : { kind: "not_done" },
			});
			return { records: [pollOver({ poll: piece.id, result })], say: result };
		});
	}

	async #append(session: Session, id: string, draft: Draft): Promise<void> {
		this.#kernel.assertOpen();
		await session.log.append(draft, { ...session.scope, run: id }).durable;
		for (const piece of pollsIn(session.view))
			if (piece.id === id && piece.status === "running") this.goOn(session, piece);
	}

	#sessionOf(id: string): Session {
		const session = [...this.#kernel.sessions].find(({ view }) => view.get(polls)[id]);
		if (session) return session;
		throw new Error(`there is no poll ${id}`);
	}
}

const args = z.object({ question: z.string().min(1), voters: z.int().positive() });

function resultOf({ question, votes }: Poll): string {
	const counts = Object.values(Object.groupBy(Object.values(votes), (choice) => choice)).map((each = []) => each);
	const [most] = counts.sort((a, b) => b.length - a.length);
	return most ? `${question} ${most[0]} (${most.length} of ${Object.keys(votes).length})` : `${question} nobody voted`;
}
