/** A test suite that any store of snapshots has to pass. */
import { type BlobStore, codeOf, defineRecord, memoryEngine, openWal, type Seq, type Wal } from "@reyn/wal";
import type { Runner } from "@reyn/wal/testing";
import { z } from "zod";
import { collect } from "../collect.ts";
import type { View } from "../fold.ts";
import { List } from "../list.ts";
import { straightPath } from "../path.ts";
import { type AnyProjection, defineProjection } from "../projection.ts";
import { capture, restore, type Sources } from "../restore.ts";
import { SnapshotStore } from "../store.ts";

const said = defineRecord("said", z.object({ text: z.string() }));
const edited = defineRecord("edited", z.object({ at: z.int(), drop: z.int(), text: z.string() }));

/** A small state beside a list that grows, and is edited now and then. */
const talk = defineProjection({
	name: "talk",
	version: 1,
	schema: z.object({ words: z.int() }),
	lists: { texts: z.string() },
	init: () => ({ words: 0, texts: List.of<string>() }),
	handle: (on) => [
		on(said, ({ words, texts }, { text }) => ({ words: words + 1, texts: texts.append(text) })),
		on(edited, ({ words, texts }, { at, drop, text }) => ({ words, texts: texts.splice(at, drop, text) })),
	],
});

const scope = { agent: "default", session: "main" };

/**
 * Tests a blob store for what `capture`, `restore` and `collect` need; `make` gives an empty one. That acknowledged blobs survive, and
 * are whole, is tested by `testBlobs` of `@reyn/wal/testing`.
 */
export function testSnapshotStore(
	{ describe, test, expect }: Runner,
	name: string,
	make: () => Promise<BlobStore>,
): void {
	describe(`snapshots in ${name}`, () => {
		test("the state at any seq is the same from snapshots, and without", async () => {
			await using story = await tell(await make());
			for (const seq of [90, 200, 300]) await story.capture(seq);
			for (const seq of [0, 1, 89, 90, 91, 250, 300, 350]) expect(await story.hash(seq)).toEqual(await story.fold(seq));
		});

		test("a second snapshot shares what the first one stored; an edit and a compaction share nearly all", async () => {
			await using story = await tell(await make(), 5000);
			await story.capture(4000);
			const stored = [await story.chunks()];
			for (const change of [
				{ at: 2500, drop: 1 },
				{ at: 0, drop: 3000 },
			]) {
				const { seq, durable } = story.wal.append(edited({ ...change, text: "instead" }), scope);
				await durable;
				await story.capture(seq);
				stored.push(await story.chunks());
			}
			const [first = 0, second = 0, third = 0] = stored;
			expect(first > 60).toEqual(true);
			// The thousand texts after the first snapshot, eleven edits and the paths to them; then what the cut leaves on its edge.
			expect([first, second - first < 50, third - second < 6]).toEqual([first, true, true]);
			expect(await story.hash(story.wal.tip)).toEqual(await story.fold(story.wal.tip));
		});

		test("whichever blob is damaged or gone, the state is the same; it is set aside, and stored again when it is due", async () => {
			const blobs = await make();
			await using story = await tell(blobs);
			for (const seq of [200, 300]) await story.capture(seq);
			const expected = await story.fold(350);
			const all = await contentOf(blobs);
			for (const [name, bytes] of all) {
				if (name === "log") continue;
				for (const damage of damages(bytes)) {
					await fill(blobs, all);
					await (damage ? blobs.put(name, damage) : blobs.delete(name));
					const fresh = story.over(new SnapshotStore(blobs));
					expect([name, damage?.length, await fresh.hash(350)]).toEqual([name, damage?.length, expected]);
					// What was not needed was not found out either: it is where it was.
					const kept = (await blobs.get(`broken/${name}`)) ?? (await blobs.get(name));
					expect(kept && Uint8Array.from(kept)).toEqual(damage);
					await fresh.capture(300);
					await fresh.capture(350);
					const another = story.over(new SnapshotStore(blobs), { readsNothingBefore: 350 });
					expect([name, await another.hash(350)]).toEqual([name, expected]);
				}
			}
		});

		test("on a log that is only read, what is damaged stays where it is", async () => {
			const blobs = await make();
			await using story = await tell(blobs);
			await story.capture(300);
			const [root = ""] = await blobs.list("roots/");
			await blobs.put(root, new Uint8Array([1]));
			const reader = story.over(new SnapshotStore(blobs), { readOnly: true });
			expect(await reader.hash(350)).toEqual(await story.fold(350));
			expect([await blobs.list("roots/"), await blobs.list("broken/")]).toEqual([[root], []]);
		});

		test("the snapshots of another log are refused, and stay as they were", async () => {
			const blobs = await make();
			await using story = await tell(blobs);
			await story.capture(300);
			const before = await contentOf(blobs);
			await using other = await tell(blobs);
			const view = await story.view(300);
			expect(await codeThrownBy(() => other.view(300))).toEqual("SNAPSHOT_OTHER_LOG");
			expect(await codeThrownBy(() => other.captureOf(view))).toEqual("SNAPSHOT_OTHER_LOG");
			expect(await contentOf(blobs)).toEqual(before);
		});

		test("a snapshot that cannot be stored leaves the ones before it as they were", async () => {
			const blobs = await make();
			await using story = await tell(blobs);
			await story.capture(200);
			let rounds = 0;
			for (let code: unknown = "none yet"; code !== undefined; rounds++) {
				let left = rounds;
				const full = async (name: string, bytes: Uint8Array) => {
					if (left-- <= 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
					await blobs.put(name, bytes);
				};
				const fresh = story.over(new SnapshotStore(delegate(blobs, { put: full })));
				code = await codeThrownBy(() => fresh.capture(300));
				if (code !== undefined) expect(code).toEqual("SNAPSHOT_NOT_STORED");
				const without = code === undefined ? 300 : 200;
				const another = story.over(new SnapshotStore(blobs), { readsNothingBefore: without });
				expect(await another.hash(350)).toEqual(await story.fold(350));
			}
			expect(rounds > 2).toEqual(true);
		});

		test("a collection takes what no kept snapshot needs, and says before what it would take", async () => {
			const blobs = await make();
			await using story = await tell(blobs, 3000);
			await story.capture(2900);
			const { seq, durable } = story.wal.append(edited({ at: 10, drop: 2500, text: "compacted" }), scope);
			await durable;
			await story.capture(seq);
			for (const kept of [2900, seq]) {
				const gone = kept === seq ? 2900 : seq;
				const before = await contentOf(blobs);
				const keep = (_: unknown, at: Seq): boolean => at === kept;
				const planned = await collect(story.snapshots, { keep, dryRun: true });
				expect(await contentOf(blobs)).toEqual(before);
				expect([planned.roots, planned.chunks > 0, planned.damaged]).toEqual([[{ scope, seq: gone }], true, []]);
				expect(await collect(story.snapshots, { keep })).toEqual(planned);
				expect(await story.chunks()).toEqual(before.size - 3 - planned.chunks);
				expect(await collect(story.snapshots, { keep })).toEqual({ roots: [], chunks: 0, damaged: [] });
				const fresh = story.over(new SnapshotStore(blobs), { readsNothingBefore: kept });
				expect(await fresh.hash(kept)).toEqual(await story.fold(kept));
				// What was collected is stored again where it is needed again.
				await story.capture(gone);
				const again = story.over(new SnapshotStore(blobs), { readsNothingBefore: gone });
				expect(await again.hash(gone)).toEqual(await story.fold(gone));
			}
		});

		test("a view that lives on counts on no chunk that was collected or set aside meanwhile", async () => {
			const blobs = await make();
			await using story = await tell(blobs);
			const live = await story.view(200);
			await story.captureOf(live);
			await collect(story.snapshots, { keep: () => false });
			await story.captureOf(live);
			const fresh = story.over(new SnapshotStore(blobs), { readsNothingBefore: 200 });
			expect(await fresh.hash(200)).toEqual(await story.fold(200));
			const [chunk = ""] = await blobs.list("chunks/");
			await blobs.put(chunk, new Uint8Array([1]));
			// What is in memory is not read; a projection of its own reads it.
			expect(await story.hash(200)).toEqual(await story.fold(200));
			expect(await blobs.list("broken/")).toEqual([]);
			const stranger = story.over(story.snapshots, { projections: [{ ...talk, lists: { texts: z.string() } }] });
			expect(await stranger.hash(200)).toEqual(await story.fold(200));
			expect(await blobs.list("broken/")).toEqual([`broken/${chunk}`]);
			await story.captureOf(live);
			const another = story.over(new SnapshotStore(blobs), { readsNothingBefore: 200 });
			expect(await another.hash(200)).toEqual(await story.fold(200));
		});
	});
}

interface Reading {
	readonly readOnly?: boolean;
	/** Such a read fails: the snapshot has to be enough. */
	readonly readsNothingBefore?: Seq;
	/** Default: {@link talk}. */
	readonly projections?: readonly AnyProjection[];
}

class Story implements AsyncDisposable {
	readonly wal: Wal;
	readonly snapshots: SnapshotStore;
	readonly #blobs: BlobStore;
	readonly #reading: Reading;

	constructor(wal: Wal, blobs: BlobStore, snapshots: SnapshotStore, reading: Reading = {}) {
		this.wal = wal;
		this.snapshots = snapshots;
		this.#blobs = blobs;
		this.#reading = reading;
	}

	/** The same log over another store. */
	over(snapshots: SnapshotStore, reading: Reading = {}): Story {
		return new Story(this.wal, this.#blobs, snapshots, reading);
	}

	async capture(seq: Seq): Promise<void> {
		await this.captureOf(await this.view(seq));
	}

	async captureOf(view: View): Promise<void> {
		await capture(this.#sources(), view);
	}

	view(seq: Seq): Promise<View> {
		return restore(this.#sources(), straightPath(seq, scope));
	}

	async hash(seq: Seq): Promise<string> {
		return (await this.view(seq)).hash();
	}

	/** From the log alone. */
	async fold(seq: Seq): Promise<string> {
		return this.over(new SnapshotStore(nothing)).hash(seq);
	}

	async chunks(): Promise<number> {
		return (await this.#blobs.list("chunks/")).length;
	}

	#sources(): Sources {
		const { readOnly = false, readsNothingBefore = 0, projections = [talk] } = this.#reading;
		const read: Wal["read"] = (range = {}) => {
			const { after = 0, through = 0 } = range;
			if (after < readsNothingBefore - 1 || through < readsNothingBefore)
				throw new Error(`the log was read from ${after} on`);
			return this.wal.read(range);
		};
		const wal = { id: this.wal.id, tip: this.wal.tip, durableTip: this.wal.durableTip, read } as Wal;
		return { wal, snapshots: this.snapshots, projections, readOnly };
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.wal.close();
	}
}

/** A log of so many texts, with an edit now and then. */
async function tell(blobs: BlobStore, count = 350): Promise<Story> {
	const wal = await openWal(memoryEngine(), { records: [said, edited] });
	for (let n = 2; n <= count; n++) {
		const isEdit = n % 97 === 0;
		wal.append(isEdit ? edited({ at: n >> 1, drop: 2, text: `edit ${n}` }) : said({ text: `text ${n}` }), scope);
	}
	await wal.ready();
	await wal.append(said({ text: "last" }), scope).durable;
	return new Story(wal, blobs, new SnapshotStore(blobs));
}

const nothing: BlobStore = {
	put: async () => {},
	get: async () => undefined,
	list: async () => [],
	delete: async () => {},
};

const delegate = (blobs: BlobStore, changed: Partial<BlobStore>): BlobStore => ({
	put: (name, bytes) => blobs.put(name, bytes),
	get: (name) => blobs.get(name),
	list: (prefix) => blobs.list(prefix),
	delete: (name) => blobs.delete(name),
	...changed,
});

/** One byte other, the end missing, empty, gone. */
function damages(bytes: Uint8Array): (Uint8Array | undefined)[] {
	const flipped = Uint8Array.from(bytes, (byte, i) => (i === bytes.length >> 1 ? byte ^ 1 : byte));
	return [flipped, bytes.slice(0, -1), new Uint8Array(), undefined];
}

async function contentOf(blobs: BlobStore): Promise<Map<string, Uint8Array>> {
	const names = await blobs.list("");
	return new Map(
		await Promise.all(names.map(async (name) => [name, Uint8Array.from((await blobs.get(name)) ?? [])] as const)),
	);
}

async function fill(blobs: BlobStore, content: ReadonlyMap<string, Uint8Array>): Promise<void> {
	for (const name of await blobs.list("")) if (!content.has(name)) await blobs.delete(name);
	for (const [name, bytes] of content) await blobs.put(name, bytes);
}

async function codeThrownBy(work: () => Promise<unknown>): Promise<unknown> {
	try {
		await work();
		return undefined;
	} catch (error) {
		return codeOf(error) ?? error;
	}
}
