/** The composition: one log, its timeline, and sessions with turns, plans and skills over it. */
import {
	assertPurity,
	firstBelow,
	journal,
	type Model,
	type ModelPolicy,
	recall,
	recordedIn,
	type SpilledText,
	type StepEvent,
	stepOutcomes,
	type Tool,
	type Using,
} from "@reyn/journal";
import { openRuns, type Question, scriptRuns } from "@reyn/journal/script";
import {
	costOf,
	defaultPlanLimits,
	findPlan,
	inFlight,
	type PlanLimits,
	type PlanRun,
	planAborted,
	planLane,
	planRuns,
} from "@reyn/plan";
import {
	applyRewind,
	planRewind,
	type RewindMode,
	type RewindPlan,
	type RewindResult,
	rewindNote,
} from "@reyn/rewind-modes";
import {
	findRun,
	inFlightRuns,
	type Skill,
	type SkillResume,
	type SkillRun,
	skillResumeSchema,
	skillRunDiscarded,
	skillRuns,
} from "@reyn/skill-resume";
import { type AnyProjection, fileSnapshots, newestSnapshot, type View } from "@reyn/snapshot";
import {
	type Checkout,
	type Deeds,
	openTimeline,
	type RetentionPolicy,
	type StateDiff,
	type StepOptions,
	type Stepped,
	type Timeline,
} from "@reyn/timetravel";
import {
	type Appended,
	type BlobStore,
	type Clock,
	type Draft,
	fileBlobs,
	fileEngine,
	type Ids,
	isReynError,
	openWal,
	randomIds,
	type Scope,
	type Seq,
	systemClock,
	type Timers,
	type TornTail,
	type Wal,
} from "@reyn/wal";
import {
	type ConversationState,
	conversation,
	inToolCycle,
	promptText,
	since,
} from "../features/conversation/conversation.ts";
import { wholeText } from "../features/conversation/large-texts.ts";
import { messageDelivered, sessionOpened, turnInterrupted, userPrompt } from "../features/conversation/records.ts";
import { runTurn } from "../features/conversation/turn.ts";
import { PlanHost } from "../features/plan/plan-host.ts";
import { Scripts } from "../features/script/scripts.ts";
import { SkillHost } from "../features/skill/skill-host.ts";
import { assertTold, redacted } from "../redaction/redact.ts";
import { type Collection, collectArtifacts } from "../stores/artifacts.ts";
import { assertOwnState, type Layout, layoutOf, storedStatesOf } from "../stores/layout.ts";
import { stopReason, unsaidIn } from "./background.ts";
import { Space } from "./disk-space.ts";
import { RuntimeError } from "./errors.ts";
import type { BackgroundMessage, RuntimeEvent } from "./events.ts";
import { allRecords, begins, facets } from "./kinds.ts";
import { Meter, type MeterReading } from "./meter.ts";
import { quiesce, rebuild } from "./rewind.ts";
import type { Session, SessionScope } from "./session.ts";
import { mainSession, Sessions, sessionOf } from "./sessions.ts";
import type { Settlement } from "./settle.ts";
import { Gate } from "./shared-lock.ts";
import { deliveryWork, planWork, skillWork, turnWork } from "./work.ts";

export interface RuntimeOptions {
	/** The state directory, usually `.reyn`. */
	readonly state: string;
	readonly model: Model;
	/** What turns and plan steps may use. */
	readonly tools: readonly Tool[];
	readonly skills?: readonly Skill[];
	readonly limits?: Partial<PlanLimits>;
	readonly skillResume?: SkillResume;
	/**
	 * Look without the lock: nothing is written and nothing runs. `true` shows what is known to be durable, `as recovered` what
	 * a process would find that went on now: of `explain`, `check` and `verify` only that is what a resume does. Default: false.
	 */
	readonly readOnly?: boolean | "as recovered";
	/** Told of everything as it happens. */
	onEvent?(event: RuntimeEvent): void;
	/** Shows a text from the background to the user. Once it resolves, the text counts as delivered. */
	onMessage?(message: BackgroundMessage): Promise<void>;
	/**
	 * Takes out of a text what must not be written, a key say: out of all that is recorded, with what it leaves being what models,
	 * tools and people are given of it. `redactSecrets(process.env)` knows the usual ones. What it takes out once it has to leave
	 * as it is. Default: nothing.
	 */
	redact?(text: string): string;
	readonly clock?: Clock;
	readonly ids?: Ids;
	/** Where the pauses between tries come from, and the limits of calls. */
	readonly timers?: Timers;
	/** Draws from 0 to below 1, for pauses. Default: `Math.random`. */
	random?(): number;
	/** How often a model is asked for an answer, and how long that may take, where that is not as `askModel` of `@reyn/journal` has it. */
	readonly modelPolicy?: ModelPolicy;
	/** Keep the log on a network file system, whose locks and syncs may not hold. Default: false, which refuses one. */
	readonly allowNetwork?: boolean;
	/** Puts a question of a script to the person; undefined when nobody is there, and the script then waits. Default: nobody. */
	ask?(question: Question): Promise<string | undefined>;
	/**
	 * Run scripts in a process of their own, which has no files, programs or environment, only the calls of the script: `checkScript`
	 * has the same option. Default: false.
	 */
	readonly isolate?: boolean;
	/** How long a rewind waits for work to stop, in milliseconds. Default: 5000. */
	readonly quietMs?: number;
}

/** What was found when the state was opened. */
export interface Restored {
	readonly tip: Seq;
	/** Bytes after the last sound record that were set aside. */
	readonly torn: TornTail | undefined;
	readonly turns: readonly { readonly scope: SessionScope; readonly turn: Seq; readonly text: string }[];
	readonly plans: readonly {
		readonly scope: SessionScope;
		readonly plan: string;
		readonly goal: string;
		readonly status: string;
		/** Steps that are finished, of how many, and what their model calls cost: none of it is paid again. */
		readonly finished: number;
		readonly size: number;
		readonly calls: number;
		readonly tokens: number;
	}[];
	readonly runs: readonly {
		readonly scope: SessionScope;
		readonly run: string;
		readonly skill: string;
		readonly phase: string | undefined;
		readonly status: string;
	}[];
	/** Script runs that are open; each is resumed by name. */
	readonly scripts: readonly { readonly scope: SessionScope; readonly run: string; readonly name: string }[];
	/** Of a large one, how it begins. */
	readonly undelivered: readonly BackgroundMessage[];
}

/** A message that nobody was shown; of one that lies beside the log it has how it begins. */
type Undelivered = BackgroundMessage & { readonly spilled: SpilledText | undefined };
/** What was shown before it was confirmed: what speaks against it since refuses the move. Absent: nothing does. */
export interface Confirmed {
	/** The tip then. */
	readonly expect?: Seq;
}

type CollectionPolicy = Omit<RetentionPolicy, "now"> & {
	/** Only say what would go. Default: false. */
	readonly dryRun?: boolean;
};

/** What a person does beside rewinds that can be undone, and what ends the way back to what was undone. */
const deeds: Deeds = {
	[userPrompt.kind]: (record) => (userPrompt.is(record) && record.data.by === "person" ? "turn" : undefined),
	[rewindNote.kind]: ({ scope }) => ({ takenBackBy: { scope, drop: [rewindNote.kind] } }),
	[planAborted.kind]: (record) =>
		planAborted.is(record) && record.data.by === "person" ? { takenBackBy: { scope: record.scope } } : undefined,
	[skillRunDiscarded.kind]: (record) =>
		skillRunDiscarded.is(record) && record.data.by === "person" ? { takenBackBy: { scope: record.scope } } : undefined,
};

const projections: readonly AnyProjection[] = [conversation, journal, planRuns, skillRuns, scriptRuns];

/**
 * Opens a state directory and restores what is in it. Nothing runs yet: `resume()` goes on with what was in flight.
 *
 * @throws WalError, SnapshotError, TimetravelError as their packages say; JournalError `STEP_PURITY` of a tool; nothing is changed then
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
	const { state, readOnly = false, allowNetwork = false, clock = systemClock, ids = randomIds } = options;
	for (const tool of options.tools) assertPurity(tool);
	const layout = layoutOf(state);
	assertOwnState(layout);
	const space = new Space((event) => options.onEvent?.(event));
	const wal = await openWal(fileEngine(layout.wal, { allowNetwork }), {
		records: allRecords,
		readOnly,
		clock,
		ids,
		// The log is locked by now: nobody takes it over meanwhile.
		proven: (logId) => newestSnapshot(fileSnapshots(storedStatesOf(layout).snapshots), logId, [mainSession]),
		redact: (draft) => redacted(draft, options),
		onFull: (why) => space.heard(why),
	});
	try {
		const runtime = new Runtime(options, wal, layout, space);
		await runtime.open();
		return runtime;
	} catch (error) {
		await wal.close();
		throw error;
	}
}

export class Runtime implements AsyncDisposable {
	readonly wal: Wal;
	/** Script runs: start, resume, preview and verify them. */
	readonly scripts: Scripts;
	readonly #options: RuntimeOptions;
	readonly #layout: Layout;
	readonly #results: BlobStore;
	/** Files beside the log are written through it, and taken away while none is. */
	readonly #gate = new Gate();
	readonly #meter = new Meter();
	readonly #space: Space;
	readonly #sessions: Sessions;
	readonly #plans: PlanHost;
	readonly #skills: SkillHost;
	/** The turns that were asked for here, and whose first go is not over. */
	readonly #asked = new Set<Seq>();
	#timeline!: Timeline;
	/** The messages that are being shown. */
	readonly #showing = new Set<Seq>();
	#isClosing = false;
	/** Each resolves when something is over that ends or moves something. */
	readonly #ending = new Set<Promise<void>>();
	/** Resolves when no `gc` is under way. */
	#collecting: Promise<unknown> = Promise.resolve();

	/** Use {@link openRuntime}. */
	constructor(options: RuntimeOptions, wal: Wal, layout: Layout, space: Space) {
		this.wal = wal;
		this.#options = options;
		this.#layout = layout;
		this.#space = space;
		const results = fileBlobs(layout.results);
		this.#results = { ...results, put: (name, bytes) => this.#gate.pass(() => results.put(name, bytes)) };
		this.#sessions = new Sessions({ timeline: () => this.#timeline, assertOpen: () => this.#assertOpen() });
		const shared = {
			layout,
			gate: this.#gate,
			space,
			model: options.model,
			using: (session: Session, signal: AbortSignal) => this.#using(session, signal),
			emit: (event: RuntimeEvent) => this.#emit(event),
			show: (session: Session, from: string, signal?: AbortSignal) => this.#show(session, from, signal),
		};
		this.#plans = new PlanHost({
			...shared,
			tools: options.tools,
			limits: { ...defaultPlanLimits, ...options.limits },
			meter: this.#meter,
		});
		this.#skills = new SkillHost({
			...shared,
			skills: options.skills ?? [],
			resume: options.skillResume ?? skillResumeSchema.parse({}),
			ids: options.ids ?? randomIds,
		});
		this.scripts = new Scripts({
			...shared,
			sessions: this.#sessions,
			tools: options.tools,
			wal,
			timeline: () => this.#timeline,
			ids: options.ids ?? randomIds,
			ask: async (question) => options.ask?.(question),
			isolate: options.isolate,
			redact: options.redact && ((text) => options.redact?.(text) ?? text),
			assertOpen: () => this.#assertOpen(),
		});
	}

	/** Called once by {@link openRuntime}. */
	async open(): Promise<void> {
		const { readOnly = false } = this.#options;
		const { snapshots, kept } = storedStatesOf(this.#layout);
		this.#timeline = await openTimeline({
			wal: this.wal,
			snapshots: fileSnapshots(snapshots),
			projections,
			readOnly: readOnly !== false,
			kept: fileBlobs(kept),
			keptKinds: [sessionOpened.kind, rewindNote.kind],
			keptScopes: async () => this.#sessions.everOpened(),
			inCycle: (view) => inToolCycle(view.get(conversation)),
			quiesce: (scope, { drop, over }) =>
				quiesce(this.#sessions, { scope, ...(drop ? { drop } : {}) }, over, this.#options.quietMs ?? 5000),
			rebuild: (seq, scope) =>
				rebuild(this.#sessions, seq, scope, {
					timeline: this.#timeline,
					relaunch: (session, work) => this.#relaunch(session, work),
				}),
			deeds,
			outcomes: stepOutcomes,
			begins,
			// A snapshot is a shortcut: no turn, plan or run is given up for the want of one.
			snapshotFailed: (error) => this.#emit({ type: "notice", text: error.message }),
		});
		await this.#sessions.open();
		if (!readOnly) await this.#timeline.settle();
	}

	get timeline(): Timeline {
		return this.#timeline;
	}

	/** Model calls and tokens of this process: replayed free, and paid. */
	get meter(): MeterReading {
		return this.#meter.read();
	}

	/** What is in flight or waits to be shown. */
	restored(): Restored {
		const sessions = [...this.#sessions];
		return {
			tip: this.wal.tip,
			torn: this.wal.torn,
			turns: sessions.flatMap((session) =>
				session.conversation.open.map((turn) => ({
					scope: session.scope,
					turn,
					text: promptText(session.conversation, turn),
				})),
			),
			plans: sessions.flatMap(({ scope, view }) =>
				inFlight(view.get(planRuns)).map(([plan, run]) => {
					const { steps, calls, tokens } = costOf(run);
					return { scope, plan, goal: run.goal, status: run.status, finished: steps, size: run.size, calls, tokens };
				}),
			),
			runs: sessions.flatMap(({ scope, view }) =>
				inFlightRuns(view.get(skillRuns)).map(([run, { skill, phase, status }]) => ({
					scope,
					run,
					skill,
					phase,
					status,
				})),
			),
			scripts: sessions.flatMap(({ scope, view }) =>
				openRuns(view.get(scriptRuns)).map(([run, { name }]) => ({ scope, run, name })),
			),
			undelivered: sessions.flatMap((session) => [
				...this.#undelivered(session).map(({ spilled: _beside, ...each }) => each),
				...unsaidIn(session),
			]),
		};
	}

	/**
	 * Goes on with everything that was in flight: turns first, then skills and plans in the background. Paused work stays paused.
	 * Called again, it goes on with what has stopped since.
	 */
	resume(): void {
		for (const session of this.#sessions) {
			this.#runTurns(session);
			for (const run of Object.keys(session.view.get(skillRuns))) this.#skills.launch(session, run);
			for (const plan of Object.keys(session.view.get(planRuns))) this.#plans.launch(session, plan);
			// What goes on shows what it has said itself, once it is over.
			const waiting = this.#undelivered(session).filter(({ from }) => !this.#isGoingOn(session, from));
			if (waiting.length > 0)
				session.start(deliveryWork(session.scope), async (signal) => {
					try {
						for (const message of waiting) await this.#deliver(message, signal);
					} catch (error) {
						// What was shown while there was no space to record it is shown again at the next start.
						if (error !== signal.reason) throw error;
					}
				});
		}
	}

	/** The conversation as it is now. `default/main` always exists; another one is made by its first prompt. */
	conversation(scope: SessionScope = mainSession): ConversationState {
		return this.#sessions.at(scope).conversation;
	}

	/** The sessions that there are. */
	sessions(): readonly SessionScope[] {
		return [...this.#sessions].map(({ scope }) => scope);
	}

	view(scope: SessionScope = mainSession): View {
		return this.#sessions.at(scope).view;
	}

	/**
	 * Gives a prompt to a session and resolves with its turn once the prompt is durable; the answer comes as events. One that
	 * comes during a rewind of the session waits for its end: it belongs to the line of history that this leads to. Turns that
	 * were cut, by a crash or for want of the model, go on first; who asks the same again means them, and asks nothing new.
	 *
	 * @throws RuntimeError `RUNTIME_CLOSED` once `close` has been called, as all does that begins or changes something
	 */
	async prompt(given: string, scope: SessionScope = mainSession): Promise<Seq> {
		this.#assertOpen();
		const { redact } = this.#options;
		const text = redact?.(given) ?? given;
		for (const name of [scope.agent, scope.session]) assertTold("the name of a session", name, redact?.(name));
		const session = await this.#beforeClose(this.#sessions.ensure(scope));
		if (text !== given)
			this.#emit({
				type: "notice",
				text: "what looks like a secret was taken out of the prompt: it is not written down, and the model is not told",
			});
		const again = this.#cutTurn(session, text);
		if (again === undefined) {
			const { seq, durable } = session.log.append(userPrompt({ text, by: "person" }), session.scope);
			this.#asked.add(seq);
			await durable;
			this.#runTurns(session);
			return seq;
		}
		this.#emit({
			type: "notice",
			text: `this was asked in #${again} and is open: it goes on, and nothing is paid twice`,
		});
		this.#runTurns(session);
		return again;
	}

	/** A turn with this prompt that was under way once, and was cut. */
	#cutTurn({ conversation }: Session, text: string): Seq | undefined {
		return conversation.open.find((turn) => !this.#asked.has(turn) && promptText(conversation, turn) === text);
	}

	/** Stops the running turn of a session, if there is one; plans go on. */
	async interrupt(scope: SessionScope = mainSession): Promise<boolean> {
		const session = this.#sessions.at(scope);
		const turn = turnWork(session.scope);
		if (!session.isRunning(turn)) return false;
		await session.stop(turn, "interrupted by the user");
		return true;
	}

	/** Resolves when no turn, plan or skill is running. */
	async idle(): Promise<void> {
		for (const session of this.#sessions) await session.idle();
	}

	/** Starts a skill, after a rewind of the session that is under way; gives the id of the run. */
	async runSkill(name: string, input: unknown, scope: SessionScope = mainSession): Promise<string> {
		this.#assertOpen();
		await this.#beforeClose(this.#sessions.rewound(scope));
		return this.#skills.start(this.#sessions.at(scope), name, input);
	}

	/**
	 * A skill run that is in flight.
	 *
	 * @throws SkillError `SKILL_UNKNOWN_RUN`, naming those that are
	 */
	findSkillRun(run: string): SkillRun {
		return findRun(this.#ownerOfRun(run).view.get(skillRuns), run);
	}

	/**
	 * Goes on with a skill run that a rewind has paused.
	 *
	 * @throws SkillError `SKILL_UNKNOWN_RUN`
	 */
	async resumeSkillRun(run: string): Promise<void> {
		this.#assertOpen();
		this.findSkillRun(run);
		await this.#skills.resume(this.#ownerOfRun(run), run);
	}

	/** @throws SkillError `SKILL_UNKNOWN_RUN`; TimetravelError `TIMETRAVEL_STALE` */
	async discardSkillRun(run: string, { expect }: Confirmed = {}): Promise<void> {
		this.#assertOpen();
		const session = this.#ownerOfRun(run);
		await this.#toItsEnd(async () => {
			await this.#timeline.ifStill(expect, skillWork(session.scope, run).scope, () => this.findSkillRun(run));
			await this.#skills.discard(session, run, "discarded by the user");
		});
	}

	/**
	 * A plan that is in flight.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, naming those that are
	 */
	findPlan(plan: string): PlanRun {
		return findPlan(this.#ownerOfPlan(plan).view.get(planRuns), plan);
	}

	/** @throws PlanError `PLAN_UNKNOWN`; TimetravelError `TIMETRAVEL_STALE` */
	async discardPlan(plan: string, { expect }: Confirmed = {}): Promise<void> {
		this.#assertOpen();
		const session = this.#ownerOfPlan(plan);
		await this.#toItsEnd(async () => {
			await this.#timeline.ifStill(expect, planWork(session.scope, plan).scope, () => this.findPlan(plan));
			await this.#plans.discard(session, plan, "discarded by the user");
		});
	}

	/**
	 * Goes on with a plan, again from a step if one is named. Gives the steps that run again.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`
	 */
	async resumePlan(plan: string, from?: string): Promise<readonly string[]> {
		this.#assertOpen();
		this.findPlan(plan);
		return this.#plans.resume(this.#ownerOfPlan(plan), plan, from);
	}

	/**
	 * What a rewind to a seq would do. Reads only.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`; and as `planRewind` of `@reyn/rewind-modes` does
	 */
	async planRewind(seq: Seq, mode: RewindMode, scope: Scope = {}): Promise<RewindPlan> {
		this.#sessions.at(sessionOf(scope));
		return planRewind(this.#timeline, facets, seq, mode, scope);
	}

	/**
	 * Does what was previewed, or nothing; work may have gone on meanwhile. A note joins the session that the plan is of, or else the main one.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`; and as `applyRewind` of `@reyn/rewind-modes` does. Nothing is written then
	 */
	async applyRewind(
		plan: RewindPlan,
		actor: string,
		scope: SessionScope = sessionOf(plan.scope),
	): Promise<RewindResult> {
		this.#assertOpen();
		this.#sessions.at(sessionOf(plan.scope));
		const session = this.#sessions.at(scope);
		const log = { append: (draft: Draft, at: Scope) => session.log.append(draft, at) };
		return this.#move(() => applyRewind(this.#timeline, facets, plan, { actor, log, session: session.scope }));
	}

	/** Goes to any seq: an undo on the current line, a switch of branches elsewhere. What is outside the scope stays as it is. */
	async checkout(seq: Seq, actor: string, scope: Scope = {}, { expect }: Confirmed = {}): Promise<Checkout> {
		return this.#move(() =>
			this.#timeline.checkout(seq, { actor, scope, ...(expect === undefined ? {} : { expect }) }),
		);
	}

	/**
	 * What differs between the states of a session at two seqs.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`; TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	async diff(a: Seq, b: Seq, scope: SessionScope = mainSession): Promise<StateDiff> {
		return this.#timeline.diff(a, b, this.#sessions.at(scope).scope);
	}

	/** Takes back the newest thing that a person did to the history, as `Timeline.undo` does: the one that was confirmed, or none. */
	async undo(actor: string, confirmed: Omit<StepOptions, "actor"> = {}): Promise<Stepped> {
		return this.#move(() => this.#timeline.undo({ ...confirmed, actor }));
	}

	async redo(actor: string, confirmed: Omit<StepOptions, "actor"> = {}): Promise<Stepped> {
		return this.#move(() => this.#timeline.redo({ ...confirmed, actor }));
	}

	/** What a person asks for from now on belongs to where this leads. */
	async #move<T>(move: () => Promise<T>): Promise<T> {
		this.#assertOpen();
		return this.#toItsEnd(() => {
			const moved = move();
			this.#sessions.begin(moved);
			return moved;
		});
	}

	/** What ends or moves something is told as it ended: a close waits for it. */
	async #toItsEnd<T>(act: () => Promise<T>): Promise<T> {
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

	/** Waits for what has to be before something is begun. @throws RuntimeError `RUNTIME_CLOSED` when a close came meanwhile */
	async #beforeClose<T>(ready: Promise<T>): Promise<T> {
		try {
			return await ready;
		} finally {
			// Where it failed too: for the want of an open log, say.
			this.#assertOpen();
		}
	}

	/**
	 * Takes away what is older than the policy keeps, as `Timeline.gc` does, and then the files beside the log that nothing refers
	 * to any more. One that is begun meanwhile waits for its end.
	 */
	gc(policy: CollectionPolicy = {}): Promise<Collection> {
		const collection = this.#collecting.then(() => {
			this.#assertOpen();
			return this.#collect(policy);
		});
		this.#collecting = collection.catch(() => {});
		return collection;
	}

	async #collect({ dryRun = false, ...policy }: CollectionPolicy): Promise<Collection> {
		const { clock = systemClock } = this.#options;
		const cut = await this.#timeline.gc({ ...policy, dryRun, now: clock.now() });
		const sessions = this.#sessions.everOpened();
		const { wal } = this;
		const ports = { layout: this.#layout, gate: this.#gate, wal, timeline: this.#timeline, sessions, dryRun };
		return { ...cut, artifacts: await collectArtifacts(cut, ports) };
	}

	/** Stops all that is under way; it stays in flight, and goes on at the next start. */
	cancel(): void {
		for (const session of this.#sessions) session.cancel("the process was asked to stop");
	}

	/**
	 * Cancels what is under way, waits until it is quiet, a tool that does not stop as long as that takes, and until what ends or moves something is over, a `gc` too; then it closes the log. A full disk is not waited for: it then rejects with
	 * `WAL_FULL`, and what was not durable, so never acknowledged, is done again at the next start. The log is closed whatever the
	 * work throws; the first error is thrown then.
	 */
	async close(): Promise<void> {
		this.#isClosing = true;
		// What would begin now would be waited for to its end: it is recorded, and begins at the next start.
		for (const session of this.#sessions) session.close();
		this.cancel();
		const over = Promise.all([this.idle(), this.#collecting, ...this.#ending]);
		const [quiet] = await Promise.allSettled([Promise.race([over, this.#space.whenNone])]);
		const [closed] = await Promise.allSettled([this.wal.close()]);
		// What waited for space is told by now that there is none; what has begun meanwhile ends too.
		this.cancel();
		const [ended] = await Promise.allSettled([this.idle()]);
		for (const each of [quiet, closed, ended]) if (each.status === "rejected") throw each.reason;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	/** @throws RuntimeError `RUNTIME_CLOSED` */
	#assertOpen(): void {
		if (!this.#isClosing) return;
		const why = "this runtime has been told to close: it begins nothing any more, and nothing was written";
		throw new RuntimeError("RUNTIME_CLOSED", `${why}; open the state again with openRuntime`);
	}

	/** Answers the open prompts of a session one after the other. */
	#runTurns(session: Session): void {
		const work = turnWork(session.scope);
		if (session.isRunning(work) || session.conversation.open.length === 0) return;
		session.start(work, async (signal) => {
			try {
				for (
					let [turn] = session.conversation.open;
					turn !== undefined && !signal.aborted;
					[turn] = session.conversation.open
				) {
					// The next one may rest on its answer.
					if ((await this.#turn(session, turn, signal)) === "kept") return;
				}
			} catch {
				// The log takes nothing, not even that a turn has stopped: it stays open, and goes on at the next start.
			}
		});
	}

	async #turn(session: Session, turn: Seq, signal: AbortSignal): Promise<"over" | "kept"> {
		const { scope, log } = session;
		const keep = this.#keeperOf(turn, signal);
		try {
			await runTurn(session, turn, {
				...this.#using(session, signal),
				// A conversation is folded from the steps of its turns: they hold what was said themselves.
				results: undefined,
				texts: this.#results,
				keep,
				model: this.#options.model,
				tools: [...this.#options.tools, this.#plans.toolFor(session, turn)],
				onText: (delta) => this.#emit({ type: "text", scope, turn, delta }),
				onTool: ({ name, args }) => this.#emit({ type: "tool", scope, name, args }),
			});
			const title = promptText(session.conversation, turn);
			const seq = await keep(() => session.checkpoint("turn", title.length > 60 ? `${title.slice(0, 59)}…` : title));
			this.#emit({ type: "turn_end", scope, turn, outcome: "completed" });
			this.#emit({ type: "checkpoint", seq, kind: "turn", title });
			return "over";
		} catch (error) {
			return this.#turnStopped(session, log, turn, signal, error);
		} finally {
			this.#asked.delete(turn);
		}
	}

	#keeperOf(turn: Seq, signal: AbortSignal) {
		return <T>(write: () => T | Promise<T>): Promise<T> =>
			this.#space.keep(`turn ${turn}`, "what was said", write, signal);
	}

	/**
	 * A turn that a rewind or the end of the process cut stays open: the rewind closes it, or the next start goes on with it. So does
	 * one whose model is away: what it has paid for and done is kept until a person resumes it, or gives it up.
	 */
	async #turnStopped(
		session: Session,
		log: Session["log"],
		turn: Seq,
		signal: AbortSignal,
		error: unknown,
	): Promise<"over" | "kept"> {
		const { scope } = session;
		const reason = stopReason(signal, error);
		const isAway = (error as { code?: unknown } | undefined)?.code === "MODEL_UNAVAILABLE";
		if (isAway && !signal.aborted) {
			// What waits behind it was not begun, and is meant by who asks it again.
			for (const open of session.conversation.open) this.#asked.delete(open);
			this.#emit({ type: "turn_end", scope, turn, outcome: "stopped", reason });
			return "kept";
		}
		const isFinal = !isReynError(error, "STALE_LINEAGE") && (!signal.aborted || reason === "interrupted by the user");
		try {
			const keep = this.#keeperOf(turn, signal);
			if (isFinal) await (await keep(() => log.append(turnInterrupted({ turn, reason }), scope))).durable;
		} finally {
			this.#emit({ type: "turn_end", scope, turn, outcome: "interrupted", reason });
		}
		return "over";
	}

	#using(session: Session, signal: AbortSignal): Using {
		// The log of now: what was started before a rewind keeps the one that no longer accepts it.
		const { log } = session;
		const { clock, timers, modelPolicy, random, redact } = this.#options;
		return {
			log,
			logId: this.wal.id,
			signal,
			recall: (step, program) => recall(session.view.get(journal), step, program),
			recordedIn: (lane) => recordedIn(session.view.get(journal), lane),
			firstBelow: (lane) => firstBelow(session.view.get(journal), lane),
			whenInDoubt: () => "retry",
			observe: (event) => this.#observe(session.scope, event),
			results: this.#results,
			...(redact && { redact }),
			...(random && { random }),
			clock,
			timers,
			modelPolicy,
		};
	}

	#observe(scope: SessionScope, event: StepEvent): void {
		this.#meter.observe(event);
		if (event.type === "retrying" && event.kind === "model" && !event.lane.startsWith(planLane(""))) {
			const { lane, name: model, attempt, limit, reason, pauseMs } = event;
			this.#emit({ type: "model_retry", scope, lane, model, attempt, limit, reason, pauseMs });
		}
		// A question that nobody has answered is simply asked again.
		if (event.type === "in_doubt" && event.kind !== "ask") {
			const then = {
				retry: "it is made again",
				skip: "it is skipped, so data may be missing",
				discard: "the run is discarded",
				reconciled: "it had happened",
			};
			this.#emit({
				type: "notice",
				text: `${event.name} (${event.lane}) was under way when the process ended, and nobody knows whether it happened: ${then[event.decision]}`,
			});
		}
		if (event.type === "world_kept") {
			this.#emit({
				type: "notice",
				text: `${event.name} (${event.lane}) is not asked again: later work rests on what it said`,
			});
		}
		if (event.type === "no_space")
			this.#space.waiting(`${event.name} (${event.lane})`, "its result", event.code, event.reason);
	}

	#emit(event: RuntimeEvent): void {
		this.#options.onEvent?.(event);
	}

	/** Shows what a plan or a skill run has said and nobody has seen. */
	async #show(session: Session, from: string, signal?: AbortSignal): Promise<void> {
		for (const message of this.#undelivered(session)) if (message.from === from) await this.#deliver(message, signal);
	}

	/** Shows a message, and records that. While there is no space for that it counts as being shown, so that nobody is shown it again. */
	async #deliver({ spilled, ...message }: Undelivered, signal = new AbortController().signal): Promise<void> {
		const { onMessage } = this.#options;
		if (!onMessage || this.#showing.has(message.seq)) return;
		this.#showing.add(message.seq);
		try {
			await onMessage({ ...message, text: await wholeText({ text: message.text, spilled }, this.#results) });
			const write = (): Appended | undefined => {
				const session = this.#sessions.find(message.scope);
				const isWaiting = session?.conversation.undelivered.includes(message.seq);
				return isWaiting ? session?.log.append(messageDelivered({ message: message.seq }), message.scope) : undefined;
			};
			await (await this.#space.keep(message.from, "that it was shown", write, signal))?.durable;
		} finally {
			this.#showing.delete(message.seq);
		}
	}

	#undelivered({ scope, conversation }: Session): readonly Undelivered[] {
		const { undelivered } = conversation;
		return since(conversation, undelivered[0] ?? Number.POSITIVE_INFINITY)
			.flatMap(([item]) =>
				item.type === "message" && undelivered.includes(item.seq)
					? [{ seq: item.seq, scope, from: item.from, text: item.text, spilled: item.spilled }]
					: [],
			)
			.toArray()
			.reverse();
	}

	/** Goes on with what ran before a rewind, from the state that it led to. */
	#relaunch(session: Session, { plans, runs }: Settlement["relaunch"]): void {
		// What nobody has gone on with in this process waits for the next start, as it would have without the rewind.
		for (const plan of plans) if (session.hasBegun(planWork(session.scope, plan))) this.#plans.launch(session, plan);
		for (const run of runs) if (session.hasBegun(skillWork(session.scope, run))) this.#skills.launch(session, run);
	}

	#isGoingOn(session: Session, from: string): boolean {
		return [planWork, skillWork].some((work) => session.isRunning(work(session.scope, from)));
	}

	/** The session that a plan belongs to; for an unknown one the main session, whose own check then says what there is. */
	#ownerOfPlan(plan: string): Session {
		return this.#sessions.ownerOf((view) => Object.hasOwn(view.get(planRuns), plan));
	}

	#ownerOfRun(run: string): Session {
		return this.#sessions.ownerOf((view) => Object.hasOwn(view.get(skillRuns), run));
	}
}
