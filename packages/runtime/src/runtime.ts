/** The composition: one log, its timeline, and sessions with turns, plans and skills over it. */
import { setTimeout as sleepFor } from "node:timers/promises";
import {
	entriesOf,
	isAwaited,
	journal,
	lanesOf,
	type Model,
	openStarts,
	recall,
	type StepEvent,
	type Tool,
	type Using,
} from "@reyn/journal";
import {
	type Explanation,
	openRuns,
	type Question,
	type ScriptEvent,
	type ScriptRun,
	scriptLane,
	scriptRuns,
} from "@reyn/journal/script";
import {
	costOf,
	defaultPlanLimits,
	findPlan,
	inFlight,
	type PlanLimits,
	type PlanRun,
	planAborted,
	planPaused,
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
	skillRunPaused,
	skillRuns,
} from "@reyn/skill-resume";
import { type AnyProjection, fileSnapshots, newestSnapshot, type SnapshotStore, type View } from "@reyn/snapshot";
import {
	type Checkout,
	type Collection,
	type Coverage,
	type Deeds,
	openTimeline,
	type Reset,
	type RetentionPolicy,
	type StateDiff,
	type Stepped,
	type Timeline,
} from "@reyn/timetravel";
import {
	type BlobStore,
	type Clock,
	fileBlobs,
	fileEngine,
	type Ids,
	openWal,
	randomIds,
	type Scope,
	type Seq,
	scopeKey,
	systemClock,
	type TornTail,
	type Wal,
	type WalRecord,
	within,
} from "@reyn/wal";
import { stopReason } from "./background.ts";
import { type ConversationState, conversation, inToolCycle, promptText, since } from "./conversation.ts";
import { RuntimeError } from "./errors.ts";
import type { BackgroundMessage, RuntimeEvent } from "./events.ts";
import { allRecords, facets } from "./kinds.ts";
import { outcomesBeyond } from "./late.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { Meter, type MeterReading } from "./meter.ts";
import { PlanHost } from "./plan-host.ts";
import { messageDelivered, sessionOpened, turnInterrupted, userPrompt } from "./records.ts";
import type { ScriptText } from "./script-files.ts";
import { ScriptHost, type ScriptResume, type StartedScript, type Verification } from "./script-host.ts";
import { Session, type SessionScope } from "./session.ts";
import { type Settlement, settlement } from "./settle.ts";
import { SkillHost } from "./skill-host.ts";
import { runTurn } from "./turn.ts";
import { type Classes, deliveryWork, isCovered, turnWork } from "./work.ts";

export interface RuntimeOptions {
	/** The state directory, usually `.reyn`. */
	readonly state: string;
	readonly model: Model;
	/** What turns and plan steps may use. */
	readonly tools: readonly Tool[];
	readonly skills?: readonly Skill[];
	readonly limits?: Partial<PlanLimits>;
	readonly skillResume?: SkillResume;
	/** Look without the lock: nothing is written and nothing runs. Default: false. */
	readonly readOnly?: boolean;
	/** Told of everything as it happens. */
	onEvent?(event: RuntimeEvent): void;
	/** Shows a text from the background to the user. Once it resolves, the text counts as delivered. */
	onMessage?(message: BackgroundMessage): Promise<void>;
	/** Takes out of a text what must not be written, a key say: from results of steps and from what failures say. */
	redact?(text: string): string;
	readonly clock?: Clock;
	readonly ids?: Ids;
	/** Waits; rejects when the signal aborts. */
	sleep?(ms: number, signal: AbortSignal): Promise<void>;
	/** Keep the log on a network file system, whose locks and syncs may not hold. Default: false, which refuses one. */
	readonly allowNetwork?: boolean;
	/** Puts a question of a script to the person; undefined when nobody is there, and the script then waits. Default: nobody. */
	ask?(question: Question): Promise<string | undefined>;
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
	readonly undelivered: readonly BackgroundMessage[];
}

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

export interface ScriptRunEntry extends ScriptRun {
	readonly run: string;
	readonly scope: SessionScope;
	/** What it waits for the person to answer. */
	readonly question?: string;
}

export const mainSession: SessionScope = { agent: "default", session: "main" };

function openQuestion(view: View, run: string): string | undefined {
	const state = view.get(journal);
	const lanes = lanesOf(state).filter((lane) => `${lane}/`.startsWith(`${scriptLane(run)}/`));
	const asked = lanes.flatMap((lane) => entriesOf(state, lane)).find((step) => step.name === "ask" && !step.outcome);
	return asked?.label;
}

/** The session of a scope; the main one where the scope is of none, or wider. */
export const sessionOf = ({ agent, session }: Scope): SessionScope =>
	agent !== undefined && session !== undefined ? { agent, session } : mainSession;

/**
 * Opens a state directory and restores what is in it. Nothing runs yet: `resume()` goes on with what was in flight.
 *
 * @throws WalError, SnapshotError, TimetravelError as their packages say; nothing is changed then
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
	const { state, readOnly = false, allowNetwork = false, clock = systemClock, ids = randomIds } = options;
	const layout = layoutOf(state);
	const snapshots = fileSnapshots(layout.snapshots);
	const wal = await openWal(fileEngine(layout.wal, { allowNetwork }), {
		records: allRecords,
		readOnly,
		clock,
		ids,
		proven: (logId) => newestSnapshot(snapshots, logId, [mainSession]),
	});
	try {
		const runtime = new Runtime(options, wal, layout, snapshots);
		await runtime.open();
		return runtime;
	} catch (error) {
		await wal.close();
		throw error;
	}
}

export class Runtime implements AsyncDisposable {
	readonly wal: Wal;
	readonly #options: RuntimeOptions;
	readonly #snapshots: SnapshotStore;
	readonly #layout: Layout;
	readonly #results: BlobStore;
	readonly #meter = new Meter();
	readonly #sessions = new Map<string, Session>();
	readonly #plans: PlanHost;
	readonly #skills: SkillHost;
	readonly #scripts: ScriptHost;
	/** Each session's first record, also where it was abandoned. */
	readonly #opened: WalRecord[] = [];
	#timeline!: Timeline;
	#resumed = false;
	/** The rewind that is under way. */
	#rewind: { covers(work: Classes): boolean; readonly over: Promise<void> } | undefined;

	/** Use {@link openRuntime}. */
	constructor(options: RuntimeOptions, wal: Wal, layout: Layout, snapshots: SnapshotStore) {
		this.wal = wal;
		this.#options = options;
		this.#snapshots = snapshots;
		this.#layout = layout;
		this.#results = fileBlobs(layout.results);
		const shared = {
			model: options.model,
			using: (session: Session, signal: AbortSignal) => this.#using(session, signal),
			emit: (event: RuntimeEvent) => this.#emit(event),
			deliver: (message: BackgroundMessage) => this.#deliver(message),
		};
		this.#plans = new PlanHost({
			...shared,
			layout,
			tools: options.tools,
			limits: { ...defaultPlanLimits, ...options.limits },
			meter: this.#meter,
			sleep: options.sleep ?? (async (ms, signal) => sleepFor(ms, undefined, { signal })),
		});
		this.#skills = new SkillHost({
			...shared,
			skills: options.skills ?? [],
			resume: options.skillResume ?? skillResumeSchema.parse({}),
			ids: options.ids ?? randomIds,
		});
		this.#scripts = new ScriptHost({
			...shared,
			layout,
			tools: options.tools,
			wal,
			timeline: () => this.#timeline,
			ids: options.ids ?? randomIds,
			ask: async (question) => options.ask?.(question),
			redact: options.redact && ((text) => options.redact?.(text) ?? text),
		});
	}

	/** Called once by {@link openRuntime}. */
	async open(): Promise<void> {
		const { readOnly = false } = this.#options;
		this.#timeline = await openTimeline({
			wal: this.wal,
			snapshots: this.#snapshots,
			projections,
			readOnly,
			kept: fileBlobs(this.#layout.kept),
			keptKinds: [sessionOpened.kind, rewindNote.kind],
			// Those of abandoned branches too.
			keptScopes: async () => this.#sessionsOf(this.#opened),
			inCycle: (view) => inToolCycle(view.get(conversation)),
			quiesce: (scope, { drop, over }) => this.#quiesce({ scope, ...(drop ? { drop } : {}) }, over),
			rebuild: (seq, scope) => this.#rebuild(seq, scope),
			deeds,
			// A snapshot is a shortcut: no turn, plan or run is given up for the want of one.
			snapshotFailed: (error) => this.#emit({ type: "notice", text: error.message }),
		});
		this.#opened.push(...(await this.#timeline.records()).filter(sessionOpened.is));
		for (const scope of this.#knownSessions()) await this.#load(scope);
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
		const sessions = [...this.#sessions.values()];
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
			undelivered: sessions.flatMap((session) => this.#undelivered(session)),
		};
	}

	/** Goes on with everything that was in flight: turns first, then skills and plans in the background. Paused work stays paused. */
	resume(): void {
		this.#resumed = true;
		for (const session of this.#sessions.values()) {
			this.#runTurns(session);
			for (const [run, { status }] of inFlightRuns(session.view.get(skillRuns)))
				if (status === "running") this.#skills.launch(session, run);
			for (const [plan, { status }] of inFlight(session.view.get(planRuns)))
				if (status === "running") this.#plans.launch(session, plan);
			const waiting = this.#undelivered(session);
			if (waiting.length > 0)
				session.start(deliveryWork(session.scope), async () => {
					for (const message of waiting) await this.#deliver(message);
				});
		}
	}

	/** The conversation as it is now. `default/main` always exists; another one is made by its first prompt. */
	conversation(scope: SessionScope = mainSession): ConversationState {
		return this.#session(scope).conversation;
	}

	/** The sessions that there are. */
	sessions(): readonly SessionScope[] {
		return [...this.#sessions.values()].map(({ scope }) => scope);
	}

	view(scope: SessionScope = mainSession): View {
		return this.#session(scope).view;
	}

	/**
	 * Gives a prompt to a session and resolves with its turn once the prompt is durable; the answer comes as events. One that
	 * comes during a rewind of the session waits for its end: it belongs to the line of history that this leads to.
	 */
	async prompt(text: string, scope: SessionScope = mainSession): Promise<Seq> {
		const session = await this.#open(scope);
		const { seq, durable } = session.log.append(userPrompt({ text, by: "person" }), session.scope);
		await durable;
		this.#resumed = true;
		this.#runTurns(session);
		return seq;
	}

	/** Stops the running turn of a session, if there is one; plans go on. */
	async interrupt(scope: SessionScope = mainSession): Promise<boolean> {
		const session = this.#session(scope);
		const turn = turnWork(session.scope);
		if (!session.isRunning(turn)) return false;
		await session.stop(turn, "interrupted by the user");
		return true;
	}

	/** Resolves when no turn, plan or skill is running. */
	async idle(): Promise<void> {
		for (const session of this.#sessions.values()) await session.idle();
	}

	/** Starts a skill, after a rewind of the session that is under way; gives the id of the run. */
	async runSkill(name: string, input: unknown, scope: SessionScope = mainSession): Promise<string> {
		await this.#rewound(scope);
		return this.#skills.start(this.#session(scope), name, input);
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
		this.findSkillRun(run);
		this.#resumed = true;
		await this.#skills.resume(this.#ownerOfRun(run), run);
	}

	/** @throws SkillError `SKILL_UNKNOWN_RUN` */
	async discardSkillRun(run: string): Promise<void> {
		this.findSkillRun(run);
		const session = this.#ownerOfRun(run);
		await this.#skills.discard(session, run, "discarded by the user");
	}

	/**
	 * A plan that is in flight.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, naming those that are
	 */
	findPlan(plan: string): PlanRun {
		return findPlan(this.#ownerOfPlan(plan).view.get(planRuns), plan);
	}

	/** @throws PlanError `PLAN_UNKNOWN` */
	async discardPlan(plan: string): Promise<void> {
		this.findPlan(plan);
		await this.#plans.discard(this.#ownerOfPlan(plan), plan, "discarded by the user");
	}

	/**
	 * Goes on with a plan, again from a step if one is named. Gives the steps that run again.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`
	 */
	async resumePlan(plan: string, from?: string): Promise<readonly string[]> {
		this.findPlan(plan);
		this.#resumed = true;
		return this.#plans.resume(this.#ownerOfPlan(plan), plan, from);
	}

	/** The script runs of all sessions, newest first. */
	scriptRuns(): readonly ScriptRunEntry[] {
		const all = [...this.#sessions.values()].flatMap(({ scope, view }) =>
			Object.entries(view.get(scriptRuns)).map(([run, state]) => {
				const question = openQuestion(view, run);
				return { run, scope, ...state, ...(question === undefined ? {} : { question }) };
			}),
		);
		return all.sort((a, b) => b.started - a.started);
	}

	/**
	 * Keeps a script and runs it, after a rewind of the session that is under way. Gives the id of the run at once, and how it
	 * ends. A run that is cut off stays open, and is never resumed by itself.
	 *
	 * @throws JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `DETERMINISM`; WalError `WAL_NOT_JSON`; nothing is written then
	 */
	async startScript(script: ScriptText, args: unknown, scope: SessionScope = mainSession): Promise<StartedScript> {
		await this.#rewound(scope);
		return this.#scripts.start(this.#session(scope), script, args);
	}

	/**
	 * Goes on with a script run, or runs an edited script on what it has recorded.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN`, `RUNTIME_SCRIPT_LOST`, `RUNTIME_SCRIPT_RUNS`, `RUNTIME_SCRIPT_OTHER`;
	 * JournalError as `startScript` does, and `REPLAY_DIVERGENCE` where it is strict; nothing is written then
	 */
	async resumeScript(run: string, how: ScriptResume = {}): Promise<StartedScript> {
		const session = this.#ownerOfScript(run);
		await this.#rewound(session.scope);
		return this.#scripts.resume(session, run, how);
	}

	/** Does nothing where `resumeScript` would begin. Reads only. @throws as that does */
	async checkResume(run: string, how: ScriptResume = {}): Promise<void> {
		await this.#scripts.check(this.#ownerOfScript(run), run, how);
	}

	/** What `resumeScript` would do and cost. Reads only. */
	explainScript(run: string, how: ScriptResume = {}): Promise<Explanation> {
		return this.#scripts.explain(this.#ownerOfScript(run), run, how);
	}

	/**
	 * Replays a script run, by default with the text that it has, and calls nothing: does it still do what is recorded?
	 *
	 * @throws as `resumeScript` does, and RuntimeError `RUNTIME_SCRIPT_PRUNED`
	 */
	verifyScript(run: string, script?: ScriptText): Promise<Verification> {
		return this.#scripts.verify(this.#ownerOfScript(run), run, script);
	}

	/** What a script run has done so far, and then what it does, here or in another process, until it ends or the signal aborts. */
	watchScript(run: string, signal: AbortSignal): AsyncIterable<ScriptEvent> {
		return this.#scripts.watch(this.#ownerOfScript(run), run, signal);
	}

	/** The text that a script run has now. @throws RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN`, `RUNTIME_SCRIPT_LOST` */
	scriptOf(run: string): Promise<ScriptText> {
		return this.#scripts.script(this.#ownerOfScript(run), run);
	}

	/** What a completed script run gave. @throws as {@link scriptOf} does */
	resultOf(run: string): Promise<unknown> {
		return this.#scripts.result(this.#ownerOfScript(run), run);
	}

	/** What a rewind to a seq would do. Reads only. */
	planRewind(seq: Seq, mode: RewindMode, scope: Scope = {}): Promise<RewindPlan> {
		return planRewind(this.#timeline, facets, seq, mode, scope);
	}

	/** Does what was previewed. A note joins the session that the plan is of, or else the main one. */
	applyRewind(plan: RewindPlan, actor: string, scope: SessionScope = sessionOf(plan.scope)): Promise<RewindResult> {
		const session = this.#session(scope);
		return applyRewind(this.#timeline, facets, plan, {
			actor,
			log: { append: (draft, at) => session.log.append(draft, at) },
			session: session.scope,
		});
	}

	/** Goes to any seq: an undo on the current line, a switch of branches elsewhere. What is outside the scope stays as it is. */
	checkout(seq: Seq, actor: string, scope: Scope = {}): Promise<Checkout> {
		return this.#timeline.checkout(seq, { actor, scope });
	}

	/**
	 * What differs between the states of a session at two seqs.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`; TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	async diff(a: Seq, b: Seq, scope: SessionScope = mainSession): Promise<StateDiff> {
		return this.#timeline.diff(a, b, this.#session(scope).scope);
	}

	/** Takes back the newest thing that a person did to the history, as `Timeline.undo` does. */
	undo(actor: string): Promise<Stepped> {
		return this.#timeline.undo({ actor });
	}

	redo(actor: string): Promise<Stepped> {
		return this.#timeline.redo({ actor });
	}

	/** Takes away what is older than the policy keeps, as `Timeline.gc` does. Plans keep their decompositions. */
	gc(policy: Omit<RetentionPolicy, "now"> & { readonly dryRun?: boolean } = {}): Promise<Collection> {
		const { clock = systemClock } = this.#options;
		return this.#timeline.gc({ ...policy, now: clock.now() });
	}

	/** Stops all that is under way; it stays in flight, and goes on at the next start. */
	cancel(): void {
		for (const session of this.#sessions.values()) session.cancel("the process was asked to stop");
	}

	/** Cancels what is under way, waits until it is quiet, and closes the log. */
	async close(): Promise<void> {
		this.cancel();
		await this.idle();
		await this.wal.close();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	/** The sessions of the current line of history. */
	#knownSessions(): readonly SessionScope[] {
		return this.#sessionsOf(this.#opened.filter((record) => this.#timeline.lineage.isActive(record)));
	}

	#sessionsOf(opened: readonly WalRecord[]): readonly SessionScope[] {
		const scopes = new Map([[scopeKey(mainSession), mainSession]]);
		for (const { scope } of opened) {
			const { agent, session } = scope;
			if (agent !== undefined && session !== undefined) scopes.set(scopeKey(scope), { agent, session });
		}
		return [...scopes.values()];
	}

	async #load(scope: SessionScope, { isNew = false } = {}): Promise<Session> {
		const key = scopeKey(scope);
		for (;;) {
			if (isNew) await this.#rewound(scope);
			const { resets } = this.#timeline.lineage;
			const view = await this.#timeline.at(this.wal.tip, scope);
			const known = this.#sessions.get(key);
			if (known) return known;
			// A rewind has come between: it may have taken this state back.
			if (this.#timeline.lineage.resets !== resets || (isNew && this.#isRewinding(scope))) continue;
			const session = new Session(scope, this.#timeline, view);
			this.#sessions.set(key, session);
			if (isNew) this.#opened.push(session.log.append(sessionOpened({}), scope).record);
			return session;
		}
	}

	#session(scope: SessionScope): Session {
		const session = this.#sessions.get(scopeKey(scope));
		if (session) return session;
		const known = [...this.#sessions.keys()].join(", ");
		throw new RuntimeError("RUNTIME_UNKNOWN_SESSION", `no session ${scopeKey(scope)}; there are ${known}`, { scope });
	}

	/** The session that a plan belongs to; for an unknown one the main session, whose own check then says what there is. */
	#ownerOfPlan(plan: string): Session {
		return [...this.#sessions.values()].find(({ view }) => plan in view.get(planRuns)) ?? this.#session(mainSession);
	}

	#ownerOfRun(run: string): Session {
		return [...this.#sessions.values()].find(({ view }) => run in view.get(skillRuns)) ?? this.#session(mainSession);
	}

	#ownerOfScript(run: string): Session {
		return [...this.#sessions.values()].find(({ view }) => run in view.get(scriptRuns)) ?? this.#session(mainSession);
	}

	/** Answers the open prompts of a session one after the other. */
	#runTurns(session: Session): void {
		const work = turnWork(session.scope);
		if (session.isRunning(work) || session.conversation.open.length === 0) return;
		session.start(work, async (signal) => {
			for (
				let [turn] = session.conversation.open;
				turn !== undefined && !signal.aborted;
				[turn] = session.conversation.open
			) {
				await this.#turn(session, turn, signal);
			}
		});
	}

	async #turn(session: Session, turn: Seq, signal: AbortSignal): Promise<void> {
		const { scope, log } = session;
		try {
			await runTurn(session, turn, {
				...this.#using(session, signal),
				// A conversation is folded from the steps of its turns: they hold what was said themselves.
				results: undefined,
				model: this.#options.model,
				tools: [...this.#options.tools, this.#plans.toolFor(session, turn)],
				onText: (delta) => this.#emit({ type: "text", scope, turn, delta }),
				onTool: ({ name, args }) => this.#emit({ type: "tool", scope, name, args }),
			});
			const title = promptText(session.conversation, turn);
			const seq = await session.checkpoint("turn", title.length > 60 ? `${title.slice(0, 59)}…` : title);
			this.#emit({ type: "turn_end", scope, turn, outcome: "completed" });
			this.#emit({ type: "checkpoint", seq, kind: "turn", title });
		} catch (error) {
			await this.#turnStopped(session, log, turn, signal, error);
		}
	}

	/** A turn that a rewind or the end of the process cut stays open: the rewind closes it, or the next start goes on with it. */
	async #turnStopped(
		session: Session,
		log: Session["log"],
		turn: Seq,
		signal: AbortSignal,
		error: unknown,
	): Promise<void> {
		const reason = stopReason(signal, error);
		const isLate = (error as { code?: unknown }).code === "STALE_LINEAGE";
		const isFinal = !isLate && (!signal.aborted || reason === "interrupted by the user");
		if (isFinal) await log.append(turnInterrupted({ turn, reason }), session.scope).durable;
		this.#emit({ type: "turn_end", scope: session.scope, turn, outcome: "interrupted", reason });
	}

	#using(session: Session, signal: AbortSignal): Using {
		// The log of now: what was started before a rewind keeps the one that no longer accepts it.
		const { log } = session;
		return {
			log,
			logId: this.wal.id,
			signal,
			recall: (step) => recall(session.view.get(journal), step),
			whenInDoubt: () => "retry",
			observe: (event) => this.#observe(event),
			results: this.#results,
			...(this.#options.redact && { redact: this.#options.redact }),
		};
	}

	#observe(event: StepEvent): void {
		this.#meter.observe(event);
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
	}

	#emit(event: RuntimeEvent): void {
		this.#options.onEvent?.(event);
	}

	async #deliver(message: BackgroundMessage): Promise<void> {
		const { onMessage } = this.#options;
		if (!onMessage) return;
		await onMessage(message);
		const session = this.#sessions.get(scopeKey(message.scope));
		if (session?.conversation.undelivered.includes(message.seq)) {
			await session.log.append(messageDelivered({ message: message.seq }), message.scope).durable;
		}
	}

	#undelivered({ scope, conversation }: Session): readonly BackgroundMessage[] {
		const { undelivered } = conversation;
		return since(conversation, undelivered[0] ?? Number.POSITIVE_INFINITY)
			.flatMap(([item]) =>
				item.type === "message" && undelivered.includes(item.seq)
					? [{ seq: item.seq, scope, from: item.from, text: item.text }]
					: [],
			)
			.toArray()
			.reverse();
	}

	/** The session of a scope, made if it is not there, while no rewind of it is under way. */
	async #open(scope: SessionScope): Promise<Session> {
		for (;;) {
			await this.#rewound(scope);
			const session = this.#sessions.get(scopeKey(scope)) ?? (await this.#load(scope, { isNew: true }));
			if (!this.#isRewinding(scope)) return session;
		}
	}

	/** Is a rewind under way that covers what a person begins in a session? */
	#isRewinding(scope: SessionScope): boolean {
		return this.#rewind?.covers(turnWork(scope)) === true;
	}

	async #rewound(scope: SessionScope): Promise<void> {
		while (this.#isRewinding(scope)) await this.#rewind?.over;
	}

	/** Cancels the work that a reset would cover and waits until it is quiet, or gives up before anything is written. */
	async #quiesce(coverage: Coverage, over: Promise<void>): Promise<void> {
		const covers = (work: Classes): boolean => isCovered(work, coverage);
		const sessions = [...this.#sessions.values()];
		for (const session of sessions) session.hold(covers);
		this.#rewind = { covers, over };
		void over.then(() => {
			for (const session of sessions) session.release();
			this.#rewind = undefined;
		});
		const cancelled = sessions.flatMap((session) => session.cancel("a rewind is under way", covers));
		const limit = new AbortController();
		const quiet = Promise.all(sessions.map((session) => session.idle(covers))).then(() => "quiet" as const);
		const late = sleepFor(this.#options.quietMs ?? 5000, "late" as const, { signal: limit.signal }).catch(
			() => "quiet" as const,
		);
		if ((await Promise.race([quiet, late])) === "late") {
			const still = sessions.flatMap((session) => session.running(covers));
			throw new RuntimeError(
				"RUNTIME_NOT_QUIET",
				`${still.join(", ")} did not stop in time; nothing was rewound. Cancelled: ${cancelled.join(", ")}; it goes on with resume, or at the next start`,
				{ still, cancelled },
			);
		}
		limit.abort();
	}

	/** Takes every session to the state that the reset made current, and settles its background work. */
	async #rebuild(seq: Seq, scope: Scope): Promise<void> {
		const reset = this.#timeline.lineage.resets.find((each) => each.seq === seq) as Reset;
		const moved = (): Session[] =>
			[...this.#sessions.values()].filter((each) => within(each.scope, scope) || within(scope, each.scope));
		for (const session of moved()) await session.rebuild(this.wal.tip);
		const known = new Map(this.#knownSessions().map((each) => [scopeKey(each), each]));
		for (const key of [...this.#sessions.keys()]) if (!known.has(key)) this.#sessions.delete(key);
		for (const [key, each] of known) if (!this.#sessions.has(key)) await this.#load(each);

		const starts = new Set(moved().flatMap(({ view }) => openStarts(view.get(journal))));
		const found = await outcomesBeyond(reset.target, starts, { wal: this.wal, lineage: this.#timeline.lineage });
		const outcomes = found.filter(({ scope: at, draft }) => isCovered({ scope: at, kinds: [draft.kind] }, reset));
		for (const session of moved()) {
			for (const { draft, scope: at } of outcomes)
				if (within(at, session.scope) && isAwaited(session.view.get(journal), draft)) session.log.append(draft, at);
			this.#settle(session, settlement(await this.#timeline.at(seq - 1, session.scope), session.view, reset));
		}
	}

	/** What goes on does so when the rewind is over: until it is recorded as settled, nothing but this is appended here. */
	#settle(session: Session, { interrupt, pause, relaunch }: Settlement): void {
		const { log, scope } = session;
		for (const turn of interrupt)
			log.append(turnInterrupted({ turn, reason: "a rewind went back into this turn" }), scope);
		for (const plan of pause.plans) log.append(planPaused({ plan }), { ...scope, run: plan });
		for (const run of pause.runs) log.append(skillRunPaused({ run }), { ...scope, run });
		if (!this.#resumed) return;
		void this.#rewind?.over.then(() => {
			for (const plan of relaunch.plans) this.#plans.launch(session, plan);
			for (const run of relaunch.runs) this.#skills.launch(session, run);
		});
	}
}
