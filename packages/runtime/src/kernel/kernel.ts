/** What every kind of work stands on: one log, its timeline, the sessions over it, and what features do in them. */
import {
	type GatedCall,
	type ModelPolicy,
	type StepEvent,
	stepOutcomes,
	stepPorts,
	type Using,
	type Verdict,
} from "@reyn/journal";
import { SnapshotStore } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import { checkpoint, openTimeline, type RetentionPolicy, reset, type Timeline } from "@reyn/timetravel";
import {
	type BlobStore,
	type Clock,
	type Ids,
	openWal,
	randomIds,
	type Scope,
	type Seq,
	systemClock,
	systemTimers,
	type Timers,
	type Wal,
	type WalRecord,
} from "@reyn/wal";
import { redacted } from "../redaction/redact.ts";
import { type Collection, collectArtifacts } from "../stores/artifacts.ts";
import { Beside } from "../stores/beside.ts";
import type { Agents } from "./agents.ts";
import { type Composition, compose } from "./compose.ts";
import { DiskSpace } from "./disk-space.ts";
import { RuntimeError } from "./errors.ts";
import type { KernelEvent } from "./events.ts";
import type { Agent, Feature, FeatureHost, Frame, Kernel, Piece } from "./feature.ts";
import { Meter, type MeterReading } from "./meter.ts";
import { Pump, type Subscription, type Tell, type Told } from "./pump.ts";
import { asNotQuiet, rebuild } from "./rewind.ts";
import type { Service } from "./services.ts";
import type { Session } from "./session.ts";
import { keptScopes, mainSession, Sessions } from "./sessions.ts";
import { isSame } from "./settle.ts";
import { RESULTS, type Store } from "./store.ts";
import { kindsOf } from "./work.ts";

export interface KernelOptions {
	readonly store: Store;
	readonly features: readonly Feature[];
	readonly readOnly?: boolean | "as recovered" | undefined;
	readonly clock?: Clock | undefined;
	readonly ids?: Ids | undefined;
	readonly timers?: Timers | undefined;
	readonly random?: (() => number) | undefined;
	readonly modelPolicy?: ModelPolicy | undefined;
	/** How long a rewind waits for work to stop, in milliseconds. Default: 5000. */
	readonly quietMs?: number | undefined;
	/** Takes out of a record what must not be written. */
	redact?: ((text: string) => string) | undefined;
	readonly agents: Agents;
	/** Told of all that happens from now on, in the process that writes. Default: nobody. */
	emit?: (<Event extends { readonly type: string }>(event: Event) => void) | undefined;
}

/** How far `gc` goes, and whether it only says so. */
export type CollectionPolicy = Omit<RetentionPolicy, "now"> & {
	/** Only say what would go. Default: false. */
	readonly dryRun?: boolean;
};

/**
 * Opens a state and restores what is in it. Nothing runs yet.
 *
 * @throws RuntimeError `RUNTIME_FEATURES`; WalError, SnapshotError, TimetravelError as their packages say; nothing is changed then
 */
export async function openKernel(options: KernelOptions): Promise<OpenKernel> {
	const { store, readOnly = false, clock, ids, redact } = options;
	const composition = compose(options.features);
	await store.check?.();
	// Until the kernel is there, and before all that waits for the log.
	const opened: { kernel?: OpenKernel } = {};
	const space = new DiskSpace((event) => (opened.kernel ? opened.kernel.emitAtOnce(event) : options.emit?.(event)));
	const wal = await openWal(store.engine, {
		realm: store.realm,
		records: composition.records,
		readOnly,
		...(clock && { clock }),
		...(ids && { ids }),
		// The log is locked by now: nobody takes it over meanwhile.
		proven: (logId) => newestSnapshot(new SnapshotStore(store.blobs(SNAPSHOTS)), logId, [mainSession]),
		redact: (draft) => redacted(draft, redact),
		onFull: (why) => space.heard(why),
	});
	const kernel = await startKernel(options, { composition, space, wal });
	opened.kernel = kernel;
	return kernel;
}

/** What a kernel is made of. */
export interface KernelParts {
	readonly composition: Composition;
	readonly space: DiskSpace;
	readonly wal: Wal;
}

const [SNAPSHOTS, KEPT] = ["snapshots", "kept"];

/** Takes over the log: it is closed if this fails. */
export async function startKernel(options: KernelOptions, parts: KernelParts): Promise<OpenKernel> {
	const { composition, wal } = parts;
	const { store, readOnly = false } = options;
	try {
		const timeline = await openTimeline({
			wal,
			snapshots: new SnapshotStore(store.blobs(SNAPSHOTS)),
			projections: composition.projections,
			readOnly: readOnly !== false,
			kept: store.blobs(KEPT),
			known: kindsOf(composition.records),
			keptKinds: composition.keeps,
			keptScopes,
			undoRules: composition.undo,
			outcomes: stepOutcomes,
			begins: composition.begins,
			...(options.quietMs !== undefined && { quietMs: options.quietMs }),
			// A snapshot is a shortcut: no turn, plan or run is given up for the want of one.
			snapshotFailed: ({ code, message: reason }) =>
				options.emit?.({ type: "snapshot_failed", code, reason } satisfies KernelEvent),
		});
		const kernel = new OpenKernel(options, parts, timeline);
		await kernel.sessions.open();
		if (!readOnly) await timeline.settle();
		kernel.listen();
		return kernel;
	} catch (error) {
		await wal.close();
		throw error;
	}
}

export class OpenKernel implements Kernel {
	readonly wal: Wal;
	readonly timeline: Timeline;
	readonly sessions: Sessions;
	readonly space: DiskSpace;
	readonly store: Store;
	readonly results: BlobStore;
	readonly composition: Composition;
	readonly isReadOnly: boolean;
	readonly ids: Ids;
	readonly clock: Clock;
	readonly timers: Timers;
	readonly modelPolicy: ModelPolicy | undefined;
	readonly redact: ((text: string) => string) | undefined;
	readonly #options: KernelOptions;
	readonly #beside: Beside;
	readonly #meter = new Meter();
	readonly #hosts = new Map<Feature, FeatureHost>();
	readonly #services = new Map<string, unknown>();
	readonly #pump: Pump;
	/** Resolves when `emit` has been told up to a seq. */
	#reaches: (seq: Seq) => Promise<void> = () => Promise.resolve();
	#isClosing = false;
	/** Has it been told to go on with what was in flight? */
	#isGoing = false;
	/** Each resolves when something is over that ends or moves something. */
	readonly #ending = new Set<Promise<void>>();
	/** Resolves when no `gc` is under way. */
	#collecting: Promise<unknown> = Promise.resolve();

	/** Use {@link openKernel}. */
	constructor(options: KernelOptions, { composition, space, wal }: KernelParts, timeline: Timeline) {
		const { ids = randomIds, clock = systemClock, timers = systemTimers, modelPolicy, redact } = options;
		this.#options = options;
		this.wal = wal;
		this.timeline = timeline;
		this.space = space;
		this.store = options.store;
		this.#beside = new Beside(this.store);
		this.composition = composition;
		const tells: Tell[] = [tellOwn, ...options.features.flatMap((each) => each.tell?.bind(each) ?? [])];
		this.#pump = new Pump({ wal, timeline, tells, blobs: (area) => this.blobs(area), isFull: () => space.isFull });
		this.isReadOnly = (options.readOnly ?? false) !== false;
		[this.ids, this.clock, this.timers] = [ids, clock, timers];
		this.modelPolicy = modelPolicy;
		this.redact = redact && ((text) => redact(text));
		this.results = this.blobs(RESULTS);
		const { begins } = composition;
		this.sessions = new Sessions({ timeline, begins, assertOpen: () => this.assertOpen() });
		timeline.attend({
			quiet: async ({ coverage }) => this.sessions.hold(coverage),
			rebuild: (move) =>
				rebuild(this.sessions, move, { timeline, features: options.features, relaunch: this.#relaunch }),
		});
		for (const feature of options.features) {
			const host = feature.start(this);
			this.#hosts.set(feature, host);
			for (const { key, value } of host.services ?? []) this.#services.set(key.service, value);
		}
	}

	/** What a feature of this kernel has made of it. */
	hostOf<Host extends FeatureHost>(feature: Feature<Host>): Host {
		return this.#hosts.get(feature) as Host;
	}

	blobs(area: string): BlobStore {
		return this.#beside.blobs(area);
	}

	get<T>(key: Service<T>): T {
		if (this.#services.has(key.service)) return this.#services.get(key.service) as T;
		throw new RuntimeError(
			"RUNTIME_NO_SERVICE",
			`no feature has provided the service ${key.service} so far; name it in \`needs\``,
			{ service: key.service },
		);
	}

	get features(): readonly Feature[] {
		return this.#options.features;
	}

	get meter(): MeterReading {
		return this.#meter.read();
	}

	agent({ agent = mainSession.agent }: Scope): Agent {
		return this.#options.agents.of(agent);
	}

	tools(frame: Frame): ReturnType<Kernel["tools"]> {
		const offered = [...this.#hosts.values()].flatMap((host) => host.tools?.(frame) ?? []);
		return [...this.agent(frame.session.scope).tools, ...offered];
	}

	get #isGated(): boolean {
		return [...this.#hosts.values()].some((host) => host.gate);
	}

	/** Goes on with all that runs by itself, in the order of the features. Paused work stays paused. */
	resume(): void {
		this.#isGoing = true;
		this.#goOnWith(() => true);
	}

	find(which: Pick<Piece, "kind" | "id">): Piece | undefined {
		for (const { view } of this.sessions)
			for (const feature of this.#hosts.keys()) {
				const found = feature.pieces?.(view).find((piece) => isSame(piece, which));
				if (found) return found;
			}
		return undefined;
	}

	goOn(which: Pick<Piece, "kind" | "id">): void {
		this.#goOnWith((piece) => isSame(piece, which));
	}

	#goOnWith(isMeant: (piece: Piece) => boolean): void {
		for (const session of this.sessions)
			for (const [feature, host] of this.#hosts)
				for (const piece of feature.pieces?.(session.view) ?? [])
					if (isMeant(piece) && (piece.status === "running" || piece.status === "ending")) host.goOn?.(session, piece);
	}

	#goOn(session: Session, piece: Piece): void {
		for (const [feature, host] of this.#hosts)
			if (feature.pieces?.(session.view).some((each) => isSame(each, piece))) host.goOn?.(session, piece);
	}

	/** Where nobody has told this process to go on, what has not begun in it waits, as it would have without the rewind. */
	#relaunch = (session: Session, piece: Piece): void => {
		if (this.#isGoing || session.hasBegun(piece.work)) this.#goOn(session, piece);
	};

	/** All have to let a call pass. */
	async #gate(session: Session, call: GatedCall): Promise<Verdict> {
		for (const host of this.#hosts.values()) {
			if (!host.gate) continue;
			const verdict = await host.gate(session, call);
			// What is no verdict lets nothing pass.
			if (verdict?.kind !== "pass") return verdict;
		}
		return { kind: "pass" };
	}

	using(session: Session, signal: AbortSignal): Using {
		const { clock, timers, modelPolicy, random, redact } = this.#options;
		return stepPorts(session, {
			wal: this.wal,
			signal,
			...(this.#isGated && { gate: (call) => this.#gate(session, call) }),
			observe: (event) => this.#observe(session.scope, event),
			results: this.results,
			...(redact && { redact }),
			...(random && { random }),
			clock,
			timers,
			modelPolicy,
		});
	}

	#observe(scope: Scope, event: StepEvent): void {
		this.#meter.observe(event);
		if (event.type === "no_space") {
			this.space.waiting(`${event.name} (${event.lane})`, "result", event.code, event.reason);
			return;
		}
		const told = toldOf(scope, event);
		if (told) this.emit(told);
	}

	emit<Event extends { readonly type: string }>(event: Event): void {
		this.#pump.say(event);
	}

	/** Tells what cannot wait for the log. */
	emitAtOnce(event: KernelEvent): void {
		this.#pump.sayAtOnce(event);
	}

	/** From now on `emit` is told what happens. Who only reads asks for it. */
	listen(): void {
		const { emit } = this.#options;
		if (emit && !this.isReadOnly) this.#reaches = this.#pump.attach((event) => emit(event));
	}

	subscribe(how?: Subscription): AsyncGenerator<Told> {
		return this.#pump.subscribe(how);
	}

	told(): Promise<void> {
		return this.#reaches(this.wal.durableTip);
	}

	saved(calls: number, tokens: number): void {
		this.#meter.replayed(calls, tokens);
	}

	/** What a person asks for from now on belongs to where this leads. */
	async move<T>(move: () => Promise<T>): Promise<T> {
		this.assertOpen();
		return this.toItsEnd(async () => {
			const moved = move().catch((error: unknown) => {
				throw asNotQuiet(error);
			});
			this.sessions.begin(moved);
			try {
				return await moved;
			} finally {
				// Whoever has moved has heard what that has stopped.
				await this.#toldOfAll();
			}
		});
	}

	async toItsEnd<T>(act: () => Promise<T>): Promise<T> {
		const acted = act();
		const ended = acted.then(
			() => {},
			() => {},
		);
		this.#ending.add(ended);
		try {
			return await acted;
		} finally {
			this.#ending.delete(ended);
		}
	}

	async beforeClose<T>(ready: Promise<T>): Promise<T> {
		try {
			return await ready;
		} finally {
			// Where it failed too: for the want of an open log, say.
			this.assertOpen();
		}
	}

	/** As `Timeline.gc` does, and then what lies beside the log and nothing refers to. One that is begun meanwhile waits for its end. */
	gc(policy: CollectionPolicy = {}): Promise<Collection> {
		const collection = this.#collecting.then(() => {
			this.assertOpen();
			return this.#collect(policy);
		});
		this.#collecting = collection.catch(() => {});
		return collection;
	}

	async #collect({ dryRun = false, ...policy }: CollectionPolicy): Promise<Collection> {
		const { wal, timeline, store } = this;
		const { records, areas } = this.composition;
		const known = kindsOf(records);
		const cut = await timeline.gc({ ...policy, dryRun, now: this.clock.now() });
		const sessions = this.sessions.everOpened();
		const ports = { store, beside: this.#beside, areas, wal, known, timeline, sessions, dryRun };
		return { ...cut, artifacts: await collectArtifacts(cut, ports) };
	}

	/** Resolves when nothing is running. */
	async idle(): Promise<void> {
		await this.#quiet();
		await this.#toldOfAll();
	}

	async #quiet(): Promise<void> {
		for (const session of this.sessions) await session.idle();
	}

	/** What is queued is waited for, where there is space for it, and then told. */
	async #toldOfAll(): Promise<void> {
		const { wal } = this;
		if (!this.isReadOnly) await flushed(wal).catch(() => {});
		await this.told();
	}

	/** Stops all that is under way; it stays in flight, and goes on at the next start. */
	cancel(): void {
		for (const session of this.sessions) session.cancel("the process was asked to stop");
	}

	/**
	 * Cancels what is under way, waits until it is quiet and until what ends or moves something is over, and closes the log. A full
	 * disk is not waited for. The log is closed whatever the work throws; the first error is thrown then.
	 */
	async close(): Promise<void> {
		this.#isClosing = true;
		// What would begin now would be waited for to its end: it is recorded, and begins at the next start.
		for (const session of this.sessions) session.close();
		this.cancel();
		const over = Promise.all([this.#quiet(), this.#collecting, ...this.#ending]);
		const [quiet] = await Promise.allSettled([Promise.race([over, this.space.whenNone])]);
		// Before the log ends, and with it who follows it.
		await this.#toldOfAll();
		const [closed] = await Promise.allSettled([this.wal.close()]);
		// What waited for space is told by now that there is none; what has begun meanwhile ends too.
		this.cancel();
		const [ended] = await Promise.allSettled([this.#quiet()]);
		const [tools] = await Promise.allSettled([this.#options.agents.close()]);
		this.#pump.end();
		await this.#reaches(Number.POSITIVE_INFINITY);
		for (const each of [quiet, closed, ended, tools]) if (each.status === "rejected") throw each.reason;
	}

	assertOpen(): void {
		if (!this.#isClosing) return;
		const why = "this runtime has been told to close: it begins nothing any more, and nothing was written";
		throw new RuntimeError("RUNTIME_CLOSED", `${why}; open the state again with openRuntime`);
	}
}

/** What a person is told of a step while it is made; undefined where there is nothing to be told. */
function toldOf(scope: Scope, event: StepEvent): KernelEvent | undefined {
	if (event.type === "retrying" && event.kind === "model") {
		const { lane, name: model, attempt, limit, reason, pauseMs } = event;
		return { type: "model_retry", scope, lane, model, attempt, limit, reason, pauseMs };
	}
	// A question that nobody has answered is simply asked again.
	if (event.type === "in_doubt" && event.kind !== "ask") {
		const { lane, name, decision, reason } = event;
		return { type: "in_doubt", scope, lane, name, decision, ...(reason === undefined ? {} : { reason }) };
	}
	if (event.type === "world_kept") return { type: "world_kept", scope, lane: event.lane, name: event.name };
	return undefined;
}

/** What the kernel's own records tell. */
function tellOwn(record: WalRecord): readonly KernelEvent[] {
	const { seq, scope } = record;
	if (checkpoint.is(record)) return [{ type: "checkpoint", seq, ...record.data }];
	if (!reset.is(record)) return [];
	const { target, mode, actor, drop } = record.data;
	return [{ type: "moved", scope, ...(drop ? { kinds: drop } : {}), target, mode, actor }];
}

/** Resolves when what is queued is durable. @throws where the disk is full or broken */
async function flushed(wal: Wal): Promise<void> {
	for await (const _record of wal.read({ after: Math.max(wal.tip, wal.first) - 1 }));
}
