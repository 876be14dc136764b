/** A chat with tools over a timeline: what rewinds are made for. */
import { defineProjection, memorySnapshots } from "@reyn/snapshot";
import { openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import {
	type BlobStore,
	type Draft,
	defineRecord,
	type LogEngine,
	memoryBlobs,
	memoryEngine,
	openWal,
	type Scope,
	type Seq,
	type Wal,
	type WalRecord,
} from "@reyn/wal";
import { z } from "zod";
import {
	type ApplyOptions,
	applyRewind,
	type Facets,
	previewRewind,
	type RewindMode,
	type RewindPreview,
	type RewindResult,
	rewindNote,
	rewindRecords,
} from "../src/index.ts";

export const main: Scope = { agent: "alice", session: "main" };
export const side: Scope = { agent: "alice", session: "side" };
export const plan: Scope = { ...main, run: "p1" };

const text = z.object({ text: z.string() });
const kinds = {
	prompt: defineRecord("prompt", text),
	reply: defineRecord("reply", text),
	call: defineRecord("call", text),
	result: defineRecord("result", text),
	/** A kind that is neither talk nor work. */
	config: defineRecord("config", text),
	/** What no rewind takes back. */
	seen: defineRecord("fact_seen", text),
};
export const { prompt, reply, call, result, config, seen } = Object.fromEntries(
	Object.entries(kinds).map(([name, kind]) => [name, (text: string) => kind({ text })]),
) as Record<keyof typeof kinds, (text: string) => Draft>;

export const facets: Facets = {
	conversation: [kinds.prompt.kind, kinds.reply.kind, rewindNote.kind],
	// Whoever names a fact here has no say in it.
	code: [kinds.call.kind, kinds.result.kind, kinds.seen.kind],
};

/** All that was said and done, in order. */
const story = defineProjection<string[]>({
	name: "story",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [
		...Object.values(kinds).map((kind) => on(kind, (state, { text }) => [...state, text])),
		on(rewindNote, (state) => [...state, "(note)"]),
	],
});

/** The calls that have no result yet. */
const calls = defineProjection<string[]>({
	name: "calls",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [on(kinds.call, (state, { text }) => [...state, text]), on(kinds.result, (state) => state.slice(1))],
	inCycle: (state) => state.length > 0,
});

/** The same, where a cut may lie anywhere. */
const { inCycle: _, ...uncut } = calls;

export interface ChatOptions {
	readonly engine?: LogEngine;
	/** What outlives `gc`. */
	readonly kept?: BlobStore;
	/** Is a cut inside a tool cycle to be avoided? Default: true. */
	readonly cycles?: boolean;
	/** Kinds that begin something. Default: not said. */
	readonly begins?: readonly string[];
	quiesce?(): Promise<void>;
}

export class Chat implements AsyncDisposable {
	readonly wal: Wal;
	timeline!: Timeline;
	readonly #engine: LogEngine;
	readonly #options: ChatOptions;

	private constructor(wal: Wal, engine: LogEngine, options: ChatOptions) {
		this.wal = wal;
		this.#engine = engine;
		this.#options = options;
	}

	static async open(options: ChatOptions = {}): Promise<Chat> {
		const { engine = memoryEngine(), kept = memoryBlobs(), cycles = true, begins, quiesce = async () => {} } = options;
		const records = [...Object.values(kinds), ...rewindRecords, ...timetravelRecords];
		const chat = new Chat(await openWal(engine, { records }), engine, { ...options, kept });
		chat.timeline = await openTimeline({
			wal: chat.wal,
			snapshots: memorySnapshots(),
			kept,
			keptScopes: () => [{}, main, side],
			projections: [story, cycles ? calls : uncut],
			...(begins && { begins }),
		});
		chat.timeline.attend({ quiet: () => quiesce().then(() => () => {}), rebuild: async () => {} });
		return chat;
	}

	/** The process ends, and another one opens the same log. */
	async reopen(): Promise<Chat> {
		await this.wal.close();
		return Chat.open({ ...this.#options, engine: this.#engine });
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.wal.close();
	}

	/** Appends to a session, the main one by default; gives the seqs. */
	write(...what: readonly (Draft | Scope)[]): Seq[] {
		let scope = main;
		const seqs: Seq[] = [];
		for (const each of what) {
			if ("kind" in each) seqs.push(this.wal.append(each, scope).seq);
			else scope = each;
		}
		return seqs;
	}

	async checkpoint(): Promise<Seq> {
		const view = await this.timeline.at(this.wal.tip, main);
		return this.timeline.checkpoint("turn", "turn", main, view);
	}

	/** What the state at a seq tells. */
	async told(scope: Scope = {}, seq: Seq = this.wal.tip): Promise<string> {
		return (await this.timeline.at(seq, scope)).get(story).join(" ");
	}

	preview(seq: Seq, mode?: RewindMode, scope?: Scope): Promise<RewindPreview> {
		return previewRewind(this.timeline, facets, seq, mode, scope);
	}

	apply(plan: RewindPreview, more: Partial<ApplyOptions> = {}): Promise<RewindResult> {
		return applyRewind(this.timeline, facets, plan, { actor: "carol", log: this.wal, session: main, ...more });
	}

	async rewind(seq: Seq, mode: RewindMode, scope?: Scope): Promise<RewindResult> {
		return this.apply(await this.preview(seq, mode, scope));
	}

	/** Every record there is, byte for byte. */
	records(after: Seq = this.wal.first - 1): Promise<WalRecord[]> {
		return collect(this.wal.read({ after }));
	}
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}
