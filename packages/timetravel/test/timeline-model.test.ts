/** Random histories of a whole timeline, with crashes and lost snapshots, against the model that copies everything. */
import { defineProjection, memorySnapshots } from "@reyn/snapshot";
import { type Scope, type Seq, scopeKey, within } from "@reyn/wal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { openTimeline, reset } from "../src/index.ts";
import { alice, asked, bob, collect, did, House, main, plan, said, side, story } from "./house.ts";
import { type Class, copyEverything, covers, type Entry } from "./naive-model.ts";

const runs = Number(process.env.REYN_RUNS ?? 150);
const timeout = 30_000 + runs * 200;

const scopes: readonly Scope[] = [{}, alice, main, plan, { ...main, run: "p2" }, side, bob];
const drops = [undefined, undefined, [said.kind], [did.kind], [said.kind, asked.kind], []];
const classes: readonly Class[] = scopes.flatMap((scope) => [said, did, asked].map(({ kind }) => ({ scope, kind })));

/** A second projection over other kinds: a snapshot holds both, and may start a fold only if it fits both. */
const questions = defineProjection<string[]>({
	name: "questions",
	version: 1,
	schema: z.array(z.string()),
	init: () => [],
	handle: (on) => [on(asked, (state, { text }) => [...state, text])],
});
const projections = [story, questions];

type Command =
	| { readonly type: "write"; readonly scope: Scope; readonly kind: "say" | "do" | "ask" }
	| { readonly type: "mark"; readonly scope: Scope; readonly of: Scope }
	| {
			readonly type: "go";
			readonly to: number;
			readonly scope: Scope;
			readonly drop: readonly string[] | undefined;
			readonly killed: boolean;
	  }
	| { readonly type: "restart" }
	| { readonly type: "lose"; readonly scope: Scope; readonly which: number };

const anyScope = fc.constantFrom(...scopes);
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			type: fc.constant("write" as const),
			scope: anyScope,
			kind: fc.constantFrom("say", "do", "ask"),
		}),
	},
	{ weight: 4, arbitrary: fc.record({ type: fc.constant("mark" as const), scope: anyScope, of: anyScope }) },
	{
		weight: 4,
		arbitrary: fc.record({
			type: fc.constant("go" as const),
			to: fc.nat(1_000),
			scope: fc.oneof(fc.constant({}), anyScope),
			drop: fc.constantFrom(...drops),
			killed: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ type: fc.constant("restart" as const) }) },
	{ weight: 1, arbitrary: fc.record({ type: fc.constant("lose" as const), scope: anyScope, which: fc.nat(9) }) },
);
const anyHistory = fc.array(anyCommand, { minLength: 4, maxLength: 18, size: "max" });

test("after any history, every state of every scope is what the model has copied", { timeout }, async () => {
	const met = { undo: 0, fork_switch: 0, none: 0 };
	await fc.assert(
		fc.asyncProperty(anyHistory, fc.infiniteStream(fc.boolean()), async (history, keep) => {
			const world = await World.start();
			for (const [i, command] of history.entries()) {
				const kind = await world.does(command, `t${i}`);
				if (kind) met[kind]++;
				await world.checkLiveViews();
			}
			await world.checkEveryState();
			await world.checkWithSomeSnapshots(keep);
			await world.end();
		}),
		{ numRuns: runs },
	);
	// The histories went everywhere: back, across, and nowhere.
	expect(Math.min(met.undo, met.fork_switch, met.none)).toBeGreaterThan(runs / 50);
});

class World {
	#house!: House;
	/** What was written by hand: the model never asks the log. */
	readonly #texts = new Map<Seq, string>();
	#killed = false;

	static async start(): Promise<World> {
		const world = new World();
		const rebuild = async () => {
			if (world.#killed) throw new Error("killed");
		};
		world.#house = await House.open({ projections, rebuild });
		await world.#moveIn();
		return world;
	}

	/** Another process over the same log. */
	async #restart(): Promise<void> {
		this.#house = await this.#house.reopen();
		await this.#moveIn();
	}

	async #moveIn(): Promise<void> {
		await this.#house.timeline.settle();
		for (const scope of scopes) await this.#house.live(scope);
	}

	end(): Promise<void> {
		return this.#house.wal.close();
	}

	async does(command: Command, text: string): Promise<"undo" | "fork_switch" | "none" | undefined> {
		const { timeline, snapshots } = this.#house;
		switch (command.type) {
			case "write":
				this.#texts.set(this.#house[command.kind](text, command.scope), text);
				return;
			case "mark":
				await this.#house.mark(text, command);
				return;
			case "restart":
				await this.#restart();
				return;
			case "lose": {
				const names = await snapshots.rootNames();
				const lost = names[command.which % names.length];
				if (lost !== undefined) await snapshots.setAside(lost);
				return;
			}
			case "go":
				return this.#go(command, timeline);
		}
	}

	/** To any seq there is; when killed, the reset is durable and the rebuild is left to the next process. */
	async #go(
		{ to, scope, drop, killed }: Command & { type: "go" },
		timeline: House["timeline"],
	): Promise<"undo" | "fork_switch" | "none"> {
		const { wal } = this.#house;
		const target = to % (wal.tip + 1);
		const before = await this.#entries();
		this.#killed = killed;
		const planned = await timeline.preview(target, { scope, ...(drop && { drop }) });
		const done = await timeline.checkout(target, { scope, ...(drop && { drop }) }).catch((error: Error) => error);
		this.#killed = false;
		if (planned.kind === "none") {
			expect([done, await this.#entries()]).toEqual([{ kind: "none", seq: wal.tip, target }, before]);
			return "none";
		}
		const written = { seq: before.length + 1, scope, kind: reset.kind, target, ...(drop && { drop }) };
		expect((await this.#entries()).slice(before.length, before.length + 1)).toEqual([written]);
		if (killed) {
			expect(done).toMatchObject({ message: "killed" });
			await this.#restart();
		} else {
			expect(done).toEqual({ kind: planned.kind, seq: written.seq, target });
		}
		// What an undo goes back to is a beginning of what there was.
		if (planned.kind === "undo") {
			const states = copyEverything(before, classes);
			for (const each of classes.filter((own) => covers(written, own)))
				expect(states[target]?.get(each)).toEqual(
					states
						.at(-1)
						?.get(each)
						?.filter((seq) => seq <= target),
				);
		}
		return planned.kind;
	}

	async checkLiveViews(): Promise<void> {
		const state = copyEverything(await this.#entries(), classes).at(-1);
		for (const scope of scopes) expect(told(await this.#house.live(scope))).toEqual(this.#modelled(state, scope));
	}

	async checkEveryState(): Promise<void> {
		const { timeline } = this.#house;
		for (const [seq, state] of copyEverything(await this.#entries(), classes).entries())
			for (const scope of scopes) expect(told(await timeline.at(seq, scope))).toEqual(this.#modelled(state, scope));
	}

	/** Snapshots save time and nothing else: any of them may be missing. */
	async checkWithSomeSnapshots(keep: Iterator<boolean>): Promise<void> {
		const { wal, snapshots, timeline } = this.#house;
		const some = memorySnapshots();
		for (const scope of scopes)
			for (const seq of await snapshots.roots(scope, true))
				if (keep.next().value) await some.putRoot(scope, seq, (await snapshots.root(scope, seq)) as string);
		const poorer = await openTimeline({ wal, snapshots: some, projections });
		const bare = await openTimeline({ wal, snapshots: memorySnapshots(), projections });
		for (const scope of scopes) {
			const hashes = [timeline, poorer, bare].map(async (each) => (await each.at(wal.tip, scope)).hash());
			expect(new Set(await Promise.all(hashes)).size, scopeKey(scope)).toBe(1);
		}
	}

	#modelled(state: ReadonlyMap<Class, readonly Seq[]> | undefined, scope: Scope): readonly string[][] {
		const texts = (kinds: readonly string[]) =>
			classes
				.filter((each) => within(each.scope, scope) && kinds.includes(each.kind))
				.flatMap((each) => state?.get(each) ?? [])
				.sort((a, b) => a - b)
				.map((seq) => this.#texts.get(seq) as string);
		return [texts([said.kind, did.kind]), texts([asked.kind])];
	}

	/** The log as the model reads it: seq, class, and where a reset went. */
	async #entries(): Promise<Entry[]> {
		const records = await collect(this.#house.wal.read());
		return records.map((record) => {
			const { seq, scope, kind } = record;
			if (!reset.is(record)) return { seq, scope, kind };
			const { target, drop } = record.data;
			return { seq, scope, kind, target, ...(drop && { drop }) };
		});
	}
}

function told(view: Awaited<ReturnType<House["live"]>>): readonly string[][] {
	return [view.get(story), view.get(questions)];
}
