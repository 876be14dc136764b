/** The kernel: one log, its timeline, the sessions over it, and the features that work in them. */
import {
	type GatedCall,
	type InDoubt,
	type ModelPolicy,
	type Prices,
	type StepEvent,
	stepOutcomes,
	stepPorts,
	type Using,
	type Verdict,
} from "@reyn/journal";
import { entryAt, SnapshotStore } from "@reyn/snapshot";
import { newestSnapshot } from "@reyn/snapshot/internal";
import { type Coverage, checkpoint, openTimeline, type RetentionPolicy, reset, type Timeline } from "@reyn/timetravel";
import {
	type BlobStore,
	type Clock,
	type Ids,
	isReynError,
	openWal,
	randomIds,
	type Scope,
	type Seq,
	systemClock,
	systemTimers,
	type Timers,
	type Wal,
	WalError,
	type WalRecord,
} from "@reyn/wal";
import { redacted } from "../redaction/redact.ts";
import { type Collection, collectArtifacts } from "../stores/artifacts.ts";
import { Beside } from "../stores/beside.ts";
import { type TrailKept, trailLimits } from "../stores/trail-files.ts";
import type { Agents } from "./agents.ts";
import { auditOwn } from "./audit.ts";
import { type Composition, compose } from "./compose.ts";
import { DiskSpace } from "./disk-space.ts";
import { RuntimeError } from "./errors.ts";
import type { KernelEvent, ModelChanged } from "./events.ts";
import type { Agent, Feature, FeatureHost, Frame, Kernel, Piece } from "./feature.ts";
import { Meter, type MeterReading, type ModelCost, sumOf } from "./meter.ts";
import { Pump, type Subscription, type Tell, type Told } from "./pump.ts";
import { asNotQuiet, notStopped, rebuild } from "./rewind.ts";
import type { Service } from "./services.ts";
import type { Session } from "./session.ts";
import { keptScopes, mainSession, Sessions } from "./sessions.ts";
import { isSame } from "./settle.ts";
import { IMAGES, RESULTS, type Store } from "./store.ts";
import { Trail } from "./trail.ts";
import { isCovered, kindsOf } from "./work.ts";

export interface KernelOptions {
	readonly store: Store;
	readonly features: readonly Feature[];
	readonly readOnly?: boolean | "as recovered" | undefined;
	readonly clock?: Clock | undefined;
	readonly ids?: Ids | undefined;
	readonly timers?: Timers | undefined;
	readonly random?: (() => number) | undefined;
	readonly modelPolicy?: ModelPolicy | undefined;
	/** What models cost, for the meter. */
	readonly prices?: Prices | undefined;
	/** How long a rewind waits for work to stop, in milliseconds. Default: 5000. */
	readonly quietMs?: number | undefined;
	/** What becomes of calls in doubt. Default: they are made again, but for what their tools say. */
	readonly inDoubt?: InDoubtOptions | undefined;
	/** Keep what files held before tools change them? Default: true. */
	readonly images?: boolean | undefined;
	/** What stays of the audit trail: files of so many days, and so many bytes of all together. Default: 90 days, 100 MB. */
	readonly trail?: TrailKept | undefined;
	/** Takes secrets out of the texts of records. */
	redact?: ((text: string) => string) | undefined;
	readonly agents: Agents;
	/** Gets all events from now on, in the process that writes. Default: nothing is called. */
	emit?: (<Event extends { readonly type: string }>(event: Event) => void) | undefined;
}

/** What becomes of a call that a crash cut, where its far side does not know: it is made again, skipped, or the gates decide. */
export interface InDoubtOptions {
	/** Where its tool says nothing. Default: `retry`. */
	readonly default?: InDoubt | undefined;
	/** By the name of the tool, whatever that says itself. */
	readonly tools?: Readonly<Record<string, InDoubt>> | undefined;
}

/** How far `gc` goes, and whether it only says so. */
export type CollectionPolicy = Omit<RetentionPolicy, "now"> & {
	/** Only report what would be removed. Default: false. */
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
	// Disk events may come before the kernel exists, and have to come before events that wait for the log.
	const opened: { kernel?: OpenKernel } = {};
	const space = new DiskSpace((event) => (opened.kernel ? opened.kernel.emitAtOnce(event) : options.emit?.(event)));
	const wal = await openWal(store.engine, {
		realm: store.realm,
		records: composition.records,
		readOnly,
		...(clock && { clock }),
		...(ids && { ids }),
		// Read once the log is locked, so that nobody else can take it over in between.
		proven: (logId) => newestSnapshot(new SnapshotStore(store.blobs(SNAPSHOTS)), logId, [mainSession]),
		redact: (draft) => redacted(draft, redact),
		onWait: (why) => space.heard(why),
	});
	const kernel = await startKernel(options, { composition, space, wal });
	opened.kernel = kernel;
	return kernel;
}

/** The parts of a kernel. */
export interface KernelParts {
	readonly composition: Composition;
	readonly space: DiskSpace;
	readonly wal: Wal;
}

const [SNAPSHOTS, KEPT] = ["snapshots", "kept"];

/** Starts a kernel over an open log. It owns the log from now on, and closes it if the start fails. */
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
			// A snapshot is only a shortcut: work does not fail because one could not be stored.
			snapshotFailed: ({ code, message: reason }) =>
				options.emit?.({ type: "snapshot_failed", code, reason } satisfies KernelEvent),
		});
		const kernel = new OpenKernel(options, parts, timeline);
		await kernel.sessions.open();
		if (!readOnly) await timeline.settle();
		kernel.listen();
		await kernel.opened();
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
	readonly #meter: Meter;
	readonly #hosts = new Map<Feature, FeatureHost>();
	readonly #services = new Map<string, unknown>();
	readonly #pump: Pump;
	#trail: Trail | undefined;
	/** Resolves when `emit` has got the events up to a seq. */
	#reaches: (seq: Seq) => Promise<void> = () => Promise.resolve();
	#refreshing: Promise<unknown> = Promise.resolve();
	#isClosing = false;
	/** Was `resume` called? */
	#isGoing = false;
	/** Actions that a close waits for: each resolves when it is over. */
	readonly #ending = new Set<Promise<void>>();
	/** What moves that are over had stopped, and nobody has set going again. */
	#stopped: Piece[] = [];
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
		this.composition = composition;
		const tells: Tell[] = [tellOwn, ...options.features.flatMap((each) => each.tell?.bind(each) ?? [])];
		this.#pump = new Pump({ wal, timeline, tells, blobs: (area) => this.blobs(area), isFull: () => space.isFull });
		this.isReadOnly = (options.readOnly ?? false) !== false;
		this.#meter = new Meter(options.prices);
		this.#beside = new Beside(this.store, this.isReadOnly);
		[this.ids, this.clock, this.timers] = [ids, clock, timers];
		this.modelPolicy = modelPolicy;
		this.redact = redact && ((text) => redact(text));
		this.results = this.blobs(RESULTS);
		const { begins } = composition;
		this.sessions = new Sessions({ timeline, begins, assertOpen: () => this.assertOpen() });
		timeline.attend({
			quiet: ({ coverage }) => this.#hold(coverage),
			rebuild: async (move) => {
				const { features } = options;
				const endBelow = (...lane: Parameters<Kernel["endBelow"]>): void => this.endBelow(...lane);
				await rebuild(this.sessions, move, { timeline, features, relaunch: this.#relaunch, endBelow });
				for (const host of this.#hosts.values()) await host.moved?.(move);
			},
		});
		for (const feature of options.features) {
			const host = feature.start(this);
			this.#hosts.set(feature, host);
			for (const { key, value } of host.services ?? []) this.#services.set(key.service, value);
		}
	}

	async #hold(coverage: Coverage): Promise<() => void> {
		const end = this.sessions.hold(coverage);
		const stopped = this.#underWay(coverage);
		const over = (): void => {
			end();
			this.#stopped.push(...stopped);
		};
		try {
			for (const host of this.#hosts.values()) await host.quiet?.(coverage);
			return over;
		} catch (error) {
			over();
			throw error;
		}
	}

	/** The pieces under way that write what is covered. */
	#underWay(coverage: Coverage): readonly Piece[] {
		const pieces = [...this.sessions].flatMap((session) =>
			[...this.#hosts.keys()].flatMap((feature) =>
				(feature.pieces?.(session.view) ?? []).filter(({ work }) => session.isRunning(work)),
			),
		);
		return pieces.filter(({ work }) => isCovered(work, coverage));
	}

	/** Brings a reader up to what is durable by now. */
	refresh(): Promise<Seq> {
		const refreshed = this.#refreshing.then(() => this.#refresh());
		this.#refreshing = refreshed.catch(() => {});
		return refreshed;
	}

	async #refresh(): Promise<Seq> {
		await this.timeline.refresh((records) => this.sessions.took(records));
		await this.sessions.catchUp();
		return this.wal.tip;
	}

	/** The host that a feature has made for this kernel. */
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

	agent({ agent = mainSession.agent }: Scope, begunWith?: string): Agent {
		return this.#options.agents.of(agent, begunWith);
	}

	agentFor(scope: Scope, { kind, id }: Pick<Piece, "kind" | "id">, from: string | undefined): Agent {
		const agent = this.agent(scope, from);
		const to = agent.model.id;
		if (from !== undefined && from !== to)
			this.emit<ModelChanged>({ type: "model_changed", scope, kind, id, from, to });
		return agent;
	}

	tools(frame: Frame): ReturnType<Kernel["tools"]> {
		const offered = [...this.#hosts.values()].flatMap((host) => host.tools?.(frame) ?? []);
		return [...this.agent(frame.session.scope).tools, ...offered];
	}

	get #isGated(): boolean {
		return [...this.#hosts.values()].some((host) => host.gate);
	}

	/** Sets all `running` and `ending` pieces going, in the order of the features. Paused work stays paused. */
	resume(): void {
		this.#isGoing = true;
		this.#goOnWith(() => true);
		for (const host of this.#hosts.values()) host.resumed?.();
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

	endBelow(session: Session, lane: string, reason: string): void {
		for (const host of this.#hosts.values()) host.endBelow?.(session, lane, reason);
	}

	costBelow(session: Session, lane: string, before?: Seq): ModelCost {
		return sumOf([...this.#hosts.values()].flatMap((host) => host.costBelow?.(session, lane, before) ?? []));
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

	/** Sets a piece going again after a rewind. Before `resume`, only pieces that ran in this process go on: the others would wait anyway. */
	#relaunch = (session: Session, piece: Piece): void => {
		if (this.#isGoing || session.hasBegun(piece.work)) this.#goOn(session, piece);
	};

	/** Asks the gates of all features; every one has to let a call pass. */
	async #gate(session: Session, call: GatedCall): Promise<Verdict> {
		for (const host of this.#hosts.values()) {
			if (!host.gate) continue;
			const verdict = await host.gate(session, call);
			// Anything but `pass`, even an invalid verdict, stops the call.
			if (verdict?.kind !== "pass") return verdict;
		}
		return { kind: "pass" };
	}

	using(session: Session, signal: AbortSignal): Using {
		const { clock, timers, modelPolicy, random, redact, images = true, inDoubt = {} } = this.#options;
		return stepPorts(session, {
			wal: this.wal,
			signal,
			...(this.#isGated && { gate: (call) => this.#gate(session, call) }),
			observe: (event) => this.#observe(session.scope, event),
			results: this.results,
			...(images && { images: this.blobs(IMAGES) }),
			files: this.blobs(IMAGES),
			...(redact && { redact }),
			...(random && { random }),
			clock,
			timers,
			modelPolicy,
			whenInDoubt: () => inDoubt.default ?? "retry",
			toolInDoubt: (name) => entryAt(inDoubt.tools ?? {}, name),
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

	/** Tells an event that cannot wait for the log: that the disk is full, or free again. */
	emitAtOnce(event: KernelEvent): void {
		this.#pump.sayAtOnce(event);
	}

	async opened(): Promise<void> {
		if (this.isReadOnly) return;
		for (const host of this.#hosts.values()) await host.opened?.();
	}

	/** Attaches `emit` to the pump, and begins to write the audit trail. A reader subscribes instead, and writes nothing. */
	listen(): void {
		if (this.isReadOnly) return;
		const { emit, features, trail } = this.#options;
		if (emit) this.#reaches = this.#pump.attach((event) => emit(event));
		const { wal, timers } = this;
		const { trail: directory } = this.store;
		if (!directory) return;
		const audits = [auditOwn, ...features.flatMap((each) => each.audit?.bind(each) ?? [])];
		const limits = trailLimits(trail);
		const tell = (event: KernelEvent): void => this.emitAtOnce(event);
		this.#trail = new Trail({ wal, directory, limits, audits, timers, tell });
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

	/** Makes a move. Sessions that a person asks for from now on belong to the line of history that it leads to. */
	async move<T>(move: () => Promise<T>): Promise<T> {
		this.assertOpen();
		return this.toItsEnd(async () => {
			const moved = move().catch((error: unknown) => {
				// What did not stop may go on at any time: a person says when the rest does.
				if (isReynError(error, "TIMETRAVEL_NOT_QUIET")) this.#stopped = [];
				throw asNotQuiet(error);
			});
			this.sessions.begin(moved);
			try {
				return await moved;
			} finally {
				// Whether it was made, and covered them, or not: those that are still to run. Of what is under way again nothing comes.
				for (const piece of this.#stopped.splice(0)) this.goOn(piece);
				// The events of the work that the move stopped come before the move resolves.
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
			// Also after a failure, which may be due to the closed log.
			this.assertOpen();
		}
	}

	/** Collects as `Timeline.gc` does, then removes blobs that nothing refers to. A second call waits for the end of the first. */
	gc(policy: CollectionPolicy = {}): Promise<Collection> {
		const collection = this.#collecting.then(() => {
			this.assertOpen();
			return this.#collect(policy);
		});
		this.#collecting = collection.catch(() => {});
		return collection;
	}

	async #collect({ dryRun = false, ...policy }: CollectionPolicy): Promise<Collection> {
		// A writer beside this reader may have just written what nothing refers to yet.
		if (this.isReadOnly && !dryRun)
			throw new WalError("WAL_READ_ONLY", "this state was opened with readOnly; open it for writing to collect");
		const { wal, timeline, store } = this;
		const { records, areas } = this.composition;
		const known = kindsOf(records);
		const cut = await timeline.gc({ ...policy, dryRun, now: this.clock.now() });
		const sessions = this.sessions.everOpened();
		const ports = { store, beside: this.#beside, areas, wal, known, timeline, sessions, dryRun };
		return { ...cut, artifacts: await collectArtifacts(cut, ports) };
	}

	/** Resolves when nothing is running, and nothing is under way that sets it going again: a move stops work before it does. */
	async idle(): Promise<void> {
		do await Promise.all([this.#quiet(), ...this.#ending]);
		while (this.#ending.size > 0 || !this.#isQuiet);
		await this.#toldOfAll();
	}

	/** What ends in one session may set work going in another. */
	async #quiet(): Promise<void> {
		do for (const session of this.sessions) await session.idle();
		while (!this.#isQuiet);
	}

	get #isQuiet(): boolean {
		return [...this.sessions].every(({ isIdle }) => isIdle);
	}

	/** Resolves when the events of all queued records were told. On a full disk, only of those that are durable. */
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
	 *
	 * @param how how long work may take to stop, in milliseconds. Default: as long as it takes
	 */
	async close({ withinMs }: { readonly withinMs?: number } = {}): Promise<void> {
		this.#isClosing = true;
		// No work may begin any more, or this would wait for its end. It is recorded, and begins at the next start.
		for (const session of this.sessions) session.close();
		this.cancel();
		const stopped = this.#inTime(Promise.all([this.#quiet(), ...this.#ending]), withinMs);
		const over = Promise.all([stopped, this.#collecting]);
		const [quiet] = await Promise.allSettled([Promise.race([over, this.space.whenNone])]);
		const [hosts] = await Promise.allSettled([Promise.all([...this.#hosts.values()].map((host) => host.close?.()))]);
		// Told before the log closes, which ends those who follow it.
		await this.#toldOfAll();
		await this.#trail?.end();
		const [closed] = await Promise.allSettled([this.wal.close()]);
		// Work that waited for space has failed by now; work that began meanwhile is cancelled too.
		this.cancel();
		const isLeft = quiet.status === "rejected" && isReynError(quiet.reason, "RUNTIME_NOT_QUIET");
		const [ended] = await Promise.allSettled([isLeft ? undefined : this.#inTime(this.#quiet(), withinMs)]);
		const [tools] = await Promise.allSettled([this.#options.agents.close()]);
		this.#pump.end();
		await this.#reaches(Number.POSITIVE_INFINITY);
		for (const each of [quiet, hosts, closed, ended, tools]) if (each.status === "rejected") throw each.reason;
	}

	/** @throws RuntimeError `RUNTIME_NOT_QUIET` naming the work that has not stopped by then; it is left as it is */
	#inTime(stopped: Promise<unknown>, withinMs: number | undefined): Promise<unknown> {
		if (withinMs === undefined) return stopped;
		return new Promise((resolve, reject) => {
			const tooLate = (): void => reject(notStopped([...this.sessions].flatMap((session) => session.namesUnderWay())));
			const noMore = this.timers.after(withinMs, tooLate);
			stopped.then(resolve, reject).finally(noMore);
		});
	}

	assertOpen(): void {
		if (!this.#isClosing) return;
		const why = "this runtime has been told to close: it begins nothing any more, and nothing was written";
		throw new RuntimeError("RUNTIME_CLOSED", `${why}; open the state again with openRuntime`);
	}
}

/** The kernel event of a step event; undefined: there is none. */
function toldOf(scope: Scope, event: StepEvent): KernelEvent | undefined {
	if (event.type === "retrying" && event.kind === "model") {
		const { lane, name: model, attempt, limit, reason, pauseMs } = event;
		return { type: "model_retry", scope, lane, model, attempt, limit, reason, pauseMs };
	}
	if (event.type === "unread") {
		const { lane, name: model, read, least } = event;
		return { type: "model_unread", scope, lane, model, read, least };
	}
	// Not for questions to a person: an unanswered one is simply asked again.
	if (event.type === "in_doubt" && event.kind !== "ask") {
		const { lane, name, decision, reason } = event;
		return { type: "in_doubt", scope, lane, name, decision, ...(reason === undefined ? {} : { reason }) };
	}
	if (event.type === "world_kept") return { type: "world_kept", scope, lane: event.lane, name: event.name };
	return undefined;
}

/** The events of the kernel's own records. */
function tellOwn(record: WalRecord): readonly KernelEvent[] {
	const { seq, scope } = record;
	if (checkpoint.is(record)) return [{ type: "checkpoint", seq, ...record.data }];
	if (!reset.is(record)) return [];
	const { target, mode, actor, drop } = record.data;
	return [{ type: "moved", scope, ...(drop ? { kinds: drop } : {}), target, mode, actor }];
}

/** Resolves when all queued records are durable. @throws if the disk is full or broken */
async function flushed(wal: Wal): Promise<void> {
	for await (const _record of wal.read({ after: Math.max(wal.tip, wal.first) - 1 }));
}
