/**
 * What is recorded of one script run: by place for a script that has not changed, by chain for one that has. A *revision* is the
 * span of one text with one set of arguments.
 */
import type { Seq, WalRecord } from "@reyn/wal";
import {
	entryAfter,
	entryKey,
	type Identity,
	type JournalEntry,
	type Place,
	type Recall,
	recallEntry,
	stepKinds,
} from "../entry.ts";
import { startsDurably } from "../purity.ts";
import { stepStarted } from "../records.ts";
import { scriptResumed, scriptStarted } from "./records.ts";

/** A call that was recorded, and how it ended. */
export interface Memory {
	readonly id: Identity;
	readonly entry: JournalEntry;
	readonly revision: number;
}

interface Remembered extends Memory {
	entry: JournalEntry;
	/** The newest effect that was started in its lane, once its revision is over. */
	lastEffect: Seq;
	/** Its answer stands for a call of a later revision already. */
	isConsumed: boolean;
}

export type Reuse = "prefix" | "content";

export class ScriptMemo {
	#run = "";
	#revision = 0;
	#reuse: Reuse = "prefix";
	#version = "";
	/** Of this revision, by lane and place in it. */
	#here = new Map<string, Remembered>();
	/** The newest effect that was started in a lane of this revision. */
	#lastEffects = new Map<string, Seq>();
	/** Of the revisions before, oldest first. */
	readonly #byChain = new Map<string, Remembered>();
	readonly #byLoose = new Map<string, Remembered[]>();
	readonly #byFingerprint = new Map<string, Remembered[]>();
	readonly #byOutcome = new Map<Seq, Remembered>();
	/** Of all revisions, by lane and position: the newest. */
	readonly #byPosition = new Map<string, Remembered>();

	/** @param records those of the run, in the order of their seqs; others are passed over */
	constructor(records: Iterable<WalRecord> = []) {
		for (const record of records) this.record(record);
	}

	/** The id of the run. */
	get run(): string {
		return this.#run;
	}

	get revision(): number {
		return this.#revision;
	}

	/** Takes one more record of the run. */
	record(record: WalRecord): void {
		if (scriptStarted.is(record) || scriptResumed.is(record)) this.begin(record.data);
		if (!stepKinds.includes(record.kind)) return;
		const id = record.data as Identity & { adopts?: Seq };
		const key = keyOf(id);
		const known = this.#here.get(key);
		const found: Remembered = known ?? {
			id,
			entry: entryAfter(undefined, record),
			revision: this.#revision,
			lastEffect: 0,
			isConsumed: false,
		};
		if (known) known.entry = entryAfter(known.entry, record);
		else this.#here.set(key, found);
		if (id.place) this.#byPosition.set(positionOf(id.lane, id.place.at), found);
		if (found.entry.outcome) this.#byOutcome.set(found.entry.outcome.seq, found);
		if (id.adopts !== undefined) this.#consume(this.#byOutcome.get(id.adopts));
		const isEffect = record.kind === stepStarted.kind || id.adopts !== undefined;
		if (isEffect && startsDurably(id.purity)) this.#lastEffects.set(id.lane, record.seq);
	}

	/** What is known of a call that is about to be made. An answer that is found by content is taken. */
	recall(id: Identity): Recall {
		const here = this.#here.get(keyOf(id));
		if (here) return recallEntry(here.entry, this.#lastEffects.get(id.lane) ?? 0);
		const found = id.place && this.#find(id, id.place);
		if (!found) return { kind: "fresh" };
		const known = recallEntry(found.entry, found.lastEffect);
		if (known.kind !== "ghost") return known;
		this.#consume(found);
		return { ...known, from: found.entry.outcome?.seq as Seq };
	}

	/** The newest call that was recorded at a position of a lane, whatever it was. */
	at(lane: string, at: number): Memory | undefined {
		return this.#byPosition.get(positionOf(lane, at));
	}

	/** Calls of this revision that are recorded. */
	*calls(): Generator<Memory> {
		yield* this.#here.values();
	}

	/** An earlier effect with the same fingerprint, that a call would make again. */
	effectLike({ fp }: Identity): Memory | undefined {
		const all = [...(this.#byFingerprint.get(fp) ?? []), ...this.#here.values()];
		return all.find(({ id, entry }) => id.fp === fp && startsDurably(id.purity) && entry.started !== undefined);
	}

	/** What a `script_started` or `script_resumed` record does; for a preview without one. */
	begin({ run, script, args, reuse = "prefix" }: Begun): void {
		this.#run = run;
		const version = `${script} ${args}`;
		// A run that goes on unchanged finds everything where it was.
		if (version === this.#version && reuse === this.#reuse) return;
		this.#version = version;
		this.#reuse = reuse;
		this.#revision++;
		for (const each of this.#here.values()) {
			each.lastEffect = this.#lastEffects.get(each.id.lane) ?? 0;
			if (each.id.place) this.#byChain.set(each.id.place.chain, each);
			if (each.id.place) push(this.#byLoose, each.id.place.loose, each);
			push(this.#byFingerprint, each.id.fp, each);
		}
		for (const all of this.#byFingerprint.values()) for (const each of all) each.isConsumed = false;
		this.#here = new Map();
		this.#lastEffects = new Map();
	}

	#find(id: Identity, { chain, loose }: Place): Remembered | undefined {
		const exact = this.#byChain.get(chain);
		if (exact && !exact.isConsumed) return exact;
		if (this.#reuse === "prefix") return undefined;
		const isFree = (each: Remembered): boolean => !each.isConsumed && each.entry.outcome?.type === "completed";
		const alike = this.#byLoose.get(loose)?.find(isFree);
		if (alike) return alike;
		// What an effect did rests on more than its arguments.
		return id.purity === "llm" ? this.#byFingerprint.get(id.fp)?.find(isFree) : undefined;
	}

	/** An answer that was recorded again at its new place counts as one. */
	#consume(found: Remembered | undefined): void {
		if (found) found.isConsumed = true;
	}
}

interface Begun {
	readonly run: string;
	/** SHA-256 of its text, and of its canonical arguments. */
	readonly script: string;
	readonly args: string;
	readonly reuse?: Reuse | undefined;
}

const keyOf = (id: Identity): string => `${id.lane} ${entryKey(id)}`;

const positionOf = (lane: string, at: number): string => `${lane} ${at}`;

function push<T>(all: Map<string, T[]>, key: string, item: T): void {
	const found = all.get(key);
	if (found) found.push(item);
	else all.set(key, [item]);
}
