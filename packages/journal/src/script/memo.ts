/**
 * The memo of a script run: its recorded calls. Calls of the same revision are found by place, calls of earlier revisions by chain. A
 * *revision* is the span of one text with one set of arguments.
 */
import { isDeepStrictEqual } from "node:util";
import type { Seq, WalRecord } from "@reyn/wal";
import {
	entryAfter,
	entryKey,
	type Identity,
	innerLane,
	isOpen,
	type JournalEntry,
	type Place,
	type Recall,
	type RecordedStep,
	recallEntry,
	stepKinds,
} from "../entry.ts";
import { isFirstInside } from "../key.ts";
import { describe } from "../perform.ts";
import { startsDurably } from "../purity.ts";
import { Recorded } from "../recorded.ts";
import { stepCompleted, stepStarted } from "../records.ts";
import { isInner } from "./branches.ts";
import { type AskedCall, type Left, leftOf, type Made } from "./left.ts";
import { isSameVersion, scriptFailed, scriptResumed, scriptStarted, type Version } from "./records.ts";

/** A recorded call, with its entry. */
export interface Memory {
	readonly id: Identity;
	readonly entry: JournalEntry;
	readonly revision: number;
}

interface Remembered extends Memory {
	/** As of its newest record: a call that is made again may stand behind other calls than it did. */
	id: Identity;
	entry: JournalEntry;
	readonly answer: Answer;
	/** For the world's answer of an earlier revision that is recorded again: did an effect rest on it then? */
	isSettled?: boolean;
}

/** The answer of one call, shared by the call and its inner steps, also when it is recorded again in a later revision. */
interface Answer {
	/** The call of this revision that uses the answer; it can be used once. */
	usedBy?: string | undefined;
}

/** An effect that was started inside a call of the script. */
interface EffectInside {
	readonly revision: number;
	readonly call: string;
	/** Names it within the call. */
	readonly step: string;
	readonly seq: Seq;
}

type Adopting = Identity & { readonly adopts?: Seq };

interface MadeSoFar extends Made {
	readonly parts: Map<Seq, { readonly seq: Seq; readonly id: Identity }>;
}

/** What was recorded of an earlier revision. */
interface Revision {
	readonly number: number;
	/** By key. */
	readonly calls: ReadonlyMap<string, Remembered>;
	readonly steps: Recorded;
}

/** A call that an unchanged script asks for. */
export type Expected = Omit<RecordedStep, "place"> & {
	readonly lane: string;
	/** The seq of the told outcome; undefined: the call was begun, and its end is not known. */
	readonly place: Seq | undefined;
	describe(): string;
};

export type Reuse = "prefix" | "content";

export class ScriptMemo {
	#run = "";
	#revision = 0;
	#reuse: Reuse = "prefix";
	/** The text and the arguments of each revision, as they were last. */
	readonly #versions: Version[] = [];
	/** The calls of this revision, by key. */
	#here = new Map<string, Remembered>();
	/** The newest effect that was started in any revision. */
	#lastEffect: Seq = 0;
	/** The steps of this revision, folded like a journal, which says what rests on a failure. */
	#steps = new Recorded();
	/** Does the memo have all records of the run? */
	#isWhole = false;
	/** The answers of the calls of this revision that have begun. */
	#answers = new Map<string, Answer>();
	/** The calls of earlier revisions, by chain: what was found by content may have brought another answer there. */
	readonly #byChain = new Map<string, Remembered[]>();
	/** The calls of each revision but this one, by key, and the steps inside them. */
	readonly #byRevision = new Map<number, Revision>();
	/** How many edits ago each of them was: first those of the same text, then the newest. */
	#edits = new Map<number, number>();
	/** Those of the same text. */
	#ofSameText = new Set<number>();
	/** Of those, by chain: they say in which order their answers are told. */
	#sameText = new Map<string, Remembered>();
	/** What this revision goes on with, by key: the calls of the one before, and of those that it went on with. */
	#before = new Map<string, Remembered>();
	/** The first of those. */
	#together = 1;
	/** The calls of this revision that an earlier one has made or begun: what was made inside them is found by key, the newest first. */
	#continued = new Map<string, readonly Revision[]>();
	/** The first steps inside the calls of each revision but this one: a call that was cut may have left no other record. */
	readonly #firstInside = new Map<string, { readonly id: Identity; readonly revision: number }[]>();
	/** The calls that were asked for in this revision, in this life, by key. */
	#asked = new Map<string, Identity>();
	/** What each of the script's goes on with, or recalls: calls of a revision. */
	#uses = new Map<string, Set<string>>();
	/** The steps inside calls that were recalled, by the seq of what was made. */
	#recalled = new Set<Seq>();
	/** The names of the effects that something was paid for inside of. */
	readonly #paidInside = new Set<string>();
	/** Was the script told anything in this revision that the one before was not? */
	#isApart = false;
	readonly #byLoose = new Map<string, Remembered[]>();
	readonly #byFingerprint = new Map<string, Remembered[]>();
	readonly #byOutcome = new Map<Seq, Remembered>();
	/** The newest call with a result, of all revisions, by fingerprint. */
	readonly #completed = new Map<string, Remembered>();
	/** The effects that were started inside calls of the script, of all revisions, by the lane of the call, and by its fingerprint. */
	readonly #effectsInside = new Map<string, EffectInside[]>();
	/** The lanes inside the effects that were started, by revision. */
	readonly #insideEffects = new Set<string>();
	/** The calls of the script that have a record of their own: one that was cut may have none. */
	readonly #calls = new Map<string, Identity>();
	/** The newest call at a position, of all revisions, by lane and position. */
	readonly #byPosition = new Map<string, Remembered>();

	/** @param records the records of the run, in the order of their seqs; records of other runs are passed over */
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
		if (scriptStarted.is(record)) this.#isWhole = true;
		if (scriptStarted.is(record) || scriptResumed.is(record)) this.begin(record.data);
		if (scriptFailed.is(record)) {
			this.#steps.record(record);
			this.#learnAll();
		}
		if (!stepKinds.includes(record.kind)) return;
		const id = record.data as Identity & { adopts?: Seq; started?: Seq };
		const key = keyOf(id);
		const earlier = this.#learnedElsewhere(id);
		const known = earlier ?? this.#here.get(key);
		const answer = this.#answerOf(id);
		const found: Remembered = known ?? {
			id,
			entry: entryAfter(undefined, record),
			revision: this.#revision,
			answer,
		};
		if (known) known.entry = entryAfter(known.entry, record);
		else this.#here.set(key, found);
		if (!earlier) found.id = id;
		if (!isInner(id.lane)) this.#calls.set(innerLane(id), id);
		else if (isPaid(found.entry)) {
			const { name, purity } = this.#calls.get(callOf(id)) ?? {};
			if (name !== undefined && purity !== undefined && startsDurably(purity)) this.#paidInside.add(name);
		}
		if (id.place && !earlier) this.#byPosition.set(positionOf(id.lane, id.place.at), found);
		if (record.kind === stepCompleted.kind) this.#completed.set(id.fp, found);
		if (found.entry.outcome) this.#byOutcome.set(found.entry.outcome.seq, found);
		const from = id.adopts === undefined ? undefined : this.#byOutcome.get(id.adopts);
		if (from && id.purity === "world") found.isSettled = this.#isSettled(from);
		// What this run has made before is no effect of now, though it is recorded again.
		const isEffect = record.kind === stepStarted.kind || (id.adopts !== undefined && !from);
		if (isEffect && startsDurably(id.purity)) {
			this.#insideEffects.add(`${this.#revision} ${innerLane(id)}`);
			this.#lastEffect = record.seq;
			if (isInner(id.lane)) {
				const call = callOf(id);
				const effect = {
					revision: this.#revision,
					call,
					step: `${id.lane.slice(call.length)} ${entryKey(id)}`,
					seq: record.seq,
				};
				for (const key of [laneOf(call), shortOf(call)]) push(this.#effectsInside, key, effect);
			}
		}
		if (earlier) return;
		if (found.entry.order !== undefined && found.entry.outcome?.seq === record.seq)
			this.#heard(id, id.adopts !== undefined, found.entry);
		this.#steps.record(record);
		if (stepCompleted.is(record) && record.data.moves !== undefined) this.#learnAll();
	}

	/** The starts of the calls that are not over: other lines of history may know more of them. */
	openStarts(): ReadonlySet<Seq> {
		const here = [...this.#here.values()];
		const again = new Set(here.map(({ entry }) => entry.started));
		// What this revision has asked for again is no open call of an earlier one.
		const earlier = [...this.#byChain.values()]
			.flatMap((all) => all.at(-1) ?? [])
			.filter(({ entry }) => !again.has(entry.started));
		return new Set([...here, ...earlier].flatMap(({ entry }) => (isOpen(entry) ? [entry.started] : [])));
	}

	/** What is recorded of a call that is about to be made. An answer of an earlier revision is used up by that. */
	recall(id: Identity): Recall {
		// Never tried again here: a failure counts until the run has ended by it.
		const asked = Number.MAX_SAFE_INTEGER;
		this.#asked.set(keyOf(id), id);
		const found = this.#earlier(id);
		const here = this.#here.get(keyOf(id));
		this.#use(id, here ?? found);
		if (here) return recallEntry(here.entry, { asked, lastEffect: here.isSettled ? asked : this.#lastEffect });
		if (!found) return { kind: "fresh" };
		const known = recallEntry(found.entry, { asked, lastEffect: this.#isSettled(found) ? asked : 0 });
		if (known.kind === "fresh" || known.kind === "in_doubt") return known;
		if (known.kind !== "failed") found.answer.usedBy = callOf(id);
		const { entry, revision } = (found.id.place && this.#sameText.get(found.id.place.chain)) ?? found;
		const { order = known.order } = entry;
		return { ...known, order, from: { seq: found.entry.outcome?.seq as Seq, edits: this.#edits.get(revision) ?? 1 } };
	}

	/** Notes what a call goes on with, or recalls. */
	#use(id: Identity, found: Remembered | undefined): void {
		if (isInner(id.lane)) {
			if (found) this.#recalled.add(this.#madeAt(found));
			return;
		}
		const call = callOf(id);
		const uses = new Set([ownerOf(this.#revision, call)]);
		for (const { number } of this.#continued.get(call) ?? []) uses.add(ownerOf(number, call));
		if (found) uses.add(ownerOf(found.revision, callOf(found.id)));
		this.#uses.set(call, uses);
	}

	/** The steps of this revision in one lane; inside a call that an earlier one has made or begun, those too. */
	*stepsIn(lane: string): Iterable<RecordedStep> {
		const here = [...this.#steps.stepsIn(lane)];
		yield* here;
		const known = new Set(here.flatMap(namesOf));
		let later = 0;
		for (const { steps } of (isInner(lane) && this.#continued.get(callIn(lane))) || []) {
			later += LATER;
			for (const step of steps.stepsIn(lane)) {
				// Of a round, the newest answer counts, whatever was asked.
				if (namesOf(step).some((name) => known.has(name))) continue;
				for (const name of namesOf(step)) known.add(name);
				yield { ...step, place: step.place && step.place + later, mayBeGone: undefined };
			}
		}
	}

	/**
	 * The revisions in which something was made inside a call, the newest first.
	 *
	 * @param found the same call in one of them, if it is recorded there
	 */
	#begunIn({ place, ...id }: Identity, found: Remembered | undefined): readonly Revision[] {
		const all = new Set<number>();
		const places = [place, found?.id.place].filter((each) => each !== undefined);
		// Those since have gone on with it, unless one of them was told something else, or has another call in its place.
		if (found) {
			const { revision } = found;
			for (let at = revision < this.#together ? revision : this.#revision - 1; at >= revision; at--)
				if (!this.#isOther(at, found, places)) all.add(at);
		}
		for (const { id: first, revision } of this.#firstInside.get(callOf(id)) ?? [])
			if (places.some((each) => isFirstInside(each, first))) all.add(revision);
		return [...all].sort((a, b) => b - a).flatMap((revision) => this.#byRevision.get(revision) ?? []);
	}

	/** Does a revision have another call under the key of this one, which has not gone on with it? */
	#isOther(revision: number, found: Remembered, places: readonly Place[]): boolean {
		const there = this.#byRevision.get(revision)?.calls.get(keyOf(found.id));
		if (there) {
			const { started } = there.entry;
			const isSame = there.answer === found.answer || (started !== undefined && started === found.entry.started);
			return !isSame && !places.some(({ chain }) => chain === there.id.place?.chain);
		}
		// Of a call that was cut there may be no record but of what is inside.
		const firsts = (this.#firstInside.get(callOf(found.id)) ?? []).filter((each) => each.revision === revision);
		return (
			firsts.length > 0 && !firsts.some(({ id }) => isGoneOn(id) || places.some((each) => isFirstInside(each, id)))
		);
	}

	/**
	 * The calls that an unchanged script has to ask for: those of this revision with an outcome or a start. Undefined: nobody knows, since
	 * the script has changed or records are gone.
	 */
	expected(): readonly Expected[] | undefined {
		if (!this.#isWhole) return undefined;
		const all = [...this.#here.values()].filter(
			({ entry }) => entry.order !== undefined || entry.started !== undefined,
		);
		const calls = all.filter(({ id }) => id.place && !isInner(id.lane));
		const asked = new Set(calls.filter(({ entry }) => !entry.mayBeGone).map(({ id }) => callOf(id)));
		// Inner steps of a call that was cut, or that may not be asked for again, count as such too.
		const inside = all.filter(({ id }) => isInner(id.lane) && !asked.has(callOf(id)));
		return [
			...calls.map((each) => expectedOf(each, each.entry.mayBeGone)),
			...inside.map((each) => expectedOf(each, true)),
		];
	}

	/** The newest call that was recorded at a position of a lane, whatever it was. */
	at(lane: string, at: number): Memory | undefined {
		return this.#byPosition.get(positionOf(lane, at));
	}

	/** The record of a call in this revision. */
	own(id: Identity): Memory | undefined {
		return this.#here.get(keyOf(id));
	}

	/** The newest call with the same kind, name and arguments that has a result, wherever it stands. */
	alike({ fp }: Pick<Identity, "fp">): JournalEntry | undefined {
		return this.#completed.get(fp)?.entry;
	}

	/**
	 * When the like of a call was told, for a preview of who comes first: what only an earlier revision was told came after all that a later
	 * one was told. Undefined: there was none.
	 */
	turnOf({ lane, fp, place }: Identity): number | undefined {
		const here = this.#byPosition.get(positionOf(lane, place?.at ?? 0));
		const like = here?.id.fp === fp ? here : (this.#completed.get(fp) ?? here);
		return like?.entry.order && LATER * (this.#revision - like.revision) + like.entry.order;
	}

	/** Calls of this revision that are recorded. */
	*calls(): Generator<Memory> {
		yield* this.#here.values();
	}

	/**
	 * An earlier effect with the same fingerprint, which a call would make a second time; or one of its name and lane that was made after
	 * the failure that the run had ended by, and that this one may be meant in the place of.
	 */
	effectLike(call: Identity): Memory | undefined {
		const { fp, name, lane } = call;
		const isMade = ({ id, entry }: Memory): boolean => startsDurably(id.purity) && entry.started !== undefined;
		// Those of another call of this text are its own.
		const others = [...this.#here].filter(([key]) => key !== keyOf(call) && this.#asked.has(key));
		const taken = new Set(others.map(([, { entry }]) => entry.started));
		const all = [...(this.#byFingerprint.get(fp) ?? []), ...this.#here.values()];
		const same = all.filter((each) => each.id.fp === fp && isMade(each) && !taken.has(each.entry.started));
		if (same[0]) return same.find(({ id }) => keyOf(id) === keyOf(call)) ?? same[0];
		const isLike = ({ id, entry, answer }: Remembered): boolean =>
			entry.mayBeGone === true && id.name === name && id.lane === lane && answer.usedBy === undefined;
		return this.#before.values().find((each) => isMade(each) && isLike(each));
	}

	/**
	 * The newest effect that an earlier revision has started inside a call that this one may stand for, and that it has not made again so
	 * far. That call is the same one; or, in a revision that had this one nowhere, one of its kind in its lane that this revision has not,
	 * or an equal one elsewhere.
	 */
	effectInside(id: Identity): Seq | undefined {
		const own = innerLane(id);
		const inLane = this.#effectsInside.get(id.lane) ?? [];
		const alike = this.#effectsInside.get(shortOf(own)) ?? [];
		const isOfThis = ({ call, revision }: EffectInside): boolean =>
			revision === this.#revision || (this.#continued.get(call) ?? []).some(({ number }) => number === revision);
		const had = new Set(inLane.filter(({ call }) => call === own).map(({ revision }) => revision));
		for (const { number, calls } of this.#byRevision.values()) if (calls.has(keyOf(id))) had.add(number);
		// Another call that this revision has goes on there.
		const isElsewhere = ({ call }: EffectInside): boolean => this.#answers.has(call) || this.#continued.has(call);
		const isLeft = (each: EffectInside): boolean =>
			!isOfThis(each) && (each.call === own || !(had.has(each.revision) || isElsewhere(each)));
		const isAlike = ({ call }: EffectInside): boolean => {
			// Only of an agent there may be no record but of what is inside.
			const { kind, name } = this.#calls.get(call) ?? { kind: "agent", name: id.name };
			return kind === id.kind && (kind === "agent" || name === id.name);
		};
		const made = stepsOf(inLane.filter((each) => each.call === own && isOfThis(each)));
		const left = new Set([...inLane.filter(isAlike), ...alike].filter(isLeft));
		const seqs = [...Map.groupBy(left, ({ revision }) => revision).values()].flatMap((of) =>
			[...stepsOf(of)].flatMap(([step, starts]) => starts.slice(made.get(step)?.length ?? 0)),
		);
		return seqs.length > 0 ? Math.max(...seqs) : undefined;
	}

	/**
	 * What was begun or paid for, and no call that was asked for stands for.
	 *
	 * @param named the seqs of effects that are told in another way
	 */
	left(named: ReadonlySet<Seq | undefined>): readonly Left[] {
		const all = new Map<string, MadeSoFar>();
		for (const [revision, calls] of this.#revisions())
			for (const each of calls.values()) if (isMade(each)) note(all, revision, each, this.#madeAt(each));
		const asked = [...this.#asked.values()].flatMap((id): (readonly [string, AskedCall])[] => {
			if (isInner(id.lane)) return [];
			const call = innerLane(id);
			return [[call, { id, uses: [...(this.#uses.get(call) ?? [])].flatMap((key) => all.get(key) ?? []) }]];
		});
		return leftOf([...all.values()], {
			asked: new Map(asked),
			recalled: this.#recalled,
			named,
			isLike: (a, b) => shortOf(a) === shortOf(b),
			standingOf,
			outerOf: ({ lane }) => (isInner(lane) ? callIn(lane) : undefined),
		});
	}

	/** The seq of what was made: of its start, or of its outcome, as that was recorded first. */
	#madeAt({ id, entry }: Remembered): Seq {
		if (entry.started !== undefined) return entry.started;
		let { adopts } = id as Adopting;
		for (let from = adopts; from !== undefined; from = (this.#byOutcome.get(from)?.id as Adopting | undefined)?.adopts)
			adopts = from;
		return adopts ?? entry.outcome?.seq ?? 0;
	}

	/** Was anything paid for inside an effect of this name? */
	paysInside(name: string): boolean {
		return this.#paidInside.has(name);
	}

	/** The calls of each revision, with the steps inside them. */
	*#revisions(): Generator<readonly [number, ReadonlyMap<string, Remembered>]> {
		for (const { number, calls } of this.#byRevision.values()) yield [number, calls];
		yield [this.#revision, this.#here];
	}

	/** Notes in a preview, where nothing is recorded, that the script is told an answer. @param isFound was it recorded by an earlier revision? */
	told(id: Identity, isFound: boolean): void {
		if (!this.#here.has(keyOf(id))) this.#heard(id, isFound);
	}

	/** Begins a revision, as a `script_started` or `script_resumed` record does; a preview calls it without a record. */
	begin({ run, reuse = this.#reuse, ...version }: Begun): void {
		this.#run = run;
		this.#reuse = reuse;
		const present = this.#versions.at(-1);
		// A run that goes on unchanged finds everything where it was.
		if (present && isSameVersion(present, version)) {
			this.#versions[this.#revision - 1] = version;
			return;
		}
		this.#byRevision.set(this.#revision, { number: this.#revision, calls: this.#here, steps: this.#steps });
		if (this.#isApart) {
			this.#before = new Map();
			this.#together = this.#revision;
		}
		for (const [key, each] of this.#here) this.#before.set(key, each);
		this.#isApart = false;
		this.#continued = new Map();
		const isSame = (revision: number): boolean => isSameVersion(this.#versions[revision - 1] as Version, version);
		const before = this.#versions.map((_, i) => i + 1).sort((a, b) => Number(isSame(b)) - Number(isSame(a)) || b - a);
		this.#edits = new Map(before.map((revision, i) => [revision, i + 1]));
		const ofSame = before.filter(isSame).reverse();
		this.#ofSameText = new Set(ofSame);
		this.#sameText = new Map(
			ofSame
				.flatMap((revision) => [...(this.#byRevision.get(revision)?.calls.values() ?? [])])
				.flatMap((each) => (each.id.place && each.entry.order ? [[each.id.place.chain, each] as const] : [])),
		);
		this.#versions.push(version);
		this.#revision = this.#versions.length;
		for (const each of this.#here.values()) {
			const { id, revision } = each;
			if (id.place?.at === 0 && isInner(id.lane)) push(this.#firstInside, id.lane, { id, revision });
			if (each.id.place) push(this.#byChain, each.id.place.chain, each);
			if (each.id.place) push(this.#byLoose, each.id.place.loose, each);
			push(this.#byFingerprint, each.id.fp, each);
		}
		for (const all of this.#byFingerprint.values()) for (const each of all) each.answer.usedBy = undefined;
		this.#here = new Map();
		this.#answers = new Map();
		this.#asked = new Map();
		this.#uses = new Map();
		this.#recalled = new Set();
		this.#steps = new Recorded();
	}

	/** May an effect rest on the world's answer of an earlier revision? */
	#isSettled({ entry, isSettled }: Remembered): boolean {
		return isSettled || this.#lastEffect > (entry.order ?? entry.outcome?.seq ?? 0);
	}

	/** Updates the entries of all calls, after an end or a changed world answer has changed what they mean. */
	#learnAll(): void {
		for (const each of this.#here.values()) each.entry = this.#steps.lookup(each.id) ?? each.entry;
	}

	/** The call of an earlier revision that another line of history knows more of; this one has not asked for it yet. */
	#learnedElsewhere(id: Identity & { readonly adopts?: Seq; readonly started?: Seq }): Remembered | undefined {
		if (id.adopts === undefined || this.#byOutcome.has(id.adopts)) return undefined;
		const own = this.#here.get(keyOf(id));
		if (own && own.entry.started === id.started) return undefined;
		const found = id.place && this.#byChain.get(id.place.chain)?.at(-1);
		return found && keyOf(found.id) === keyOf(id) ? found : undefined;
	}

	/** The same call in an earlier revision. */
	#earlier(id: Identity): Remembered | undefined {
		if (!id.place) return undefined;
		const key = keyOf(id);
		if (isInner(id.lane)) {
			for (const { calls } of this.#continued.get(callOf(id)) ?? []) {
				const inside = calls.get(key);
				if (inside) return inside;
			}
			return this.#byPlace(id, id.place) ?? this.#byContent(id, id.place);
		}
		const exact = this.#byPlace(id, id.place) ?? this.#afterFailure(id);
		const begun = this.#goOn(id, exact);
		// What was begun is gone on with: it is nearer than an equal call that is over.
		const isBegun = begun.length > 0 || this.#answers.has(callOf(id));
		const found = exact ?? (isBegun ? undefined : this.#byContent(id, id.place));
		if (found && found !== exact) this.#goOn(id, found);
		return found;
	}

	/** Notes what was made inside a call, and takes it for one that is not over. @returns the revisions that have it, the newest first */
	#goOn(id: Identity, found: Remembered | undefined): readonly Revision[] {
		const same = found && keyOf(found.id) === keyOf(id) ? found : undefined;
		const isOver = found !== undefined && isCompleted(found.entry);
		const begun = this.#begunIn(id, same).filter((revision) => isOver || this.#takes(id, revision));
		if (same || begun.length > 0) this.#continued.set(callOf(id), begun);
		return begun;
	}

	/** Takes what a revision has of a call, unless that was given to another one. @returns was it taken? */
	#takes(id: Identity, { number, calls }: Revision): boolean {
		const call = callOf(id);
		const first = this.#firstInside.get(call)?.find(({ revision }) => revision === number);
		const { answer } = calls.get(keyOf(id)) ?? (first && calls.get(keyOf(first.id))) ?? {};
		if (!answer) return true;
		const { usedBy = call } = answer;
		// What is recorded here already has an answer of its own.
		if (!this.#here.has(keyOf(id))) answer.usedBy = usedBy;
		return usedBy === call;
	}

	/** The newest with this chain whose answer is free; a text that is edited back has its own first. */
	#byPlace(id: Identity, { chain }: Place): Remembered | undefined {
		const free = this.#byChain.get(chain)?.filter((each) => isFree(each, id)) ?? [];
		const own = free.findLast(({ revision, entry }) => this.#ofSameText.has(revision) && isCompleted(entry));
		return own ?? free.at(-1);
	}

	#byContent(id: Identity, { loose }: Place): Remembered | undefined {
		if (this.#reuse === "prefix") return undefined;
		const isGiven = (each: Remembered): boolean =>
			isFree(each, id) && isCompleted(each.entry) && !this.#isOfEffect(each);
		const alike = this.#byLoose.get(loose)?.find(isGiven);
		if (alike) return alike;
		// Only model answers are found by content alone: an effect depends on more than its arguments.
		if (id.purity !== "llm") return undefined;
		return this.#byFingerprint.get(id.fp)?.find((each) => each.id.purity === "llm" && isGiven(each));
	}

	/** Is this a step inside an effect? That goes on with its own steps, whenever it is asked for: no other call is given them. */
	#isOfEffect({ id, revision }: Remembered): boolean {
		for (let lane = id.lane; isInner(lane); lane = laneOf(lane))
			if (this.#insideEffects.has(`${revision} ${lane}`)) return true;
		return false;
	}

	/**
	 * A call that was made after the failure that the run ended by. The call that had failed is made again, behind all that is recorded:
	 * where calls overlap, others that rest on it are then asked for in another order, and have another chain. As long as the script is
	 * told only what it was told before, they are the same, as they are in an unchanged text.
	 */
	#afterFailure(id: Identity): Remembered | undefined {
		const found = this.#isApart ? undefined : this.#before.get(keyOf(id));
		return found?.entry.mayBeGone && found.answer.usedBy === undefined ? found : undefined;
	}

	/**
	 * Notes that the script is told the outcome of a call.
	 *
	 * @param isFound is it recorded again from an earlier revision?
	 * @param entry what it is; undefined in a preview, where it is taken for what it was
	 */
	#heard(id: Identity, isFound: boolean, entry?: JournalEntry): void {
		if (this.#revision === 1 || !id.place || isInner(id.lane)) return;
		const before = this.#before.get(keyOf(id));
		const isSameCall = before?.id.place?.chain === id.place.chain || before?.entry.mayBeGone;
		const isSameEnd =
			before?.entry.order === undefined || !entry || isDeepStrictEqual(resultOf(before.entry), resultOf(entry));
		if (!isSameCall || !(isFound || isSameEnd)) this.#isApart = true;
	}

	/** The answer that a step belongs to. */
	#answerOf(id: Identity & { readonly adopts?: Seq }): Answer {
		const call = callOf(id);
		const adopted = id.adopts === undefined ? undefined : this.#byOutcome.get(id.adopts)?.answer;
		if (adopted) adopted.usedBy = call;
		const answer = adopted ?? this.#answers.get(call) ?? {};
		this.#answers.set(call, answer);
		return answer;
	}
}

const expectedOf = ({ id, entry }: Memory, mayBeGone: boolean | undefined): Expected => ({
	...id,
	place: entry.order,
	started: entry.started,
	after: entry.after,
	mayBeGone,
	isEffect: startsDurably(entry.purity),
	describe: () => describe(id),
});

/** More than any seq: what only an earlier revision was told is told after what this one was. */
const LATER = 2 ** 40;

interface Begun extends Version {
	readonly run: string;
	readonly reuse?: Reuse | undefined;
}

const resultOf = ({ outcome }: JournalEntry): unknown => (outcome?.type === "completed" ? outcome.kept : undefined);

const isCompleted = ({ outcome }: JournalEntry): boolean => outcome?.type === "completed";

const isPaid = ({ outcome }: JournalEntry): boolean => outcome?.type === "completed" && outcome.usage !== undefined;

/** Has it cost something, or may it have changed something? */
const isMade = ({ id, entry }: Remembered): boolean =>
	(id.kind !== "ask" && entry.started !== undefined) || isPaid(entry);

const ownerOf = (revision: number, call: string): string => `${revision} ${call}`;

/** May a call use this answer? */
const isFree = ({ answer: { usedBy } }: Remembered, id: Identity): boolean =>
	usedBy === undefined || usedBy === callOf(id);

/** Is this step recorded again from an earlier revision? */
const isGoneOn = (id: Identity & { readonly adopts?: Seq }): boolean => id.adopts !== undefined;

const keyOf = (id: Identity): string => `${id.lane} ${entryKey(id)}`;

/** The key of the script's call that a step is, or is an inner step of. */
const callOf = (id: Identity): string => (isInner(id.lane) ? callIn(id.lane) : innerLane(id));

/** The key of the script's call that a lane is inside of. */
const callIn = (lane: string): string => /^.*?\/[0-9a-f]{16}:\d+(?=\/|$)/.exec(lane)?.[0] ?? lane;

/** The lane that a call stands in, by its key. */
const laneOf = (call: string): string => call.slice(0, call.lastIndexOf("/"));

/** The fingerprint in the key of a call, cut as it is there. */
const shortOf = (call: string): string => /([0-9a-f]+):\d+$/.exec(call)?.[1] ?? "";

/** The newest start of each effect, by the step: calls that are alike make it once each. */
function stepsOf(effects: readonly EffectInside[]): ReadonlyMap<string, readonly Seq[]> {
	const newest = new Map(effects.map((each) => [`${each.call} ${each.step}`, each]));
	const steps = new Map<string, Seq[]>();
	for (const { step, seq } of newest.values()) push(steps, step, seq);
	return steps;
}

/** By what an inner step is known: its key, and in a loop its round. */
const namesOf = (step: RecordedStep): readonly string[] => [
	entryKey(step),
	...(step.round === undefined ? [] : [`round ${step.round}`]),
];

/** What a call stands for that was edited where it is. */
const standingOf = ({ lane, place, kind, name }: Identity): string => JSON.stringify([lane, place?.at, kind, name]);

const positionOf = (lane: string, at: number): string => `${lane} ${at}`;

/** Notes what was made by the call that it belongs to, in a revision. */
function note(all: Map<string, MadeSoFar>, revision: number, { id }: Remembered, seq: Seq): void {
	const call = callOf(id);
	const key = ownerOf(revision, call);
	const made = all.get(key) ?? { call, parts: new Map() };
	made.parts.set(seq, { seq, id });
	all.set(key, isInner(id.lane) ? made : { ...made, whole: { seq, id } });
}

function push<T>(all: Map<string, T[]>, key: string, item: T): void {
	const found = all.get(key);
	if (found) found.push(item);
	else all.set(key, [item]);
}
