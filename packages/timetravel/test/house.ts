/** A small application over a timeline: sessions that talk and work, with live views as a runtime would keep them. */
import { type AnyProjection, defineProjection, memorySnapshots, type SnapshotStore, type View } from "@reyn/snapshot";
import {
	type Appender,
	type BlobStore,
	defineRecord,
	type LogEngine,
	memoryBlobs,
	memoryEngine,
	openWal,
	type Scope,
	type Seq,
	scopeKey,
	type Wal,
	type WalRecord,
	within,
} from "@reyn/wal";
import { z } from "zod";
import {
	type RetentionPolicy,
	type Timeline,
	type TimelineOptions,
	timetravelRecords,
	type UndoRules,
} from "../src/index.ts";
import { openedTimeline } from "../src/timeline.ts";

export const alice: Scope = { agent: "alice" };
export const main: Scope = { agent: "alice", session: "main" };
export const side: Scope = { agent: "alice", session: "side" };
export const plan: Scope = { ...main, run: "p1" };
export const bob: Scope = { agent: "bob", session: "main" };

/** All whose states somebody asks for. */
export const houseScopes: readonly Scope[] = [{}, alice, main, plan, { ...main, run: "p2" }, side, bob];

const text = z.object({ text: z.string() });
export const said = defineRecord("said", text);
export const did = defineRecord("did", text);
/** A tool was asked, and has answered. */
export const asked = defineRecord("asked", text);
export const answered = defineRecord("answered", text);
/** A fact about the world, which no rewind takes back. */
export const noted = defineRecord("fact_noted", text);

const records = [said, did, asked, answered, noted, ...timetravelRecords];

/** Everything that was said and done, in order. */
export const story = defineProjection<string[]>({
	name: "story",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [said, did].map((kind) => on(kind, (state, { text }) => [...state, text])),
});

/** The facts, and nothing else. */
export const notes = defineProjection<string[]>({
	name: "notes",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [on(noted, (state, { text }) => [...state, text])],
});

/** The tools that have not answered yet. */
export const waiting = defineProjection<string[]>({
	name: "waiting",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [
		on(asked, (state, { text }) => [...state, text]),
		on(answered, (state, { text }) => state.filter((each) => each !== text)),
	],
	inCycle: (state) => state.length > 0,
});

/** Whatever the clock of the log says, all of it is older than what this keeps by its age. */
export const keeping = (keepCheckpoints: number): RetentionPolicy => ({
	keepDays: 30,
	keepCheckpoints,
	now: Number.MAX_SAFE_INTEGER,
});

export interface HouseOptions {
	readonly engine?: LogEngine;
	readonly snapshots?: SnapshotStore;
	readonly projections?: readonly AnyProjection[];
	readonly undoRules?: UndoRules;
	/** Kinds that begin something. */
	readonly begins?: readonly string[];
	readonly kept?: BlobStore;
	/** After how many records a part of the index is stored. Default: as usual. */
	readonly partAfter?: () => number;
	/** Kinds that somebody knows. Default: all. */
	readonly known?: readonly string[];
	/** Default: all that there may be. */
	keptScopes?(): readonly Scope[];
	quiesce?(scope: Scope): Promise<void>;
	/** Comes before the house takes its own views to the new state; what it throws is a crash. */
	rebuild?(seq: Seq, scope: Scope): Promise<void>;
}

export class House implements AsyncDisposable {
	readonly engine: LogEngine;
	readonly snapshots: SnapshotStore;
	/** What outlives a truncation. */
	readonly kept: BlobStore;
	readonly wal: Wal;
	timeline!: Timeline;
	readonly #options: HouseOptions;
	readonly #views = new Map<string, View>();

	constructor(wal: Wal, engine: LogEngine, snapshots: SnapshotStore, kept: BlobStore, options: HouseOptions) {
		this.wal = wal;
		this.kept = kept;
		this.engine = engine;
		this.snapshots = snapshots;
		this.#options = options;
	}

	/** As a process starts: log, timeline, whatever a crash left unfinished. */
	static async open(options: HouseOptions = {}): Promise<House> {
		const { engine = memoryEngine(), snapshots = memorySnapshots(), kept = memoryBlobs() } = options;
		const wal = await openWal(engine, { records });
		const house = new House(wal, engine, snapshots, kept, options);
		house.timeline = await openedTimeline(house.#of(wal), options.partAfter);
		house.timeline.attend({
			quiet: async ({ coverage: { scope } }) => {
				await options.quiesce?.(scope);
				return () => {};
			},
			rebuild: async ({ seq, coverage: { scope } }) => {
				await options.rebuild?.(seq, scope);
				await house.#rebuild(scope);
			},
		});
		return house;
	}

	/** What another process reads beside this one. */
	async reader(): Promise<Timeline> {
		const wal = await openWal(this.engine, { records, readOnly: true });
		return openedTimeline({ ...this.#of(wal), readOnly: true }, this.#options.partAfter);
	}

	#of(wal: Wal): TimelineOptions {
		const { projections = [story, waiting], keptScopes = () => houseScopes, undoRules, begins, known } = this.#options;
		const { snapshots, kept } = this;
		return {
			...{ wal, snapshots, projections, kept, keptScopes, snapshotDue: () => true },
			...(undoRules && { undoRules }),
			...(begins && { begins }),
			...(known && { known }),
		};
	}

	/** The process ends, and another one starts over the same log and the same snapshots. */
	async reopen(options: HouseOptions = this.#options): Promise<House> {
		await this.wal.close();
		return House.open({ ...options, engine: this.engine, snapshots: this.snapshots, kept: this.kept });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.wal.close().catch(() => undefined);
	}

	say(text: string, scope: Scope = main): Seq {
		return this.append(said({ text }), scope).seq;
	}

	do(text: string, scope: Scope = main): Seq {
		return this.append(did({ text }), scope).seq;
	}

	ask(text: string, scope: Scope = main): Seq {
		return this.append(asked({ text }), scope).seq;
	}

	answer(text: string, scope: Scope = main): Seq {
		return this.append(answered({ text }), scope).seq;
	}

	note(text: string, scope: Scope = main): Seq {
		return this.append(noted({ text }), scope).seq;
	}

	append(...[draft, scope]: Parameters<Appender["append"]>): WalRecord {
		const { record } = this.timeline.handle().append(draft, scope);
		for (const [key, view] of this.#views) this.#views.set(key, view.apply(record));
		return record;
	}

	/** Cuts a checkpoint; `of` is the scope whose state is stored. */
	async mark(
		title: string,
		{ scope = main, of = scope, kind = "turn" }: { scope?: Scope; of?: Scope; kind?: string } = {},
	): Promise<Seq> {
		if (!this.#views.has(scopeKey(of))) await this.live(of);
		return this.timeline.checkpoint(kind, title, scope, this.#views.get(scopeKey(of)) as View);
	}

	/** The view that is kept up to date record by record, and made anew only by a rebuild. */
	async live(scope: Scope): Promise<View> {
		const known = this.#views.get(scopeKey(scope));
		if (known) return known;
		const view = await this.timeline.at(this.wal.tip, scope);
		this.#views.set(scopeKey(scope), view);
		return view;
	}

	/** What the state at a seq tells. */
	async told(seq: Seq = this.wal.tip, scope: Scope = main): Promise<string> {
		return (await this.timeline.at(seq, scope)).get(story).join(" ");
	}

	/** Every record there is, byte for byte: data and checksums. */
	async records(): Promise<readonly WalRecord[]> {
		return collect(this.wal.read());
	}

	async #rebuild(scope: Scope): Promise<void> {
		for (const [key, view] of this.#views)
			if (within(view.scope, scope) || within(scope, view.scope))
				this.#views.set(key, await this.timeline.at(this.wal.tip, view.scope));
	}
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}
