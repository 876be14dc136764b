/**
 * Random histories of a whole timeline, with truncations, crashes and lost snapshots, against the model that copies
 * everything and forgets nothing. `REYN_RUNS` sets how many are told (default 1000), `REYN_SEED` which.
 */
import { defineProjection, memorySnapshots, SnapshotStore } from "@reyn/snapshot";
import {
	type BlobStore,
	type LogEngine,
	memoryBlobs,
	memoryEngine,
	type Scope,
	type Seq,
	scopeKey,
	within,
} from "@reyn/wal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { histories } from "../../../tests/sample.ts";
import { branchTree } from "../src/branches.ts";
import { label, openTimeline, reset, type Timeline, type UndoRules, type WholeLive } from "../src/index.ts";
import { Follower } from "./follower.ts";
import { expectSameIndex } from "./held-index.ts";
import {
	alice,
	answered,
	asked,
	bob,
	did,
	House,
	type HouseOptions,
	main,
	noted,
	notes,
	plan,
	said,
	side,
	story,
	waiting,
} from "./house.ts";
import { after, type Class, covers, type Entry, genesis, resetsOf, type State } from "./naive-model.ts";
import { RememberedMoves } from "./remembered-moves.ts";

const { numRuns: RUNS, seed } = histories(25, 400);

const scopes: readonly Scope[] = [{}, alice, main, plan, { ...main, run: "p2" }, side, bob];
const drops = [undefined, undefined, [said.kind], [did.kind, noted.kind], [said.kind, asked.kind], []];
const classesOf = (kinds: readonly { readonly kind: string }[]): readonly Class[] =>
	scopes.flatMap((scope) => kinds.map(({ kind }) => ({ scope, kind })));
/** Of lines of history. */
const lines = classesOf([said, did, asked, answered]);
const classes = [...lines, ...classesOf([noted])];

/** A second projection over other kinds: a snapshot holds both, and may start a fold only if it fits both. */
const questions = defineProjection<string[]>({
	name: "questions",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [on(asked, (state, { text }) => [...state, text])],
});
/** It counts facts among what was done, in order. */
const diary = defineProjection<string[]>({
	name: "diary",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [did, noted].map((kind) => on(kind, (state, { text }) => [...state, text])),
});
const projections = [story, questions, notes, diary, waiting];
/** All that ever was, whatever became of it; they are in no state of a line. */
const everSaid = defineProjection<string[]>({
	name: "ever_said",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	follows: "log",
	handle: (on) => [said, did, noted].map((kind) => on(kind, (state, { text }) => [...state, text])),
});
const everAsked = defineProjection<string[]>({
	name: "ever_asked",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	follows: "log",
	level: "session",
	handle: (on) => [asked, did].map((kind) => on(kind, (state, { text }) => [...state, text])),
});
const ofTheLog = [everSaid, everAsked];

/** A question begins a turn of a person, and a tool cycle that its answer ends; an answer is a move. */
const undoRules: UndoRules = {
	[asked.kind]: () => "turn",
	[answered.kind]: ({ scope }) => ({ takenBackBy: { scope } }),
};

type Command =
	| { readonly type: "write"; readonly scope: Scope; readonly kind: "say" | "do" | "ask" | "answer" | "note" }
	| { readonly type: "mark"; readonly scope: Scope; readonly of: Scope }
	| {
			readonly type: "go";
			readonly to: number;
			readonly scope: Scope;
			readonly drop: readonly string[] | undefined;
			readonly killed: boolean;
	  }
	| { readonly type: "label"; readonly to: number }
	| { readonly type: "undo" | "redo" }
	| { readonly type: "all to"; readonly verb: "undo" | "redo"; readonly steps: number }
	/** Now and then without the projection of facts alone. */
	| { readonly type: "restart"; readonly without: boolean }
	| { readonly type: "lose"; readonly which: number }
	/** Killed before the n-th change, if there are as many. */
	| { readonly type: "gc"; readonly keep: number; readonly killedAt: number | undefined };

const anyScope = fc.constantFrom(...scopes);
const anyGc: fc.Arbitrary<Command> = fc.record({
	type: fc.constant("gc" as const),
	keep: fc.constantFrom(1, 1, 1, 2, 3, 5),
	killedAt: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined, freq: 2 }),
});
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			type: fc.constant("write" as const),
			scope: anyScope,
			kind: fc.constantFrom("say", "say", "do", "do", "ask", "answer", "note"),
		}),
	},
	{ weight: 14, arbitrary: fc.record({ type: fc.constant("mark" as const), scope: anyScope, of: anyScope }) },
	{
		weight: 5,
		arbitrary: fc.record({
			type: fc.constant("go" as const),
			to: fc.nat(1_000),
			scope: fc.oneof(fc.constant({}), anyScope),
			drop: fc.constantFrom(...drops),
			killed: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
		}),
	},
	{ weight: 4, arbitrary: fc.record({ type: fc.constant("label" as const), to: fc.nat(1_000) }) },
	{ weight: 4, arbitrary: fc.record({ type: fc.constantFrom("undo" as const, "undo" as const, "redo" as const) }) },
	{
		weight: 2,
		arbitrary: fc.record({
			type: fc.constant("all to" as const),
			verb: fc.constantFrom("undo" as const, "undo" as const, "redo" as const),
			steps: fc.integer({ min: 1, max: 4 }),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ type: fc.constant("restart" as const), without: fc.boolean() }) },
	{ weight: 1, arbitrary: fc.record({ type: fc.constant("lose" as const), which: fc.nat(9) }) },
	{ weight: 3, arbitrary: anyGc },
);
const some = (maxLength: number) => fc.array(anyCommand, { minLength: 2, maxLength, size: "max" });
const anyLabel: fc.Arbitrary<Command> = fc.record({ type: fc.constant("label" as const), to: fc.nat(1_000) });
const anyHistory: fc.Arbitrary<Command[]> = fc.oneof(
	some(18),
	fc.tuple(some(8), anyGc, some(7), anyGc, some(5)).map((parts) => parts.flat()),
	// To labels before the cut and back again, until states mix lines that it has parted.
	fc.tuple(some(5), anyLabel, some(5), anyLabel, anyGc, some(20)).map((parts) => parts.flat()),
);

/** How often what was met, over all histories. */
const met = {
	undo: 0,
	fork_switch: 0,
	none: 0,
	cut: 0,
	"cut again": 0,
	"killed while cutting": 0,
	"gone to a label before the cut": 0,
	"asked for what was taken away": 0,
	"undone across a cut": 0,
	"no more to undo than before": 0,
	"not offered, and refused": 0,
	"several in one go": 0,
	"in a part, and refused": 0,
	"inside a tool cycle, and taken to before it": 0,
	"inside a tool cycle that was open at the cut": 0,
	"opened from a stored index": 0,
	"followed by a reader": 0,
	"too far ahead of a reader": 0,
	"counted of a class": 0,
};
/** In a part, to before the cut, and not refused; and refused though the state could have been made. */
const parts = { possible: 0, refusedForNothing: 0 };

test("after any history, every state of every scope is what the model has copied", async () => {
	await fc.assert(
		fc.asyncProperty(
			// Small numbers are no more telling than others.
			fc.noBias(anyHistory),
			fc.infiniteStream(fc.nat(2)),
			fc.constantFrom(1, 4),
			async (history, dice, segment) => {
				const world = await World.start(segment);
				for (const [i, command] of history.entries()) {
					await world.does(command, `t${i}`);
					await world.checkLiveViews();
				}
				await world.checkWhatIsKept();
				await world.checkEveryState(dice);
				await world.end();
			},
		),
		{ numRuns: RUNS, seed },
	);
	if (process.env.REYN_RUNS !== undefined) console.log({ ...met, ...parts });
	// Together they went everywhere: back, across, nowhere, and to where nothing is left.
	if (RUNS < 1000) return;
	expect(Math.min(...Object.values(met)), JSON.stringify(met)).toBeGreaterThan(RUNS / 250);
});

class World {
	#house!: House;
	/** The whole log, what was taken away too. */
	readonly #log: Entry[] = [];
	/** For every seq of it, genesis first. */
	readonly #states: State[] = [genesis(classes)];
	/** What was written by hand: the model never asks the log. */
	readonly #texts = new Map<Seq, string>();
	readonly #labels = new Map<string, Seq>();
	readonly #moves = new RememberedMoves();
	#retainedFrom = 1;
	/** Seqs before it that can be gone back to. */
	#below: ReadonlySet<Seq> = new Set();
	/** Where one goes from labels before it that lie inside a tool cycle. */
	readonly #snaps = new Map<Seq, Seq>();
	readonly #process = new Mortal();
	readonly #follower = new Follower();
	/** The house as whoever follows it has found it. */
	#read: House | undefined;
	#wholes: readonly WholeLive[] = [];
	#killed = false;
	#without = false;
	#options: HouseOptions = {};

	/** @param segment the log goes in steps of so many records */
	static async start(segment: number): Promise<World> {
		const world = new World();
		const blobs = memoryBlobs();
		world.#options = {
			projections: [...projections, ...ofTheLog],
			undoRules,
			partAfter: () => 3,
			engine: world.#process.engine(memoryEngine(), segment),
			snapshots: new SnapshotStore(world.#process.blobs(blobs)),
			kept: world.#process.blobs(memoryBlobs()),
			keptScopes: () => world.#known(),
			rebuild: async () => {
				if (world.#killed) throw new Error("killed");
			},
		};
		world.#house = await House.open(world.#options);
		await world.#moveIn();
		return world;
	}

	/** Another process over the same log. */
	async #restart({ without = this.#without }: { readonly without?: boolean } = {}): Promise<void> {
		this.#without = without;
		this.#house = await this.#house.reopen({
			...this.#options,
			projections: [...projections.filter((each) => !without || each !== notes), ...ofTheLog],
		});
		await this.#moveIn();
	}

	async #moveIn(): Promise<void> {
		await this.#sameIndex();
		await this.#house.timeline.settle();
		await this.#sameIndex();
		for (const scope of scopes) await this.#house.live(scope);
		// Stored with checkpoints while they are open.
		this.#wholes = [await this.#house.timeline.wholeLog.live(), await this.#house.timeline.wholeLog.live(main)];
		await this.#note();
	}

	/** Whatever is stored of it, however much was cut since, and whoever was killed. */
	async #sameIndex(): Promise<void> {
		const { wal, snapshots, kept } = this.#house;
		if ((await expectSameIndex({ wal, snapshots, kept, undoRules })) > 0) met["opened from a stored index"]++;
	}

	async end(): Promise<void> {
		await this.#sameIndex();
		await this.#follow();
		met["followed by a reader"] += this.#follower.met.refreshed;
		met["too far ahead of a reader"] += this.#follower.met.reopened;
		await this.#house.wal.close();
	}

	/** Those that have records, and the process. */
	#known(): readonly Scope[] {
		return scopes.filter((scope) => scope === scopes[0] || this.#log.some((entry) => within(entry.scope, scope)));
	}

	/** Takes note of what was written since, before anything can take it away. */
	async #note(): Promise<void> {
		for await (const record of this.#house.wal.read({ after: this.#log.length })) {
			const { seq, scope, kind } = record;
			const entry = reset.is(record)
				? { seq, scope, kind, target: record.data.target, ...(record.data.drop && { drop: record.data.drop }) }
				: { seq, scope, kind };
			this.#log.push(entry);
			this.#states.push(after(this.#states, entry));
			if (!label.is(record)) continue;
			if (record.data.gone) this.#labels.delete(record.data.name);
			else this.#labels.set(record.data.name, record.data.target);
		}
	}

	#isReachable(seq: Seq): boolean {
		return seq === 0 || seq >= this.#retainedFrom || this.#below.has(seq);
	}

	#reachable(): Seq[] {
		return this.#states.map((_, seq) => seq).filter((seq) => this.#isReachable(seq));
	}

	/** Mostly one that can be gone back to, now and then one of the few before the cut. */
	#seqFor(to: number): Seq {
		const { tip } = this.#house.wal;
		if (to % 8 === 0) return to % (tip + 1);
		const reachable = to % 4 === 1 && this.#below.size > 0 ? [...this.#below] : this.#reachable();
		return reachable[to % reachable.length] as Seq;
	}

	async does(command: Command, text: string): Promise<void> {
		const { timeline, snapshots } = this.#house;
		switch (command.type) {
			case "write": {
				const { scope, kind } = command;
				const said = kind === "answer" ? (this.#open(this.#states.at(-1), scope)[0] ?? text) : text;
				const seq = this.#house[kind](said, scope);
				this.#texts.set(seq, said);
				if (kind === "answer") this.#moves.made({ seq, scope });
				if (kind === "ask") this.#moves.began(scope, asked.kind);
				break;
			}
			case "mark":
				await this.#house.mark(text, command);
				break;
			case "restart":
				await this.#restart(command);
				break;
			case "lose": {
				const names = await snapshots.rootNames();
				const lost = names[command.which % names.length];
				if (lost !== undefined) await snapshots.setAside(lost);
				break;
			}
			case "label": {
				const target = this.#seqFor(command.to);
				const { tip } = this.#house.wal;
				const done = await timeline.label(target, text).catch((error: Error) => error);
				if (!this.#isReachable(target)) expect(done).toMatchObject({ code: "TIMETRAVEL_PRUNED" });
				else this.#moves.made({ seq: tip + 1, scope: {}, label: text, to: target });
				break;
			}
			case "undo":
			case "redo":
				await this.#step(command.type);
				break;
			case "all to":
				await this.#allTo(command.verb, command.steps);
				break;
			case "go":
				met[await this.#go(command, timeline)]++;
				break;
			case "gc":
				await this.#gc(command);
				break;
		}
		await this.#note();
		await this.#checkCounts();
		// Now and then it looks only once more was written.
		if (this.#log.length % 3 > 0) await this.#follow();
	}

	/** From somewhere to somewhere, in some scope: what is counted is what the model has there, and what a reading of it gives. */
	async #checkCounts(): Promise<void> {
		const { timeline } = this.#house;
		const tip = this.#log.length;
		const through = Math.max(tip - (tip % 3), this.#retainedFrom - 1);
		const after = Math.min((tip * 7) % (through + 1), through);
		const scope = scopes[tip % scopes.length] as Scope;
		const counted = await timeline.count(after, scope, through);
		const nameOf = (each: { readonly kind: string; readonly scope: Scope }) => `${each.kind} ${scopeKey(each.scope)}`;
		const read = new Map<string, number>();
		for await (const record of timeline.history(after, scope, through))
			read.set(nameOf(record), (read.get(nameOf(record)) ?? 0) + 1);
		expect(counted.map((each) => [nameOf(each), each.count])).toEqual([...read]);
		const from = Math.max(after, this.#retainedFrom - 1);
		for (const each of classes.filter((own) => within(own.scope, scope))) {
			const there = this.#states[through]?.get(each)?.filter((seq) => seq > from).length ?? 0;
			expect([nameOf(each), read.get(nameOf(each)) ?? 0]).toEqual([nameOf(each), there]);
			met["counted of a class"] += there;
		}
	}

	/** What another process sees that reads along, whatever this one does. */
	async #follow(): Promise<void> {
		const tip = this.#log.length;
		this.#read ??= this.#house;
		await this.#follower.follows(this.#read, [Math.ceil(tip / 2), tip - 1]);
	}

	/** To any seq there is; when killed, the reset is durable and the rebuild is left to the next process. */
	async #go(
		{ to, scope, drop, killed }: Command & { type: "go" },
		timeline: House["timeline"],
	): Promise<keyof typeof met> {
		const { wal } = this.#house;
		const asked = this.#seqFor(to);
		await this.#note();
		const target = drop?.length === 0 ? asked : this.#snapped(asked);
		const before = [...this.#log];
		const options = { scope, ...(drop && { drop }) };
		this.#killed = killed;
		const planned = await timeline.preview(asked, options).catch((error: Error) => error);
		const done = await timeline.checkout(asked, options).catch((error: Error) => error);
		this.#killed = false;
		await this.#note();
		if (planned instanceof Error) {
			expect([planned, done]).toMatchObject([{ code: "TIMETRAVEL_PRUNED" }, { code: "TIMETRAVEL_PRUNED" }]);
			expect(this.#log).toEqual(before);
			await this.#helps(planned, timeline, options);
			return this.#refused(target, options);
		}
		expect(this.#isReachable(target)).toBe(true);
		const where = { target, ...(target === asked ? {} : { snappedFrom: asked }) };
		expect(planned).toMatchObject(where);
		expect("snappedFrom" in planned).toBe(target !== asked);
		if (target !== asked) met["inside a tool cycle, and taken to before it"]++;
		if (planned.kind === "none") {
			expect([done, this.#log]).toEqual([{ kind: "none", seq: wal.tip, ...where }, before]);
			return "none";
		}
		const written = { seq: before.length + 1, scope, kind: reset.kind, target, ...(drop && { drop }) };
		expect(this.#log[before.length]).toEqual(written);
		this.#moves.made(written);
		if (this.#isMixed(target, options)) parts.possible++;
		if (killed) {
			expect(done).toMatchObject({ message: "killed" });
			await this.#restart();
		} else {
			expect(done).toEqual({ kind: planned.kind, seq: written.seq, ...where });
		}
		// What an undo goes back to is a beginning of what there was.
		if (planned.kind === "undo") {
			for (const each of classes.filter((own) => covers(written, own)))
				expect(this.#states[target]?.get(each)).toEqual(
					this.#states[before.length]?.get(each)?.filter((seq) => seq <= target),
				);
		}
		return target > 0 && target < this.#retainedFrom - 1 ? "gone to a label before the cut" : planned.kind;
	}

	/** What a refusal says that one may do instead can be done. */
	async #helps(error: Error, timeline: Timeline, { scope, drop }: Coverage): Promise<void> {
		const { target, from } = (error as unknown as { detail: { target?: Seq; from?: Seq } }).detail;
		if (target === undefined || from === undefined) return;
		await timeline.preview(target);
		for (const seq of [from, timeline.lineage.tip])
			if ((drop?.length === 0 ? seq : this.#snapped(seq)) >= from)
				await timeline.preview(seq, { scope, ...(drop && { drop }) });
	}

	/** Where a checkout goes to: to the newest seq before, of the same line, at which the session of the record has no open cycle. */
	#snapped(seq: Seq): Seq {
		const { agent, session } = this.#log[seq - 1]?.scope ?? {};
		if (agent === undefined || session === undefined || !this.#isReachable(seq)) return seq;
		const owner = { agent, session };
		if (seq < this.#retainedFrom) return this.#snaps.get(seq) ?? seq;
		if (this.#open(this.#states[seq], owner).length === 0) return seq;
		let at = seq - 1;
		while (!this.#isAncestor(at, seq, owner) || this.#open(this.#states[at], owner).length > 0) at--;
		if (at >= this.#retainedFrom - 1) return at;
		met["inside a tool cycle that was open at the cut"]++;
		return seq;
	}

	#isAncestor(seq: Seq, of: Seq, owner: Scope): boolean {
		return this.#linesOf(of, owner).every((line) => line.includes(seq));
	}

	/** All ancestors of a seq, for each class of a session. */
	#linesOf(of: Seq, owner: Scope): readonly (readonly Seq[])[] {
		const kinds = [said, did, asked, answered].map(({ kind }) => kind).concat("any other");
		const inOwner = scopes.filter((scope) => within(scope, owner));
		return inOwner.flatMap((scope) =>
			kinds.map((kind) => {
				const line: Seq[] = [];
				for (let at = of; at > 0; ) {
					line.push(at);
					const entry = this.#log[at - 1] as Entry;
					at = entry.target !== undefined && covers(entry, { scope, kind }) ? entry.target : at - 1;
				}
				return [...line, 0];
			}),
		);
	}

	/** The questions without an answer, of a state. */
	#open(state: State | undefined, scope: Scope): readonly string[] {
		const open: string[] = [];
		for (const [seq, kind] of this.#told(state, scope, [asked.kind, answered.kind])) {
			const text = this.#texts.get(seq) as string;
			if (kind === asked.kind) open.push(text);
			else if (open.includes(text)) open.splice(open.indexOf(text), 1);
		}
		return open;
	}

	/** The records of a state of some kinds, in order. */
	#told(state: State | undefined, scope: Scope, kinds: readonly string[]): readonly (readonly [Seq, string])[] {
		return classes
			.filter((each) => within(each.scope, scope) && kinds.includes(each.kind))
			.flatMap((each) => (state?.get(each) ?? []).map((seq) => [seq, each.kind] as const))
			.sort(([a], [b]) => a - b);
	}

	/** Does a reset take a part back to before the cut? */
	#isMixed(target: Seq, { scope, drop }: Coverage): boolean {
		return this.#retainedFrom > 1 && target < this.#retainedFrom && (scope !== scopes[0] || drop !== undefined);
	}

	#refused(target: Seq, { scope, drop }: Coverage): keyof typeof met {
		if (!this.#isReachable(target)) return "asked for what was taken away";
		const seq = this.#log.length + 1;
		const state = after(this.#states, { seq, kind: reset.kind, target, scope, ...(drop && { drop }) });
		if (scopes.every((scope) => this.#canBeMade(state, scope))) parts.refusedForNothing++;
		return "in a part, and refused";
	}

	/** Out of the state at a seq before the cut that is kept, and records after it that are there. */
	#canBeMade(state: State, scope: Scope): boolean {
		const wanted = this.#seqsOf(state, scope);
		return [0, ...this.#below].some((base) => {
			const had = this.#seqsOf(this.#states[base], scope);
			const rest = wanted.filter((seq) => seq > base);
			return (
				had.every((seq) => wanted.includes(seq)) &&
				had.length + rest.length === wanted.length &&
				rest.every((seq) => seq >= this.#retainedFrom)
			);
		});
	}

	#seqsOf(state: State | undefined, scope: Scope): readonly Seq[] {
		return lines.filter((each) => within(each.scope, scope)).flatMap((each) => state?.get(each) ?? []);
	}

	async #step(verb: "undo" | "redo"): Promise<void> {
		await this.#note();
		const before = this.#log.length;
		const move = this.#moves.next(verb);
		const needs = move && (move.label === undefined ? move.seq - 1 : verb === "redo" ? move.to : undefined);
		const done = await this.#house.timeline[verb]().catch((error: Error) => error);
		await this.#note();
		if (move === undefined || (needs !== undefined && !this.#isReachable(needs))) {
			expect(done).toMatchObject({ code: `NOTHING_TO_${verb.toUpperCase()}` });
			expect(this.#log).toHaveLength(before);
			if (move) met["no more to undo than before"]++;
			return;
		}
		if (done instanceof Error) {
			expect(done).toMatchObject({ code: "TIMETRAVEL_PRUNED" });
			expect(this.#log).toHaveLength(before);
			met[this.#refused(move.seq - 1, move)]++;
			return;
		}
		expect(done).toMatchObject({ seq: before + 1, of: move.seq });
		const { scope, drop } = move;
		expect(this.#log[before]).toEqual(
			move.label === undefined
				? { seq: before + 1, scope, kind: reset.kind, target: move.seq - 1, ...(drop && { drop }) }
				: { seq: before + 1, scope: {}, kind: label.kind },
		);
		this.#moves.stepped(verb, before + 1);
		if (move.seq < this.#retainedFrom) met["undone across a cut"]++;
	}

	/** What is offered can be done, in one go, and what is not is refused. */
	async #allTo(verb: "undo" | "redo", steps: number): Promise<void> {
		await this.#note();
		const { timeline } = this.#house;
		const before = this.#log.length;
		const stack = verb === "undo" ? this.#moves.past : this.#moves.future;
		const offered = (await timeline.moves())[verb === "undo" ? "past" : "future"].map(({ seq }) => seq);
		const left = stack.length - offered.length;
		expect(offered).toEqual(stack.slice(left).map(({ seq }) => seq));
		const beyond = stack[left - 1];
		if (beyond) {
			const refused = await timeline[verb]({ to: beyond.seq }).catch((error: { readonly code?: string }) => error.code);
			expect([`NOTHING_TO_${verb.toUpperCase()}`, "TIMETRAVEL_PRUNED"]).toContain(refused);
			met["not offered, and refused"]++;
		}
		const of = offered.slice(-steps).reverse();
		const to = of.at(-1);
		if (to === undefined) return;
		expect(await timeline[verb]({ to })).toMatchObject({ all: of, of: to });
		await this.#note();
		const written = this.#log.slice(before).filter(({ kind }) => kind === reset.kind || kind === label.kind);
		expect(written).toHaveLength(of.length);
		for (const { seq } of written) this.#moves.stepped(verb, seq);
		if (of.length > 1) met["several in one go"]++;
	}

	async #gc({ keep, killedAt }: Command & { type: "gc" }): Promise<void> {
		const { wal, timeline } = this.#house;
		await this.#note();
		const snaps = [...this.#labels.values()].map((seq) => [seq, this.#snapped(seq)] as const);
		const checkpoints = this.#log.filter(({ kind, seq }) => kind === "checkpoint" && seq >= this.#retainedFrom);
		const last = checkpoints.length > keep ? checkpoints.at(-keep)?.seq : undefined;
		const was = this.#retainedFrom;
		const next = last === undefined ? was : last + 1;
		const policy = { keepDays: 0, keepCheckpoints: keep, now: Number.MAX_SAFE_INTEGER };
		const planned = await timeline.gc({ ...policy, dryRun: true });
		expect([planned.was, planned.retainedFrom, wal.first]).toEqual([was, next, planned.first]);
		expect(timeline.retainedFrom).toBe(was);
		if (killedAt !== undefined) this.#process.dieAt(killedAt);
		const done = await timeline.gc(policy).catch((error: Error) => error);
		const { isDead } = this.#process;
		this.#process.live();
		if (isDead) {
			expect(done).toHaveProperty("message", expect.stringContaining("the process is dead"));
			await this.#restart();
			met["killed while cutting"]++;
		} else expect(done).toMatchObject({ was, retainedFrom: next, first: this.#house.wal.first, kept: planned.kept });
		const { retainedFrom } = this.#house.timeline;
		expect([was, next]).toContain(retainedFrom);
		expect(this.#house.wal.first).toBeLessThanOrEqual(retainedFrom);
		if (retainedFrom === was) return;
		met[was > 1 ? "cut again" : "cut"]++;
		this.#retainedFrom = retainedFrom;
		const below = snaps.filter(([seq]) => seq < retainedFrom);
		this.#below = new Set([retainedFrom - 1, ...below.flat()]);
		this.#snaps.clear();
		for (const [seq, to] of below) this.#snaps.set(seq, to);
	}

	/** Checkpoints, branches, labels, moves and what is active: as if nothing had been taken away, but for what went. */
	async checkWhatIsKept(): Promise<void> {
		const { timeline, wal } = this.#house;
		await this.#note();
		const now = this.#states.at(-1);
		const isActive = (entry: Entry) =>
			now?.get(classes.find((each) => isOf(entry, each)) as Class)?.includes(entry.seq);
		for (const entry of this.#log)
			if (entry.seq >= this.#retainedFrom && classes.some((each) => isOf(entry, each)))
				expect(timeline.lineage.isActive(entry), `seq ${entry.seq}`).toBe(isActive(entry));
		// A move that covers nothing begins no branch.
		const moves = resetsOf(this.#log).filter(({ drop }) => drop?.length !== 0);
		expect(timeline.branches()).toEqual(branchTree(moves, wal.tip));
		const checkpoints = timeline.checkpoints().map(({ seq }) => seq);
		expect(checkpoints).toEqual(
			this.#log.filter(({ kind, seq }) => kind === "checkpoint" && this.#isReachable(seq)).map(({ seq }) => seq),
		);
		for (const seq of checkpoints) expect(await timeline.preview(seq)).toMatchObject({ target: this.#snapped(seq) });
		const labels = [...this.#labels].map(([name, seq]) => ({ name, seq }));
		expect(await timeline.labels()).toEqual(labels.sort((a, b) => a.seq - b.seq));
		for (const seq of this.#labels.values()) expect(this.#isReachable(seq)).toBe(true);
		const { past, future } = await timeline.moves();
		for (const [found, all] of [
			[past, this.#moves.past],
			[future, this.#moves.future],
		] as const)
			expect(found.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq).slice(all.length - found.length));
	}

	async checkLiveViews(): Promise<void> {
		for (const scope of scopes)
			expect(told(await this.#house.live(scope))).toEqual(
				this.#modelled(this.#states.at(-1), scope).filter((_, i) => !this.#without || projections[i] !== notes),
			);
		for (const { scope, view } of this.#wholes)
			expect(view.get(scope.session === undefined ? everSaid : everAsked)).toEqual(this.#ever(this.#log.length, scope));
	}

	/** What was ever written, at a seq: no move changes it, and no cut. */
	#ever(seq: Seq, scope: Scope): readonly string[] {
		const kinds = scope.session === undefined ? [said, did, noted] : [asked, did];
		return this.#log
			.filter((each) => each.seq <= seq && within(each.scope, scope) && kinds.some(({ kind }) => kind === each.kind))
			.map((each) => this.#texts.get(each.seq) as string);
	}

	async #checkWholeLog(timeline: Timeline): Promise<void> {
		const { tip } = this.#house.wal;
		for (const scope of [{}, main, side, bob]) {
			const projection = scope.session === undefined ? everSaid : everAsked;
			for (const seq of [tip, Math.max(this.#retainedFrom - 1, tip - 3)]) {
				const view = await timeline.wholeLog.at(seq, scope);
				expect(view.get(projection), `the whole log at ${seq}`).toEqual(this.#ever(seq, scope));
			}
		}
	}

	/** Snapshots save time and nothing else: any of them may be missing, but for those that are kept. */
	async checkEveryState(dice: Iterator<number>): Promise<void> {
		if (this.#without) await this.#restart({ without: false });
		const { timeline } = this.#house;
		const throughThose = [timeline, await this.#poorer(dice), await this.#poorer()];
		for (const each of throughThose) await this.#checkWholeLog(each);
		for (const [seq, state] of this.#states.entries()) {
			if (!this.#isReachable(seq)) {
				await expect(timeline.at(seq, main)).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
				continue;
			}
			for (const scope of scopes)
				expect(told(await (throughThose[dice.next().value] as Timeline).at(seq, scope)), `seq ${seq}`).toEqual(
					this.#modelled(state, scope),
				);
		}
	}

	/** As another process sees it that has some of the snapshots, or none. */
	async #poorer(dice?: Iterator<number>): Promise<Timeline> {
		const { wal, snapshots, kept } = this.#house;
		const some = memorySnapshots();
		if (dice)
			for (const scope of scopes)
				for (const seq of await snapshots.roots(scope, true))
					if (dice.next().value > 0) await some.putRoot(scope, seq, (await snapshots.root(scope, seq)) as string);
		return openTimeline({ wal, snapshots: some, projections: [...projections, ...ofTheLog], kept });
	}

	#modelled(state: State | undefined, scope: Scope): readonly (readonly string[])[] {
		const texts = (kinds: readonly string[]) =>
			this.#told(state, scope, kinds).map(([seq]) => this.#texts.get(seq) as string);
		const folded = [[said.kind, did.kind], [asked.kind], [noted.kind], [did.kind, noted.kind]].map(texts);
		return [...folded, this.#open(state, scope)];
	}
}

interface Coverage {
	readonly scope: Scope;
	readonly drop?: readonly string[] | undefined;
}

/** A process that can be killed before any change that it makes to what is stored. */
class Mortal {
	#left = -1;
	isDead = false;

	dieAt(n: number): void {
		this.#left = n;
	}

	live(): void {
		this.#left = -1;
		this.isDead = false;
	}

	#step(): void {
		if (!this.isDead && --this.#left !== 0) return;
		this.isDead = true;
		throw new Error("the process is dead");
	}

	blobs(blobs: BlobStore): BlobStore {
		return {
			...blobs,
			put: async (name, bytes) => {
				this.#step();
				await blobs.put(name, bytes);
				this.#step();
			},
			delete: async (name) => {
				this.#step();
				await blobs.delete(name);
			},
		};
	}

	/** @param segment the log goes in steps of so many records */
	engine(engine: LogEngine, segment: number): LogEngine {
		return {
			...engine,
			log: (realm) =>
				new Proxy(engine.log(realm), {
					get: (log, name) => {
						if (name !== "truncateBefore") return Reflect.get(log, name).bind(log);
						return async (...[lease, seq]: Parameters<typeof log.truncateBefore>) => {
							this.#step();
							return log.truncateBefore(lease, seq - (seq % segment));
						};
					},
				}),
		};
	}
}

const isOf = (entry: Entry, each: Class): boolean =>
	entry.kind === each.kind && scopeKey(entry.scope) === scopeKey(each.scope);

function told(view: Awaited<ReturnType<House["live"]>>): readonly string[][] {
	return view.projections.map((each) => view.get(each));
}
