/** The current line of history: its live states, and handles that append to it and refuse records of a line that was left. */
import { type Appended, type Appender, type Draft, type Scope, type Seq, type WalRecord, within } from "@reyn/wal";
import { TimetravelError } from "./errors.ts";
import { type Live, type LiveState, Lives, overlap } from "./live.ts";
import type { TimelineOptions } from "./options.ts";
import { type Outcome, outcomesBeyond, scopesBeyond } from "./outcomes.ts";
import type { Reading } from "./reading.ts";
import { reset, stepLate } from "./records.ts";
import type { Moved } from "./steps.ts";
import type { WholeLog } from "./whole-log.ts";

export class Present {
	readonly #reading: Reading;
	readonly #whole: WholeLog;
	readonly #options: Pick<TimelineOptions, "outcomes" | "readOnly">;
	readonly #lives: Lives;
	/** Those whose line another process has left: they stay here until they are made anew. */
	readonly #left = new Set<LiveState>();
	/** Collect the records that are appended while a preview is being checked. */
	readonly listening = new Set<WalRecord[]>();

	constructor(reading: Reading, whole: WholeLog, options: Pick<TimelineOptions, "outcomes" | "readOnly">) {
		this.#reading = reading;
		this.#whole = whole;
		this.#options = options;
		this.#lives = new Lives({
			now: (scope) => {
				const { tip } = reading.wal;
				return { tip, reset: reading.newest, view: reading.at(tip, scope) };
			},
			handle: (newest) => this.#handle(newest),
		});
	}

	async live(scope: Scope): Promise<Live> {
		const known = this.#lives.find(scope);
		const live = known ?? this.#lives.add(scope);
		if (!known) live.opened = this.#open(live);
		await live.opened;
		return live;
	}

	async #open(live: LiveState): Promise<void> {
		try {
			await live.rebuild();
			await this.#adopt([live]);
		} catch (error) {
			live.close();
			throw error;
		}
	}

	/** Adopts what other lines of history know of one start, in the live state of a scope. Whoever asks waits for it. */
	async adopt(scope: Scope, start: Seq): Promise<void> {
		const live = this.#lives.find(scope);
		if (live) await this.#adoptFor([live], new Set([start]), (_, { said }) => !said.retried);
	}

	/** What {@link adopt} would adopt of these starts. Writes nothing. */
	async known(scope: Scope, starts: ReadonlySet<Seq>): Promise<readonly Draft[]> {
		const found = await this.#beyond(starts);
		return found.filter((each) => within(each.scope, scope) && !each.said.retried).map(({ draft }) => draft);
	}

	handle(): Appender {
		return this.#handle(this.#reading.newest);
	}

	#handle(bound: Seq): Appender {
		return {
			append: (draft: Draft, at: Scope): Appended => {
				const moved = this.#reading.movedSince(bound, { scope: at, kind: draft.kind });
				if (moved === undefined) return this.append(draft, at);
				this.#keep(draft, at, moved);
				throw new TimetravelError(
					"STALE_LINEAGE",
					`this work belongs to a line of history that was left by the rewind at seq ${moved}; its records may not land on the new one`,
					{ reset: moved, kind: draft.kind },
				);
			},
		};
	}

	/** Appends a record, and hands it to live states and to the check of a preview in the same synchronous step. */
	append(draft: Draft, at: Scope): Appended {
		const appended = this.#reading.wal.append(draft, at);
		this.#lives.take(appended.record);
		this.#whole.take(appended.record);
		for (const heard of this.listening) heard.push(appended.record);
		return appended;
	}

	/** Folds records that another process wrote, in the step in which the tip of the log moves past them. */
	took(records: readonly WalRecord[]): void {
		for (const record of records) {
			this.#lives.take(record);
			this.#whole.take(record);
			if (reset.is(record)) for (const live of this.#lives.overlapping(record.scope)) this.#left.add(live);
		}
	}

	/** Makes the live states anew whose line another process has left. */
	async catchUp(): Promise<void> {
		for (const live of this.#left) {
			if (this.#lives.has(live)) await live.rebuild();
			this.#left.delete(live);
		}
	}

	async rebuild({ target, coverage: { scope } }: Pick<Moved, "target" | "coverage">): Promise<void> {
		const lives = this.#lives.overlapping(scope);
		for (const live of lives) await live.rebuild();
		if (lives.length > 0) return this.#adopt(lives);
		const { outcomes } = this.#options;
		if (!outcomes) return;
		// Without a live state, one is made for a moment in each scope concerned, so that outcomes beyond the cut are adopted there too.
		const beyond = await scopesBeyond(target, { wal: this.#reading.wal, lineage: this.#reading.lineage, outcomes });
		for (const each of beyond.filter((own) => overlap(own, scope))) {
			const passing = this.#lives.make(each);
			await passing.rebuild();
			await this.#adopt([passing]);
		}
	}

	/** Keeps an outcome that was refused for coming after a rewind: as it is if a live state waits for it, else as `step_late`. */
	#keep(draft: Draft, at: Scope, moved: Seq): void {
		const { outcomes } = this.#options;
		const said = outcomes?.kinds.includes(draft.kind) ? outcomes.read(draft) : undefined;
		if (!outcomes || !said || said.what === "begun") return;
		const waits = (live: LiveState): boolean => live.knows >= moved && outcomes.isAwaited(live.view, draft);
		const { kind, data } = draft;
		const aside = (): Draft => stepLate({ reset: moved, kind, data: data as Record<string, unknown> });
		this.append(this.#lives.holding(at).some(waits) ? draft : aside(), at);
	}

	/** Adopts outcomes from other lines of history for all starts that are open in these states. */
	async #adopt(lives: readonly LiveState[]): Promise<void> {
		const { outcomes } = this.#options;
		if (!outcomes) return;
		const starts = new Set(lives.flatMap(({ view }) => outcomes.openStarts(view)));
		await this.#adoptFor(lives, starts, ({ view }, { draft }) => outcomes.isAwaited(view, draft));
	}

	async #adoptFor(
		lives: readonly LiveState[],
		starts: ReadonlySet<Seq>,
		isAwaited: (live: LiveState, outcome: Outcome) => boolean,
	): Promise<void> {
		if (this.#options.readOnly) return;
		for (const outcome of await this.#beyond(starts)) {
			const { draft, scope } = outcome;
			const waits = (live: LiveState): boolean =>
				within(scope, live.scope) &&
				this.#reading.movedSince(live.knows, { scope, kind: draft.kind }) === undefined &&
				isAwaited(live, outcome);
			if (!lives.some(waits)) continue;
			const { record } = this.append(draft, scope);
			for (const live of lives) if (!this.#lives.has(live)) live.take(record);
		}
	}

	async #beyond(starts: ReadonlySet<Seq>): Promise<readonly Outcome[]> {
		const { outcomes } = this.#options;
		const first = [...starts].reduce((least, start) => Math.min(least, start), this.#reading.wal.tip);
		// Without a rewind since the first start, no other line can have its outcome.
		if (!outcomes || starts.size === 0 || this.#reading.newest < first) return [];
		const ports = { wal: this.#reading.wal, lineage: this.#reading.lineage, outcomes };
		return outcomesBeyond(first, (start) => starts.has(start), ports);
	}
}
