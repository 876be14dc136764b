/**
 * A runtime of one's own, put together from wal, snapshot, timetravel and journal as their READMEs say: what is known to have
 * happened is not made again, however often one goes back to where it had only begun, and wherever the process dies.
 */
import { journal, journalRecords, Lane, recall, type StepEvent, stepOutcomes, stepStarted } from "@reyn/journal";
import { memorySnapshots, type View } from "@reyn/snapshot";
import { openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { type Appended, type Appender, type Draft, fileEngine, openWal, type Scope, type Wal, type WalRecord } from "@reyn/wal";
import { type MemoryDisk, MortalDisk } from "@reyn/wal/testing";
import { expect, test } from "vitest";

const session: Scope = { agent: "clerk", session: "main" };

/** What is outside, and outlives every process. */
interface World {
	readonly disk: MemoryDisk;
	readonly snapshots: ReturnType<typeof memorySnapshots>;
	/** Each time that it was charged, by key. */
	readonly charged: string[];
	readonly told: StepEvent[];
	/** Resolves when the far side answers. */
	answers: Promise<void>;
}

const newWorld = (disk: MemoryDisk = new MortalDisk()): World => ({
	disk,
	snapshots: memorySnapshots(),
	charged: [],
	told: [],
	answers: Promise.resolve(),
});

/** The runtime: a job that charges and then mails, and goes on where it was. */
class Own {
	readonly world: World;
	wal!: Wal;
	timeline!: Timeline;
	#view!: View;
	#stop = new AbortController();

	private constructor(world: World) {
		this.world = world;
	}

	static async open(world: World): Promise<Own> {
		const own = new Own(world);
		own.wal = await openWal(fileEngine("/state", { disk: world.disk }), {
			records: [...journalRecords, ...timetravelRecords],
		});
		own.timeline = await openTimeline({
			wal: own.wal,
			snapshots: world.snapshots,
			projections: [journal],
			outcomes: stepOutcomes,
			// It stops its work, and does not wait for a far side that does not listen.
			quiesce: async () => own.#stop.abort(new Error("a rewind")),
			rebuild: async () => {
				own.#view = await own.timeline.at(own.wal.tip, session);
			},
		});
		await own.timeline.settle();
		own.#view = await own.timeline.at(own.wal.tip, session);
		return own;
	}

	async job(): Promise<string> {
		this.#stop = new AbortController();
		const { signal } = this.#stop;
		const handle = this.timeline.handle();
		const log: Appender = {
			append: (draft: Draft, at: Scope): Appended => {
				const appended = handle.append(draft, at);
				this.#view = this.#view.apply(appended.record);
				return appended;
			},
		};
		const lane = new Lane("job", session, {
			log,
			logId: this.wal.id,
			recall: (step) => recall(this.#view.get(journal), step),
			whenInDoubt: () => "retry",
			signal,
			observe: (event) => void this.world.told.push(event),
		});
		const receipt = await lane.perform({
			kind: "tool",
			name: "charge",
			args: {},
			purity: "side_effect",
			call: async ({ idempotencyKey = "" }) => {
				this.world.charged.push(idempotencyKey);
				await this.world.answers;
				return `receipt ${this.world.charged.length}`;
			},
		});
		return lane.perform({ kind: "tool", name: "mail", args: {}, purity: "side_effect", call: async () => receipt });
	}

	async records(): Promise<readonly WalRecord[]> {
		const all: WalRecord[] = [];
		for await (const record of this.wal.read()) all.push(record);
		return all;
	}

	async startOf(name: string): Promise<number> {
		const start = (await this.records()).find(({ kind, data }) => {
			return kind === stepStarted.kind && (data as { name: string }).name === name;
		});
		return start?.seq ?? 0;
	}
}

test("a rewind to the open start of an effect that is known to be over does not make it again", async () => {
	const world = newWorld();
	const own = await Own.open(world);
	expect(await own.job()).toBe("receipt 1");
	await own.timeline.checkout(await own.startOf("charge"));
	expect(await own.job()).toBe("receipt 1");
	expect(world.charged).toHaveLength(1);
	await own.wal.close();
});

test("an outcome that comes after the rewind is known where its start is", async () => {
	const world = newWorld();
	const far = Promise.withResolvers<void>();
	world.answers = far.promise;
	const own = await Own.open(world);
	const late = own.job().catch((error: unknown) => (error as { code?: unknown }).code);
	await until(() => world.charged.length === 1);
	await own.timeline.label(1, "before"); // a checkout of the tip does nothing
	await own.timeline.checkout(await own.startOf("charge"));
	far.resolve();
	expect(await late).toBe("STALE_LINEAGE");
	expect(await own.job()).toBe("receipt 1");
	expect(world.charged).toHaveLength(1);
	await own.wal.close();
});

/** A condition that needs no time, only turns of the event loop. */
async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
