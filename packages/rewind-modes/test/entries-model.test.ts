/**
 * Random histories of a journal of entries, against a model that copies everything at each record: what a plan says is what its rewind
 * does, in memory and in a directory, with restarts, torn tails and lost records between. `REYN_RUNS` sets how many are told, `REYN_SEED`
 * the first one's seed.
 */
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSnapshots, memorySnapshots } from "@reyn/snapshot";
import { fileEngine, memoryEngine } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { openEntries } from "../src/entries/entries.ts";
import { type Entries, type EntriesPlan, type Entry, entryTypes } from "../src/entries/index.ts";
import { type Counts, type Facet, type RewindMode, rewindModes } from "../src/index.ts";

const own = { memo: "conversation", charge: "code", metric: "other" } as const;
const facets: Readonly<Record<string, Facet>> = { ...entryTypes, ...own, rewind: "conversation" };
const types = Object.keys(facets).filter((type) => type !== "rewind");
const processes = ["a", "a", "b"];

interface Item {
	readonly seq: number;
	readonly id: string;
	readonly facet: Facet;
}
/** The entries that count, by process. */
type State = Readonly<Record<string, readonly Item[]>>;

/** Copies the whole state at each record of the log, and takes a facet of a process from an older copy. */
class Model {
	/** By seq; where there is none, that of the seq before stands. */
	#states = new Map<number, State>([[0, { a: [], b: [] }]]);
	/** The entries of rewinds, which stay; by process. */
	rewinds: { readonly seq: number; readonly id: string; readonly processId: string }[] = [];

	at(seq: number): State {
		for (let at = seq; ; at--) {
			const state = this.#states.get(at);
			if (state) return state;
		}
	}

	get now(): State {
		return this.at(Math.max(...this.#states.keys()));
	}

	append({ id, processId }: Entry, facet: Facet): void {
		const item = { seq: seqOf(id), id, facet };
		this.#states.set(item.seq, { ...this.now, [processId]: [...(this.now[processId] ?? []), item] });
	}

	/** What a process has once the given facets are as of just before an entry. */
	rewound(processId: string, before: string, gone: readonly Facet[]): readonly Item[] {
		const of = (state: State, isGone: boolean) =>
			(state[processId] ?? []).filter(({ facet }) => gone.includes(facet) === isGone);
		return [...of(this.now, false), ...of(this.at(seqOf(before) - 1), true)].toSorted(
			(one, other) => one.seq - other.seq,
		);
	}

	reset({ id, processId }: Entry, items: readonly Item[]): void {
		this.rewinds.push({ seq: seqOf(id), id, processId });
		this.#states.set(seqOf(id), { ...this.now, [processId]: items });
	}

	/** The log has lost what came after a seq. */
	cut(seq: number): void {
		for (const at of [...this.#states.keys()]) if (at > seq) this.#states.delete(at);
		this.rewinds = this.rewinds.filter((each) => each.seq <= seq);
	}

	/** The ids that a process is to be read with. */
	shown(processId: string): readonly string[] {
		const resets = this.rewinds.filter((each) => each.processId === processId);
		return [...(this.now[processId] ?? []), ...resets]
			.toSorted((one, other) => one.seq - other.seq)
			.map(({ id }) => id);
	}
}

const drops: Readonly<Record<RewindMode, readonly Facet[]>> = {
	both: ["conversation", "code", "other"],
	conversation_only: ["conversation"],
	code_only: ["code"],
	summarize: [],
	cancel: [],
};

/** A journal that may be closed, spoilt and opened again. */
interface House {
	open(): Promise<Entries<string>>;
	/** What happens to the closed journal. @returns the last seq that is left */
	spoil?(random: Random): Promise<number>;
	remove(): Promise<void>;
}

const fold = {
	version: 1,
	init: () => "",
	next: (state: string, { id }: Entry) => `${state} ${id}`,
};
const options = { types: own, state: fold, snapshotDue: () => true };

function inMemory(): House {
	const [engine, snapshots] = [memoryEngine(), memorySnapshots()];
	return { open: () => openEntries(engine, snapshots, options), remove: async () => {} };
}

async function inFiles(): Promise<House> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-entries-"));
	const log = join(directory, "wal.jsonl");
	return {
		open: () => openEntries(fileEngine(directory), fileSnapshots(join(directory, "snapshots")), options),
		async spoil(random) {
			const text = await readFile(log, "utf8");
			const lines = text.split("\n").filter((line) => line.trim() !== "");
			const lastOf = (left: readonly string[]) => Number(JSON.parse(left.at(-1) ?? "{}").seq);
			// A record that was being written: nobody was told of it.
			if (random.chance(0.5)) {
				const torn = (lines.at(-1) ?? "").slice(0, 1 + random.below(60));
				await appendFile(log, torn);
				return lastOf(lines);
			}
			// As if nothing after some record had become durable.
			const left = lines.slice(0, lines.length - random.below(Math.min(6, lines.length - 2)));
			await writeFile(log, `${left.join("\n")}\n`);
			await rm(join(directory, "wal.head"), { force: true });
			return lastOf(left);
		},
		remove: () => rm(directory, { recursive: true, force: true }),
	};
}

const many = Number(process.env.REYN_RUNS ?? sample(60, 200));
const some = Number(process.env.REYN_RUNS ?? sample(12, 30));

test("in memory, a plan is what its rewind does, over restarts", () => tell(many, async () => inMemory()));

test("in a directory, a plan is what its rewind does, over restarts, torn tails and lost records", () =>
	tell(some, inFiles));

async function tell(histories: number, build: () => Promise<House>): Promise<void> {
	const done: Record<string, number> = Object.fromEntries(
		[...rewindModes, "undo", "back", "restart"].map((what) => [what, 0]),
	);
	for (let seed = SEED; seed < SEED + histories; seed++) {
		const random = seeded(seed);
		const house = await build();
		const model = new Model();
		let entries = await house.open();
		for (let step = 0; step < 14; step++) {
			const what = random.below(10);
			if (what < 5) await append(entries, model, random);
			else if (what < 8)
				for (const each of await rewind(entries, model, random, `seed: ${seed}`)) done[each] = (done[each] ?? 0) + 1;
			else if (what < 9) await entries.checkpoint({ processId: random.pick(processes) });
			else {
				await entries.close();
				const left = random.chance(0.7) ? await house.spoil?.(random) : undefined;
				if (left !== undefined) model.cut(left);
				entries = await house.open();
				done.restart = (done.restart ?? 0) + 1;
			}
			await compare(entries, model, `seed: ${seed}, step ${step}`);
		}
		await entries.close();
		await house.remove();
	}
	for (const [what, times] of Object.entries(done)) expect(times, what).toBeGreaterThan(histories / 10);
}

async function append(entries: Entries<string>, model: Model, random: Random): Promise<void> {
	for (let left = 1 + random.below(4); left > 0; left--) {
		const type = random.pick(types);
		model.append(await entries.append({ processId: random.pick(processes), type }), facets[type] ?? "other");
	}
}

/** @returns what was done, by name */
async function rewind(entries: Entries<string>, model: Model, random: Random, seed: string): Promise<string[]> {
	const processId = random.pick(processes);
	const shown = model.shown(processId);
	if (shown.length === 0) return [];
	// Rewinds are few, and targets too.
	const resets = model.rewinds.filter((each) => each.processId === processId);
	const isUndo = resets.length > 0 && random.chance(0.4);
	const beforeEntry = isUndo ? random.pick(resets).id : random.pick(shown);
	const mode = random.pick(rewindModes);
	const now = model.now[processId] ?? [];
	const after = model.rewound(processId, beforeEntry, drops[mode]);
	const without = (one: readonly Item[], other: readonly Item[]) => one.filter((item) => !other.includes(item));

	const affected = now.filter(({ seq }) => seq >= seqOf(beforeEntry));
	const plan = await entries.plan({ processId, beforeEntry, mode });
	const says: Partial<EntriesPlan> = {
		total: now.length,
		affected: countsOf(affected),
		dropped: countsOf(without(now, after)),
		restored: countsOf(without(after, now)),
		unclassified: affected.some(({ facet }) => facet === "other") ? ["metric"] : [],
	};
	expect(plan, seed).toMatchObject(says);
	if (random.chance(0.1)) {
		// Another process goes on; this one did not.
		const other = processId === "a" ? "b" : "a";
		model.append(await entries.append({ processId: other, type: "tool_call" }), "code");
	}
	const entry = await entries.apply({ processId, plan, actor: "ada" });
	if (mode === "cancel") expect(entry, seed).toBeUndefined();
	else if (mode === "summarize") model.append(entry as Entry, "conversation");
	else model.reset(entry as Entry, after);
	const isBack = without(after, now).length > 0;
	return [mode, ...(isUndo ? ["undo"] : []), ...(isBack ? ["back"] : [])];
}

async function compare(entries: Entries<string>, model: Model, seed: string): Promise<void> {
	for (const processId of ["a", "b"]) {
		const read: string[] = [];
		for await (const { id } of entries.read({ processId })) read.push(id);
		expect(read, seed).toEqual(model.shown(processId));
		const counting = (model.now[processId] ?? []).map(({ id }) => ` ${id}`).join("");
		expect(await entries.recover({ processId }), seed).toBe(counting);
	}
}

function countsOf(items: readonly Item[]): Counts {
	const count = (wanted: Facet) => items.filter(({ facet }) => facet === wanted).length;
	return { conversation: count("conversation"), code: count("code"), other: count("other"), all: items.length };
}

const seqOf = (id: string): number => Number(id.slice(1));
