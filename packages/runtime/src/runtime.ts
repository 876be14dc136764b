/** The runtime, the main class of this package: one log, its timeline, and sessions with turns, plans, skills and scripts. */
import type { InDoubtPolicy, Model, ModelPolicy, Prices, WorkFiles } from "@reyn/journal";
import { openRuns } from "@reyn/journal/internal";
import { scriptRuns } from "@reyn/journal/script";
import {
	findPlan,
	inFlight,
	type PlanAmendment,
	type PlanLimits,
	type PlanRun,
	planIn,
	planLane,
	planRuns,
	plansOf,
} from "@reyn/plan";
import { costOf } from "@reyn/plan/internal";
import {
	applyRewind,
	type Facets,
	previewRewind,
	type RewindMode,
	type RewindPreview,
	type RewindResult,
	rewindModes,
} from "@reyn/rewind-modes";
import { meaningOf } from "@reyn/rewind-modes/internal";
import {
	type ChildPurity,
	type FoundSkills,
	findRun,
	inFlightRuns,
	type Skill,
	type SkillResume,
	type SkillRun,
	skillRunIn,
	skillRuns,
} from "@reyn/skill-resume";
import type { View } from "@reyn/snapshot";
import type { Checkout, StateDiff, StepOptions, Stepped, Timeline } from "@reyn/timetravel";
import { assertActor } from "@reyn/timetravel/internal";
import type { Clock, Draft, Ids, Scope, Seq, Timers, TornTail, Wal } from "@reyn/wal";
import type { RuntimeEvent } from "./events.ts";
import type { SpentOnWork } from "./features/budget/budget-host.ts";
import type { BudgetOptions } from "./features/budget/options.ts";
import type { ConfigFiles } from "./features/config/config-files.ts";
import { type Adoption, answerAt } from "./features/conversation/adopted.ts";
import { assertCompactable } from "./features/conversation/compaction.ts";
import {
	type ConversationState,
	conversation,
	hasMessageFrom,
	isCompaction,
	modelOf,
	promptText,
} from "./features/conversation/conversation.ts";
import type { BackgroundMessage } from "./features/conversation/events.ts";
import { TURN, undeliveredIn } from "./features/conversation/pieces.ts";
import { messageAdopted } from "./features/conversation/records.ts";
import { INSTRUCTIONS } from "./features/conversation/turn.ts";
import type { GivenFile, PromptOptions } from "./features/conversation/turns.ts";
import type { FileHistory } from "./features/files/file-history.ts";
import type { FileRestore, FilesPreview, FilesRestored, Theirs } from "./features/files/file-restore.ts";
import { type BuiltIn, builtIn } from "./features/index.ts";
import type { PermissionMode } from "./features/permission/decide.ts";
import type { PermissionOptions, Permissions } from "./features/permission/permission-host.ts";
import { planWork } from "./features/plan/pieces.ts";
import type { AmendPreview, OnLimit, PlanResume, ResumePreview, StepOfPlan } from "./features/plan/plan-host.ts";
import type { ProposalOptions } from "./features/plan/proposal.ts";
import { rewoundPlans } from "./features/plan/rewound.ts";
import { SCRIPT } from "./features/script/pieces.ts";
import type { Scripts, StartedScript } from "./features/script/scripts.ts";
import type { FindSkills } from "./features/skill/known-skills.ts";
import { type ChildRun, childrenOf, type ParentStep, parentStep, SKILL, skillWork } from "./features/skill/pieces.ts";
import type { TaskOptions, Tasks } from "./features/task/task-host.ts";
import type { TasksAlong } from "./features/task/task-restore.ts";
import { type AgentOptions, Agents } from "./kernel/agents.ts";
import { RuntimeError } from "./kernel/errors.ts";
import type { Feature, FeatureHost, Piece } from "./kernel/feature.ts";
import {
	type CollectionPolicy,
	type InDoubtOptions,
	type KernelOptions,
	type OpenKernel,
	openKernel,
} from "./kernel/kernel.ts";
import { undaunted } from "./kernel/listener.ts";
import type { MeterReading } from "./kernel/meter.ts";
import type { Subscription } from "./kernel/pump.ts";
import { ADOPT, ENDED } from "./kernel/records.ts";
import type { AskPerson, From, OpenQuestion } from "./kernel/services.ts";
import type { Session, SessionScope } from "./kernel/session.ts";
import { mainSession, sessionOf } from "./kernel/sessions.ts";
import { ENDS_WORK, isInFlight } from "./kernel/settle.ts";
import type { Store } from "./kernel/store.ts";
import type { Collection } from "./stores/artifacts.ts";
import { fileStore } from "./stores/state-directory.ts";

export interface RuntimeOptions {
	/** The state directory, usually `.reyn`: short for `store: fileStore(state)`. */
	readonly state?: string;
	/** The store of the state, in place of `state`. */
	readonly store?: Store;
	readonly model: Model;
	/**
	 * Finds a model by its id, for work that was begun with another one than its agent has now: it goes on with that. Undefined, or without
	 * this option: it goes on with that of its agent, and what is recorded is not paid again.
	 */
	models?(id: string): Model | undefined;
	/** The tools of turns and plan steps. */
	readonly tools: AgentOptions["tools"];
	/**
	 * The instructions that the model gets before each conversation; a function is asked when a turn begins or goes on, and if it
	 * throws, the turn fails. Default: to answer from files, with sources.
	 */
	readonly instructions?: AgentOptions["instructions"];
	/** Agents that differ from these options, by name: each has the options given here, and the rest as above. */
	readonly agents?: Readonly<Record<string, Partial<AgentOptions>>>;
	/** The files that tools change, so that it can be said what they hold now: `createWorkFiles` of `@reyn/tools`. Default: that is unknown. */
	readonly files?: WorkFiles;
	/** Keep what a file held before a tool changes it, as long as one can go back to before: see `files` of a runtime. Default: true. */
	readonly images?: boolean;
	/** Kinds of work of your own, beside conversations, plans, skills and scripts. */
	readonly features?: readonly Feature[];
	readonly skills?: readonly Skill[];
	/**
	 * Finds more skills, such as `findSkills` of `@reyn/skill-resume/files` does: asked when a process opens the state to work, and again
	 * when a skill is to be started or looked for. A reader asks for them with `skills()` alone. It never throws.
	 */
	readonly findSkills?: FindSkills;
	readonly limits?: Partial<PlanLimits>;
	/** Whether turns may propose plans, and whether a person is asked before one starts. */
	readonly plans?: ProposalOptions;
	/** How many rounds of model and tools a turn may take before a person is asked whether it goes on. Default: 50. */
	readonly turnRounds?: number;
	readonly skillResume?: SkillResume;
	/** Where tasks live, which may be bound to sessions: `tasks` of a runtime. Default: nowhere. */
	readonly tasks?: TaskOptions;
	/** What becomes of a plan that a process left unfinished, at the next `resume()`: see {@link PlanResume}. Default: `retry_pending`. */
	readonly planResume?: PlanResume;
	/**
	 * What becomes of a skill that a plan's step has started, and that a process left open, when the step goes on: by the skill's purity,
	 * it goes on (`adopt`), or is ended and run anew (`cancel`). Default: `pure` ones are cancelled, all others are adopted.
	 */
	readonly childPurity?: ChildPurity;
	/** What becomes of a step of a plan at one of its limits where nobody can be asked: see {@link OnLimit}. Default: it fails. */
	readonly onLimit?: OnLimit;
	/** What becomes of calls of turns, plans and scripts that a crash cut. Default: they are made again, but for what their tools say. */
	readonly inDoubt?: InDoubtOptions;
	/**
	 * Read without the lock: nothing is written and nothing runs. `true` shows what is known to be durable; `as recovered` shows what a
	 * process would find that opened the state now, which `explain`, `check` and `verify` need to predict a resume. Default: false.
	 */
	readonly readOnly?: boolean | "as recovered";
	/**
	 * Gets all events from the open on, in the process that works; see `subscribe`. An event of a record comes once the record is
	 * durable. An error that it throws becomes a warning of the process (`REYN_LISTENER`), and later events come all the same.
	 */
	onEvent?(event: RuntimeEvent): void;
	/**
	 * Shows a text from the background to the user. The text counts as delivered once this resolves; if it rejects, the text waits.
	 * `idle`, `close`, a rewind and a discard wait for it, so give it a time limit if it sends over a network.
	 */
	onMessage?(message: BackgroundMessage): Promise<void>;
	/**
	 * Takes secrets out of all texts that are recorded; models, tools and people get the redacted text too. `redactSecrets(process.env)`
	 * knows the usual secrets. Redacting a redacted text must change nothing. Default: nothing is taken out.
	 */
	redact?(text: string): string;
	readonly clock?: Clock;
	readonly ids?: Ids;
	/** The timers of pauses between tries and of time limits. Default: those of the system. */
	readonly timers?: Timers;
	/** Draws from 0 to below 1, for pauses. Default: `Math.random`. */
	random?(): number;
	/** How often a model is asked for an answer, and how long one try may take. Default: as `askModel` of `@reyn/journal` has it. */
	readonly modelPolicy?: ModelPolicy;
	/** Keep the log in `state` on a network file system, whose locks and syncs may not hold. Default: false, which refuses one. */
	readonly allowNetwork?: boolean;
	/** Puts a question to a person, perhaps beside others. Undefined: they leave it open. Default: who answers calls `answer`. */
	readonly ask?: AskPerson;
	/**
	 * What becomes of work whose question nobody has answered: `wait` for it here, `stop` and go on when it is answered, or `deny` what
	 * needs a permission, without asking, and stop at a limit. A script whose question is left open stops. Default: `wait`.
	 */
	readonly unanswered?: "wait" | "stop" | "deny";
	/** Give models the tool `ask_user`. Default: false. */
	readonly askUser?: boolean;
	/** Which calls of tools are made, and about which a person is asked. Default: every call is made. */
	readonly permissions?: PermissionOptions;
	/** How many tokens and dollars a turn, a plan, a session and a day may spend before a person is asked. Default: no limit. */
	readonly budget?: BudgetOptions;
	/** What models cost, by their ids. Default: none is known, so what calls cost is unknown. */
	readonly prices?: Prices;
	/**
	 * Run scripts in a process of their own, which has no files, programs or environment, only the calls of the script: `checkScript`
	 * has the same option. Default: false.
	 */
	readonly isolate?: boolean;
	/**
	 * Called when a script of this process begins to compute, with the milliseconds that it may take; the function that it returns is
	 * called when the script is done. Some functions of JavaScript cannot be stopped by V8, and block the whole process: a watching
	 * thread can notice that, and end the process. `checkScript` has the same option. Default: nothing is called.
	 */
	watchTimeSlice?(limitMs: number): () => void;
	/** How long a rewind waits for work to stop, in milliseconds. Default: 5000. */
	readonly quietMs?: number;
	/**
	 * What stays of the audit trail (`events/` of a state directory): files of the last `keepDays` days on which something was written, of which all together have at most
	 * `maxBytes`. Default: 90 days, 100 MB.
	 */
	readonly trail?: { readonly keepDays?: number; readonly maxBytes?: number };
}

/** A plan, and how far it has come. */
export interface PlanEntry {
	readonly scope: SessionScope;
	readonly plan: string;
	readonly goal: string;
	/** `failed`: it has its answer, though its last step has failed. `rewound`: a move went to before its start. */
	readonly status: PlanRun["status"] | "failed" | "rewound";
	/** Why it is paused, was given up, or is rewound. Absent: it is not, or nobody has said why. */
	readonly why?: string;
	/** How many of the `size` steps are finished, and what their model calls cost: those are not paid for again. */
	readonly finished: number;
	/** How many have failed. */
	readonly failed: number;
	readonly size: number;
	readonly calls: number;
	readonly tokens: number;
	/** The tokens of all answers in it and below, of tries before and steps under way too: what `planTokens` limits. Absent: none is known. */
	readonly allTokens?: number;
	/** How often that limit was extended. Absent: never. */
	readonly extended?: number;
	/** The id of the model that it was begun with. Absent: unknown; so are those of other work. */
	readonly model?: string;
	/** Who waits for its answer, by a name of theirs. Absent: nobody. */
	readonly chain?: string;
	/** Of one that is rewound: the seq of the move, before which it was there. */
	readonly leftBy?: Seq;
}

/** A step of a plan, and the skill runs that it has called. */
export type StepWithChildren = StepOfPlan & {
	/** Oldest first; those of attempts before, too. */
	readonly children: readonly ChildRun[];
	/** A child of it is open, and nobody works on it: it goes on when its plan does. */
	readonly isInterrupted?: true;
};

/** What is unfinished in a state. */
export interface Restored {
	readonly tip: Seq;
	/** Bytes after the last sound record that were set aside. */
	readonly torn: TornTail | undefined;
	readonly turns: readonly {
		readonly scope: SessionScope;
		readonly turn: Seq;
		/** What was asked; empty for a compaction. */
		readonly text: string;
		/** Does it tell in short what was said, and nothing else? */
		readonly isCompaction?: true;
		readonly model?: string;
	}[];
	readonly plans: readonly PlanEntry[];
	readonly runs: readonly {
		readonly scope: SessionScope;
		readonly run: string;
		readonly skill: string;
		readonly phase: string | undefined;
		readonly status: string;
		/** Why it is paused. Absent: it is not, or a rewind has paused it. */
		readonly why?: string;
		readonly model?: string;
		/** The hash of the text of its skill when it began. Absent: unknown, or it lies in no file. */
		readonly hash?: string;
		/** The step of a plan, or the phase of a run, that it is a child of, and goes on with. Absent: it is none. */
		readonly parent?: ParentStep;
	}[];
	/** Script runs that are open; each is resumed by name. */
	readonly scripts: readonly {
		readonly scope: SessionScope;
		readonly run: string;
		readonly name: string;
		readonly model?: string;
	}[];
	/** Texts that were not shown yet; of a large one, its beginning. */
	readonly undelivered: readonly BackgroundMessage[];
	/** Unfinished work of the embedder's own features. */
	readonly others: readonly (Pick<Piece, "kind" | "id" | "title" | "status"> & { readonly scope: SessionScope })[];
}

/** A question that was answered. */
export interface Answered extends Partial<StartedScript> {
	/** The seq of the question. */
	readonly question: Seq;
	/** The work that had asked, and goes on. */
	readonly from: From;
}

/** What a move does with the files that tools have changed. */
export interface FilesAlong {
	/** They go along. Default: they stay. */
	readonly files?: boolean;
	/** Those that somebody else has changed since, to be taken all the same, as `previewFiles` has shown them. */
	readonly theirs?: readonly Theirs[];
	/** Where `previewFiles` would keep any file as it is, nothing is moved. Default: it stays, and is named. */
	readonly allOrNothing?: boolean;
}

/** How a rewind is made. Files go along where its preview says so. */
export interface Rewinding {
	/** Whose conversation gets the note of `summarize`. Default: the session of the preview, else the main session. */
	readonly session?: SessionScope | undefined;
	/** As in {@link FilesAlong}. */
	readonly theirs?: readonly Theirs[] | undefined;
	readonly allOrNothing?: boolean | undefined;
	/**
	 * A turn that is open at the target, to go on from there: what it had done by then is recalled, the rest is done again. Default: it is
	 * closed as interrupted.
	 */
	readonly turn?: Seq | undefined;
}

export type StepConfirmed = Omit<StepOptions, "actor" | "along"> & Omit<FilesAlong, "files">;

/** What became of files, where a move has taken any along. */
export interface WithFiles {
	readonly files?: FilesRestored;
}

/** Where tasks have gone back to, where a move has taken them along. */
export interface WithTasks {
	readonly tasks?: TasksAlong;
}

/** Binds an action to the preview that a person has confirmed. */
export interface Confirmed {
	/** The tip of the preview: if a later record makes it stale, the action is refused. Absent: no check. */
	readonly expect?: Seq;
}

/**
 * Opens a state and restores what is in it. Nothing runs yet: `resume()` goes on with unfinished work.
 *
 * @throws RuntimeError `RUNTIME_BUDGET`, `RUNTIME_FEATURES`, `RUNTIME_PERMISSIONS`, `RUNTIME_STORE`, `RUNTIME_TOOLS`; WalError, SnapshotError, TimetravelError as their packages say; JournalError `STEP_PURITY` of a
 * tool; nothing is changed then
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
	const parts = partsOf(options);
	const kernel = await openKernel(parts.kernel);
	// Nothing has begun yet, so that what goes on finds its skill.
	if (!options.readOnly) await kernel.hostOf(parts.builtIn.skill).skills.look();
	return new Runtime(kernel, parts.builtIn);
}

/** @throws RuntimeError `RUNTIME_STORE` */
function storeOf({ state, store, allowNetwork }: RuntimeOptions): Store {
	if (store !== undefined && state === undefined) return store;
	if (state !== undefined && store === undefined) return fileStore(state, { allowNetwork });
	throw new RuntimeError("RUNTIME_STORE", "expected either `state`, a directory, or `store`; found both, or none");
}

/** The kernel options and built-in features that runtime options stand for. @throws RuntimeError `RUNTIME_STORE`, `RUNTIME_TOOLS`; JournalError `STEP_PURITY` of a tool */
export function partsOf(options: RuntimeOptions): { readonly kernel: KernelOptions; readonly builtIn: BuiltIn } {
	const { agents = {}, features = [], onEvent, redact, instructions = INSTRUCTIONS, model, tools } = options;
	const ours = builtIn(options);
	const kernel: KernelOptions = {
		...options,
		store: storeOf(options),
		features: [...ours.list, ...features],
		redact: redact && ((text) => redact(text)),
		agents: new Agents({ model, tools, instructions }, agents, options.models?.bind(options)),
		// Events of the embedder's own features come here too.
		emit: onEvent && undaunted((event) => onEvent(event as RuntimeEvent)),
	};
	return { kernel, builtIn: ours };
}

const said = (model: string | undefined): { readonly model?: string } => (model === undefined ? {} : { model });

export class Runtime implements AsyncDisposable {
	/** Script runs: start, resume, preview and verify them. */
	readonly scripts: Scripts;
	/** What tools have changed in files, and what those held before. */
	readonly files: FileHistory;
	/** The configuration files of the state, which follow rewinds. */
	readonly config: ConfigFiles;
	/** Tasks in another system: those that are bound to sessions follow rewinds here, and are taken back there only where that was asked for (`rewind`). */
	readonly tasks: Tasks;
	readonly #kernel: OpenKernel;
	readonly #builtIn: BuiltIn;
	readonly #restore: FileRestore;

	/** Use {@link openRuntime}. */
	constructor(kernel: OpenKernel, builtIn: BuiltIn) {
		this.#kernel = kernel;
		this.#builtIn = builtIn;
		this.scripts = kernel.hostOf(builtIn.script).scripts;
		({ history: this.files, restore: this.#restore } = kernel.hostOf(builtIn.files));
		this.config = kernel.hostOf(builtIn.config);
		this.tasks = kernel.hostOf(builtIn.task);
	}

	get wal(): Wal {
		return this.#kernel.wal;
	}

	get timeline(): Timeline {
		return this.#kernel.timeline;
	}

	/**
	 * The host of a feature: pass the same feature object that `openRuntime` was given.
	 *
	 * @throws RuntimeError `RUNTIME_FEATURES` for a feature that it was not given
	 */
	hostOf<Host extends FeatureHost>(feature: Feature<Host>): Host {
		if (this.features.includes(feature)) return this.#kernel.hostOf(feature);
		const { name } = feature;
		const found = this.features.some((each) => each.name === name)
			? `a feature named ${name} was given to openRuntime, and it is another object`
			: `no feature named ${name} was given to openRuntime`;
		throw new RuntimeError("RUNTIME_FEATURES", `${found}; give the same one to openRuntime and to hostOf`, {
			feature: name,
		});
	}

	/** All features, the built-in ones included. */
	get features(): readonly Feature[] {
		return this.#kernel.features;
	}

	/** Which kinds of record are talk and which are work: what a rewind by mode takes along. */
	get facets(): Facets {
		return this.#kernel.composition.facets;
	}

	/** Model calls and tokens of this process: those that replays saved, and those that were paid for. */
	get meter(): MeterReading {
		return this.#kernel.meter;
	}

	/** What models cost, as the runtime was told. */
	get prices(): Prices {
		return this.#kernel.hostOf(this.#builtIn.budget).prices;
	}

	/**
	 * What a work of a session has cost, whatever process worked on it, on all lines of history: of the newest 32 days on which something
	 * was spent in the session.
	 *
	 * @param work as lanes begin: `turn/12`, `plan/p20`
	 */
	spentOn(scope: SessionScope, work: string): Promise<SpentOnWork> {
		return this.#kernel.hostOf(this.#builtIn.budget).spentOn(scope, work);
	}

	/**
	 * The events from a seq on, also for a reader: first those of records after it that count now, then new ones, in the order of the
	 * log, each once. Events without a record, such as pieces of text, have no `seq` and come in the working process alone; a listener
	 * that is more than 1,000 of them late loses the oldest, and gets `missed` with their number. The iterator ends with the signal, and
	 * with `close`.
	 *
	 * @throws WalError `WAL_TRUNCATED` if `gc` has removed records after `after`
	 */
	subscribe(options: Subscription = {}): AsyncIterableIterator<RuntimeEvent> {
		return this.#kernel.subscribe(options) as AsyncGenerator<RuntimeEvent>;
	}

	/**
	 * Brings a reader up to what is durable by now, without reading the log again: afterwards it is as if it were opened anew. What is
	 * asked meanwhile may be answered for any moment between. For a writer nothing happens.
	 *
	 * @returns the tip
	 * @throws WalError as `refresh` of a log does: after `WAL_TRUNCATED` and `WAL_CORRUPT` open the state anew; TimetravelError
	 */
	refresh(): Promise<Seq> {
		return this.#kernel.refresh();
	}

	/** The unfinished work, and the texts that wait to be shown. */
	restored(): Restored {
		const sessions = [...this.#kernel.sessions];
		const piecesIn = ({ view }: Session, features = this.features): readonly Piece[] =>
			features.flatMap((feature) => feature.pieces?.(view) ?? []);
		return {
			tip: this.wal.tip,
			torn: this.wal.torn,
			turns: sessions.flatMap((session) =>
				stateOf(session).open.map((turn) => ({
					scope: session.scope,
					turn,
					text: promptText(stateOf(session), turn),
					...(isCompaction(stateOf(session), turn) && { isCompaction: true as const }),
					...said(modelOf(stateOf(session), turn)),
				})),
			),
			plans: sessions.flatMap(({ scope, view }) =>
				inFlight(view.get(planRuns)).map(([plan, run]) => planEntry(scope, plan, run)),
			),
			runs: sessions.flatMap(({ scope, view }) =>
				inFlightRuns(view.get(skillRuns)).map(([run, { skill, phase, status, why, model, hash, parent }]) => ({
					...{ scope, run, skill, phase, status },
					...(why !== undefined && { why }),
					...(hash !== undefined && { hash }),
					...said(model),
					...(parent !== undefined && { parent: parentStep(parent) }),
				})),
			),
			scripts: sessions.flatMap(({ scope, view }) =>
				openRuns(view.get(scriptRuns)).map(([run, { name, model }]) => ({ scope, run, name, ...said(model) })),
			),
			undelivered: sessions.flatMap((session) => [
				...undeliveredIn(session.view).map(({ spilled: _beside, ...each }) => each),
				...unsaid(session, piecesIn(session)),
			]),
			others: sessions.flatMap((session) =>
				piecesIn(
					session,
					this.features.filter((each) => !this.#builtIn.list.includes(each)),
				)
					.filter(({ status }) => status !== "over")
					.map(({ kind, id, title, status }) => ({ scope: session.scope, kind, id, title, status })),
			),
		};
	}

	/**
	 * Goes on with all unfinished work: turns first, then skills and plans in the background. Paused work stays paused. Another call
	 * goes on with work that has stopped since.
	 */
	resume(): void {
		this.#kernel.resume();
	}

	/** The conversation as it is now. `default/main` always exists; another one is made by its first prompt, skill or script. */
	conversation(scope: SessionScope = mainSession): ConversationState {
		return stateOf(this.#kernel.sessions.at(scope));
	}

	/** The sessions of the current line of history. */
	sessions(): readonly SessionScope[] {
		return [...this.#kernel.sessions].map(({ scope }) => scope);
	}

	view(scope: SessionScope = mainSession): View {
		return this.#kernel.sessions.at(scope).view;
	}

	/**
	 * Gives a prompt to a session, and resolves with its turn once the prompt is durable; the answer comes as events. A prompt during a
	 * rewind of the session waits for its end, and belongs to the line of history that it leads to. Turns that were cut, by a crash or
	 * because the model was away, go on first; the same prompt as such a turn resumes it, and asks nothing new.
	 *
	 * @param files images and PDFs that the model is shown with it. They are kept beside the log, as they are: no secret is taken out
	 * @throws RuntimeError `RUNTIME_CLOSED` after `close`, as every method does that begins or changes something; JournalError
	 * `FILE_REFUSED` for a file that cannot be attached, or that the model does not take, and nothing is recorded
	 */
	prompt(
		text: string,
		scope: SessionScope = mainSession,
		files: readonly GivenFile[] = [],
		options: PromptOptions = {},
	): Promise<Seq> {
		return this.#kernel.hostOf(this.#builtIn.conversation).turns.prompt(text, scope, files, options);
	}

	/**
	 * Begins a turn that tells in short what was said in a session so far, and resolves with it once that is durable: see `compacted`. Nothing
	 * of it is gone, and `undo` shows it to the model again. Prompts that come meanwhile wait for its end.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`; `RUNTIME_COMPACTION` while a turn of it is not over, and where nothing was said since it
	 * was told in short. Nothing is recorded then
	 */
	compact(scope: SessionScope = mainSession): Promise<Seq> {
		return this.#kernel.hostOf(this.#builtIn.conversation).turns.compact(scope);
	}

	/** Refuses what {@link compact} would refuse now. @throws as that does */
	checkCompaction(scope: SessionScope = mainSession): void {
		assertCompactable(this.#kernel.sessions.at(scope));
	}

	/** Stops the running turn of a session, if there is one; plans go on. */
	interrupt(scope: SessionScope = mainSession): Promise<boolean> {
		return this.#kernel.hostOf(this.#builtIn.conversation).turns.interrupt(this.#kernel.sessions.at(scope));
	}

	/** What people are asked and have not answered, oldest first, by scripts too. */
	questions(): readonly OpenQuestion[] {
		const ofScripts = this.scripts
			.list()
			.flatMap(({ run, scope, questions }) =>
				questions.map((each) => ({ ...each, scope, from: { kind: SCRIPT, id: run } })),
			);
		return [...this.#questions.open(), ...ofScripts].sort((a, b) => a.seq - b.seq);
	}

	/**
	 * Answers a question, and resolves once the answer is durable. Work that waits for it goes on; so does work that does not run here,
	 * such as a turn that was cut while it waited, and a script.
	 *
	 * @param by who answers
	 * @returns the work that had asked; of a script its end too
	 * @throws RuntimeError `RUNTIME_UNKNOWN_QUESTION`, naming the open ones; `RUNTIME_ANSWER` where that is no answer to it; what
	 * `scripts.resume` throws
	 */
	async answer(seq: Seq, text: string, by: string): Promise<Answered> {
		this.#kernel.assertOpen();
		const open = this.questions();
		const { from } = open.find((each) => each.seq === seq) ?? {};
		if (from?.kind === SCRIPT && this.scripts.asks(from.id, seq))
			return { question: seq, from, ...(await this.scripts.answer(from.id, text, seq)) };
		const answered = from && (await this.#kernel.toItsEnd(() => this.#questions.answer(seq, text, by)));
		if (answered?.kind === SKILL) this.tasks.follow(answered.id);
		if (answered)
			return {
				...{ question: seq, from: answered },
				// It went away while one of its calls waited.
				...(answered.kind === SCRIPT && (await this.scripts.goOn(answered.id))),
			};
		const known = open.map((each) => each.seq);
		throw new RuntimeError(
			"RUNTIME_UNKNOWN_QUESTION",
			`nobody asks #${seq} now; open are ${known.map((each) => `#${each}`).join(", ") || "none"}`,
			{ question: seq, known },
		);
	}

	/** What may be done without a question, what may not be done, and what people have granted. */
	permissions(): Promise<Permissions> {
		return this.#kernel.hostOf(this.#builtIn.permission).permissions();
	}

	/** What tools do without a question; undefined: every call is made. */
	get permissionMode(): PermissionMode | undefined {
		return this.#kernel.hostOf(this.#builtIn.permission).mode;
	}

	/**
	 * Changes that for this process, from the next call on. What was asked already waits for its answer, and is denied where the mode
	 * denies it then. Tools are those that the runtime was opened with.
	 *
	 * @throws RuntimeError `RUNTIME_PERMISSIONS`
	 */
	changePermissionMode(mode: PermissionMode): void {
		this.#kernel.assertOpen();
		this.#kernel.hostOf(this.#builtIn.permission).change(mode);
	}

	/**
	 * Takes back what a person has granted, from the next call on.
	 *
	 * @param grant its seq
	 * @throws RuntimeError `RUNTIME_UNKNOWN_GRANT`, naming those that there are
	 */
	async revokePermission(grant: Seq, by: string): Promise<void> {
		this.#kernel.assertOpen();
		await this.#kernel.toItsEnd(() => this.#kernel.hostOf(this.#builtIn.permission).revoke(grant, by));
	}

	get #questions() {
		return this.#kernel.hostOf(this.#builtIn.question);
	}

	/** Resolves when no turn, plan or skill is running, and no move is under way that would set one going again. */
	idle(): Promise<void> {
		return this.#kernel.idle();
	}

	/** The skills that there are now, and what gives none, with why: a run of such a one waits until it loads again. */
	skills(): Promise<FoundSkills> {
		return this.#kernel.hostOf(this.#builtIn.skill).skills.look();
	}

	/** Starts a skill, and resolves with the id of the run. Waits for a rewind of the session that is under way; a new session is opened. */
	async runSkill(name: string, input: unknown, scope: SessionScope = mainSession): Promise<string> {
		this.#kernel.assertOpen();
		const session = await this.#kernel.beforeClose(this.#kernel.sessions.ensure(scope));
		return this.#kernel.hostOf(this.#builtIn.skill).start(session, name, input);
	}

	/**
	 * The skill run of an id that is in flight.
	 *
	 * @throws SkillError `SKILL_UNKNOWN_RUN`, naming the runs in flight
	 */
	findSkillRun(run: string): SkillRun {
		return findRun(this.#ownerOfRun(run).view.get(skillRuns), run);
	}

	/**
	 * The id of the model that work of a session goes on with.
	 *
	 * @param begunWith the id of the model that it was begun with: that one, where it is to be had, else that of its agent
	 */
	goesOnWith(scope: SessionScope, begunWith: string): string {
		return this.#kernel.agent(scope, begunWith).model.id;
	}

	/** What becomes of a step in doubt of this skill, once its `reconcile` was asked and does not know. */
	skillInDoubt(skill: string): InDoubtPolicy {
		return this.#kernel.hostOf(this.#builtIn.skill).inDoubt(skill);
	}

	/**
	 * Goes on with a skill run that is paused, by a rewind or since it has failed, or its process died, in the same place at three starts.
	 * The task that has started it is told what comes of it.
	 *
	 * @throws SkillError `SKILL_UNKNOWN_RUN`
	 */
	async resumeSkillRun(run: string): Promise<void> {
		this.#kernel.assertOpen();
		this.findSkillRun(run);
		await this.#kernel.hostOf(this.#builtIn.skill).resume(this.#ownerOfRun(run), run);
		this.tasks.follow(run);
	}

	/** @throws SkillError `SKILL_UNKNOWN_RUN`; TimetravelError `TIMETRAVEL_STALE` */
	async discardSkillRun(run: string, { expect }: Confirmed = {}): Promise<void> {
		this.#kernel.assertOpen();
		const session = this.#ownerOfRun(run);
		await this.#kernel.toItsEnd(async () => {
			await this.timeline.ifStill(expect, skillWork(session.scope, run).scope, () => this.findSkillRun(run));
			await this.#kernel.hostOf(this.#builtIn.skill).discard(session, run, "discarded by the user");
		});
		this.tasks.follow(run);
	}

	/** All plans, also those that are over, oldest first. */
	plans(): readonly PlanEntry[] {
		return [...this.#kernel.sessions]
			.flatMap(({ scope, view }) => plansOf(view.get(planRuns)).map(([plan, run]) => ({ run, scope, plan })))
			.sort((a, b) => a.run.started - b.run.started)
			.map(({ scope, plan, run }) => planEntry(scope, plan, run));
	}

	/**
	 * The plans that moves have left behind, oldest first, each as it was before; without those whose records a collection has taken away.
	 * An undo of the move brings them back.
	 */
	async rewoundPlans(): Promise<readonly PlanEntry[]> {
		const found = await rewoundPlans(this.timeline);
		return found.map(({ scope, plan, run, leftBy }) => {
			const { status, ...entry } = planEntry(scope, plan, run);
			const was = status === "aborted" ? "discarded" : status;
			const why = `#${leftBy} went to before it; it was ${was}, as #${leftBy - 1} shows`;
			return { ...entry, status: "rewound", why, leftBy };
		});
	}

	/**
	 * The plan of an id that is in flight.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, naming the plans in flight
	 */
	findPlan(plan: string): PlanRun {
		return findPlan(this.#ownerOfPlan(plan).view.get(planRuns), plan);
	}

	/**
	 * The steps of a plan, as they are recorded, in flight or over; none if they are lost. Of each its children, which are skill runs.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`
	 */
	async planSteps(plan: string): Promise<readonly StepWithChildren[]> {
		const session = this.#ownerOfPlan(plan);
		const steps = await this.#kernel.hostOf(this.#builtIn.plan).steps(session, plan);
		// Who only reads does not know whether another process works on it.
		const isKnown = !this.#kernel.isReadOnly || planIn(session.view.get(planRuns), plan)?.status === "paused";
		const isIdle = isKnown && !session.isRunning(planWork(session.scope, plan));
		return steps.map((step) => {
			const children = childrenOf(session.view, `${planLane(plan)}/${step.id}`);
			const isOpen = step.status === "running" && children.some(({ status }) => status === "running");
			return { ...step, children, ...(isIdle && isOpen && { isInterrupted: true as const }) };
		});
	}

	/**
	 * All that a step of a plan has found, in flight or over, or why it has failed.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST`; JournalError `RESULT_LOST`
	 */
	async planResult(plan: string, step: string): Promise<string> {
		return this.#kernel.hostOf(this.#builtIn.plan).result(this.#ownerOfPlan(plan), plan, step);
	}

	/** @throws PlanError `PLAN_UNKNOWN`; TimetravelError `TIMETRAVEL_STALE` */
	async discardPlan(plan: string, { expect }: Confirmed = {}): Promise<void> {
		this.#kernel.assertOpen();
		const session = this.#ownerOfPlan(plan);
		await this.#kernel.toItsEnd(async () => {
			await this.timeline.ifStill(expect, planWork(session.scope, plan).scope, () => this.findPlan(plan));
			await this.#kernel.hostOf(this.#builtIn.plan).discard(session, plan, "discarded by the user");
		});
	}

	/**
	 * What `resumePlan` would do: the steps that would run, and the tokens that each took last. Reads only.
	 *
	 * @throws PlanError as `resumePlan` does
	 */
	previewResume(plan: string, from?: string): Promise<ResumePreview> {
		return this.#kernel.hostOf(this.#builtIn.plan).resuming(this.#ownerOfPlan(plan), plan, from);
	}

	/** Why `resume()` gives a plan up that is in flight; undefined: it goes on with it. @throws PlanError `PLAN_UNKNOWN` */
	givesUpPlan(plan: string): string | undefined {
		return this.#kernel.hostOf(this.#builtIn.plan).givesUp(this.#ownerOfPlan(plan), plan);
	}

	/** The steps of a plan before and after `amendPlan`. Reads only. @throws PlanError as `amendPlan` does */
	previewAmend(plan: string, amendment: PlanAmendment): Promise<AmendPreview> {
		return this.#kernel.hostOf(this.#builtIn.plan).amending(this.#ownerOfPlan(plan), plan, amendment);
	}

	/** Stops a plan, which waits until it is resumed. @throws PlanError `PLAN_UNKNOWN`; TimetravelError `TIMETRAVEL_STALE` */
	async pausePlan(plan: string, { expect }: Confirmed = {}): Promise<void> {
		this.#kernel.assertOpen();
		const session = this.#ownerOfPlan(plan);
		await this.#kernel.toItsEnd(async () => {
			await this.timeline.ifStill(expect, planWork(session.scope, plan).scope, () => this.findPlan(plan));
			await this.#kernel.hostOf(this.#builtIn.plan).pause(session, plan);
		});
	}

	/**
	 * Changes, adds or drops pending steps of a plan; what is over or under way stays as it is.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_LOST`, `PLAN_INVALID`; TimetravelError `TIMETRAVEL_STALE`
	 */
	async amendPlan(plan: string, amendment: PlanAmendment, { expect }: Confirmed = {}): Promise<void> {
		this.#kernel.assertOpen();
		const session = this.#ownerOfPlan(plan);
		await this.#kernel.toItsEnd(async () => {
			await this.timeline.ifStill(expect, planWork(session.scope, plan).scope, () => this.findPlan(plan));
			await this.#kernel.hostOf(this.#builtIn.plan).amend(session, plan, amendment);
		});
	}

	/**
	 * Goes on with a plan that is in flight. If a step is named, that step and those that depend on it run again, also of a plan that has
	 * its answer.
	 *
	 * @returns the ids of the steps that run again
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST`; TimetravelError `TIMETRAVEL_STALE`
	 */
	async resumePlan(plan: string, from?: string, { expect }: Confirmed = {}): Promise<readonly string[]> {
		this.#kernel.assertOpen();
		const session = this.#ownerOfPlan(plan);
		await this.timeline.ifStill(expect, planWork(session.scope, plan).scope, () => {});
		return this.#kernel.hostOf(this.#builtIn.plan).resume(session, plan, from);
	}

	/**
	 * What a rewind to a seq would do. Reads only.
	 *
	 * @param files are the files that tools have changed to go along? {@link previewFiles} says which do. Default: they stay
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`, `RUNTIME_FILES`; and as `previewRewind` of `@reyn/rewind-modes` does
	 */
	async previewRewind(seq: Seq, mode: RewindMode, scope: Scope = {}, files = false): Promise<RewindPreview> {
		this.#kernel.sessions.at(sessionOf(scope));
		if (files) this.#assertWhole(scope);
		return previewRewind(this.timeline, this.facets, seq, mode, scope, files);
	}

	/**
	 * What a move to a seq would do with the files that tools have changed since, on whatever line of history, if they go along. Each is
	 * changed by a write that is recorded with what it held, so `undo` of the move brings it back. What somebody else has changed since
	 * stays, unless the move is told to take it. Reads only.
	 *
	 * @param takesTheirs is it to be taken?
	 * @param only of these paths alone; absent: of all
	 * @throws RuntimeError `RUNTIME_FILES`; TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	previewFiles(seq: Seq, takesTheirs = false, only?: readonly string[]): Promise<FilesPreview> {
		return this.#restore.preview(seq, takesTheirs, only);
	}

	/**
	 * Where tasks go back to in a move to a seq, where it takes them along: moves of all of history do, but for those that leave as it is
	 * what was done, if `tasks` of the options says so (`rewind`). Reads only.
	 *
	 * @param mode of a rewind. Absent: a checkout
	 */
	async previewTasks(seq: Seq, scope: Scope = {}, mode: RewindMode = "both"): Promise<TasksAlong | undefined> {
		return this.#takesTasks(scope, mode) ? this.tasks.restore?.preview(seq) : undefined;
	}

	/** Where they go back to in an undo or redo of this move: it takes them along where the move did. */
	async previewTasksOf(move: Seq): Promise<TasksAlong | undefined> {
		return (await this.#tookTasks(move)) ? this.tasks.restore?.preview(move - 1) : undefined;
	}

	/** Has this move taken files along? Then `undo` and `redo` of it do. `only`: of these paths alone. */
	filesMovedBy(move: Seq): Promise<{ readonly only?: readonly string[] | undefined } | undefined> {
		return this.#restore.alongWith(move);
	}

	/**
	 * Takes one file over as it was at a moment, on whatever line: a write that is recorded with what it held, in a move that leaves history as it
	 * is, so `undo` takes it back alone, and a start finishes it after a crash. {@link previewFiles} of this path says what it does.
	 *
	 * @param path as tools have named it
	 * @throws RuntimeError `RUNTIME_FILES`; TimetravelError `TIMETRAVEL_STALE`, `TIMETRAVEL_PRUNED`, `TIMETRAVEL_OUT_OF_RANGE`. Nothing is written then
	 */
	async adoptFile(
		path: string,
		from: Seq,
		actor: string,
		{ expect, theirs }: Confirmed & Pick<FilesAlong, "theirs"> = {},
	): Promise<Checkout & WithFiles> {
		const along = async () => this.#restore.along(theirs, [path]);
		const how = { actor, mode: ADOPT, drop: [], along, stopsAll: true, ...(expect !== undefined && { expect }) };
		return this.#withFiles(await this.#kernel.move(() => this.timeline.checkout(from, how)));
	}

	/**
	 * What {@link adoptMessage} would take over: the last answer of a session at a moment, on whatever line, or what a step of a plan had found
	 * there. Reads only.
	 *
	 * @throws RuntimeError `RUNTIME_ADOPT`, `RUNTIME_UNKNOWN_SESSION`; TimetravelError as {@link checkout}; PlanError `PLAN_UNKNOWN`
	 */
	async previewAdoption(
		from: Seq,
		step?: { readonly plan: string; readonly step: string },
		scope: SessionScope = mainSession,
	): Promise<Adoption> {
		const view = await this.timeline.at(from, this.#kernel.sessions.at(scope).scope);
		if (!step) return answerAt(from, view, this.#kernel.results);
		const text = await this.#kernel.hostOf(this.#builtIn.plan).resultAt(from, view, step.plan, step.step);
		return { from, source: { plan: step.plan, step: step.step }, text };
	}

	/**
	 * Takes a text over from another moment into a conversation: the model is shown it from then on, and where it comes from. A move
	 * of a person, which `undo` takes back. @returns the seq of its record, once that is durable
	 *
	 * @throws as {@link previewAdoption}; TimetravelError `TIMETRAVEL_STALE`, `TIMETRAVEL_ACTOR`. Nothing is written then
	 */
	async adoptMessage(
		{ from, source }: Pick<Adoption, "from" | "source">,
		actor: string,
		scope: SessionScope = mainSession,
		{ expect }: Confirmed = {},
	): Promise<Seq> {
		this.#kernel.assertOpen();
		assertActor(actor);
		return this.#kernel.toItsEnd(async () => {
			const found = await this.previewAdoption(from, "plan" in source ? source : undefined, scope);
			const session = this.#kernel.sessions.at(scope);
			const { seq, durable } = await this.timeline.ifStill(expect, session.scope, () =>
				session.log.append(messageAdopted({ ...found, actor }), session.scope),
			);
			await durable;
			return seq;
		});
	}

	/**
	 * Does what was previewed, or nothing. Progress of work since the preview does not matter. The note of `summarize` joins `session`, by
	 * default the session of the preview, else the main session.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`, `RUNTIME_FILES`; and as `applyRewind` of `@reyn/rewind-modes` does. Nothing is written then
	 */
	async applyRewind(
		preview: RewindPreview,
		actor: string,
		{ session: scope, theirs, allOrNothing, turn }: Rewinding = {},
	): Promise<RewindResult & WithFiles & WithTasks> {
		this.#kernel.assertOpen();
		if (preview?.files) this.#assertWhole(preview.scope);
		// A preview may come as JSON from another process; one without a scope is refused below.
		const own = this.#kernel.sessions.at(sessionOf(preview?.scope ?? {}));
		const session = scope ? this.#kernel.sessions.at(scope) : own;
		const log = { append: (draft: Draft, at: Scope) => session.log.append(draft, at) };
		const takesTasks = preview !== undefined && this.#takesTasks(preview.scope, preview.mode);
		const along = async () => ({
			...(preview.files && (await this.#along(async () => preview.target, { theirs, allOrNothing }))),
			...(takesTasks && (await this.tasks.restore?.along(preview.target))),
			...(turn !== undefined && { [TURN]: turn }),
		});
		const how = {
			...{ actor, log, session: session.scope, stopsAll: preview?.files === true || takesTasks },
			...((preview?.files || takesTasks || turn !== undefined) && { along }),
		};
		const result = await this.#kernel.move(() => applyRewind(this.timeline, this.facets, preview, how));
		return this.#withAlong(result);
	}

	/**
	 * Goes to any seq: an undo on the current line of history, a switch of branches elsewhere. Records outside the scope stay.
	 *
	 * @throws RuntimeError `RUNTIME_FILES`; TimetravelError as `Timeline.checkout` does, and `TIMETRAVEL_COVERAGE`. Nothing is written then
	 */
	async checkout(
		seq: Seq,
		actor: string,
		scope: Scope = {},
		{ expect, files = false, ...taken }: Confirmed & FilesAlong = {},
	): Promise<Checkout & WithFiles & WithTasks> {
		if (files) this.#assertWhole(scope);
		const to = async () => (await this.timeline.preview(seq, { scope })).target;
		const takesTasks = this.#takesTasks(scope);
		const along = async () => ({
			...(files && (await this.#along(to, taken))),
			...(takesTasks && (await this.tasks.restore?.along(await to()))),
		});
		const how = {
			...{ actor, scope },
			...(expect === undefined ? {} : { expect }),
			...((files || takesTasks) && { along, stopsAll: true }),
		};
		const result = await this.#kernel.move(async () => {
			await this.timeline.assertKnown(scope);
			return this.timeline.checkout(seq, how);
		});
		return this.#withAlong(result);
	}

	/**
	 * What differs between the states of a session at two seqs.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`; TimetravelError `TIMETRAVEL_OUT_OF_RANGE`
	 */
	async diff(a: Seq, b: Seq, scope: SessionScope = mainSession): Promise<StateDiff> {
		return this.timeline.diff(a, b, this.#kernel.sessions.at(scope).scope);
	}

	/**
	 * Takes back the newest move of a person, as `Timeline.undo` does: the one that was confirmed, or none. Files that it has taken along
	 * go along again.
	 */
	undo(actor: string, confirmed: StepConfirmed = {}): Promise<Stepped & WithFiles & WithTasks> {
		return this.#step("undo", actor, confirmed);
	}

	redo(actor: string, confirmed: StepConfirmed = {}): Promise<Stepped & WithFiles & WithTasks> {
		return this.#step("redo", actor, confirmed);
	}

	/** All work in flight, in all sessions: turns, plans, skill runs, scripts, and work of features of one's own. */
	inFlight(): readonly Unended[] {
		return [...this.#kernel.sessions].flatMap(({ view, scope }) =>
			this.features.flatMap((feature) =>
				(feature.pieces?.(view) ?? [])
					.filter((piece) => isInFlight(piece) && feature.end?.(piece, "") !== undefined)
					.map(({ kind, id, title, status, spent }) => ({ scope, kind, id, title, status, ...(spent && { spent }) })),
			),
		);
	}

	/**
	 * Ends all that is in flight, as {@link inFlight} has it, by one move: nothing is deleted, and one `undo` brings all of it back. What
	 * its work has asked is withdrawn. A crash leaves all as it was, or the next start finishes it.
	 *
	 * @returns the seq of the move
	 * @throws TimetravelError `TIMETRAVEL_STALE`, `TIMETRAVEL_ACTOR`; RuntimeError `RUNTIME_NOT_QUIET`. Nothing is written then
	 */
	endWork(actor: string, { expect }: Confirmed = {}): Promise<Seq> {
		const along = async () => ({ [ENDS_WORK]: `all work was ended by ${actor}` });
		const how = { actor, mode: ENDED, along, ...(expect !== undefined && { expect }) };
		return this.#kernel.move(() => this.timeline.stay(how));
	}

	async #step(verb: "undo" | "redo", actor: string, { theirs, allOrNothing, ...confirmed }: StepConfirmed) {
		const along = async (of: Seq) => {
			const files = await this.#restore.alongWith(of);
			const taken = {
				...(files && (await this.#along(async () => of - 1, { theirs, allOrNothing }, files.only))),
				...((await this.#tookTasks(of)) && (await this.tasks.restore?.along(of - 1))),
			};
			return Object.keys(taken).length > 0 ? taken : undefined;
		};
		let from = 0;
		const result = await this.#kernel.move(() => {
			from = this.wal.tip + 1;
			const stopsAll = async (of: Seq) =>
				(await this.#restore.alongWith(of)) !== undefined || (await this.#tookTasks(of));
			return this.timeline[verb]({ ...confirmed, actor, along, stopsAll });
		});
		return this.#withAlong(result, from);
	}

	/** Tasks belong to no session, as files: they go with all of history, where what was done goes. A scope or mode that is none is refused later. */
	#takesTasks(scope: Scope | undefined, mode: RewindMode = "both"): boolean {
		return this.tasks.restore !== undefined && scope?.agent === undefined && takingDone.includes(mode);
	}

	async #tookTasks(move: Seq): Promise<boolean> {
		return (await this.tasks.restore?.hasTaken(move)) === true;
	}

	/** What stands in the reset of a move to a seq that takes files along. @throws RuntimeError `RUNTIME_FILES` */
	async #along(
		to: () => Promise<Seq>,
		{ theirs, allOrNothing }: { readonly [Part in "theirs" | "allOrNothing"]?: FilesAlong[Part] | undefined },
		only?: readonly string[],
	) {
		if (allOrNothing) await this.#restore.assertAll(await to(), theirs, only);
		return this.#restore.along(theirs, only);
	}

	/** Files belong to no session: of a part of history they cannot go back. */
	#assertWhole({ agent }: Scope): void {
		this.#restore.along();
		if (agent !== undefined)
			throw new RuntimeError(
				"RUNTIME_FILES",
				"files belong to no session, so they go back with all of history only: leave the scope out, or the files",
			);
	}

	/** @param from the first seq that it may have written a reset at */
	#withFiles<T extends { readonly seq: Seq }>(result: T, from = result.seq): T & WithFiles {
		const files = this.#restore.doneFrom(from);
		return files ? { ...result, files } : result;
	}

	/** @param from as of {@link #withFiles} */
	#withAlong<T extends { readonly seq: Seq }>(result: T, from = result.seq): T & WithFiles & WithTasks {
		const tasks = this.tasks.restore?.doneFrom(from);
		return { ...this.#withFiles(result, from), ...(tasks && { tasks }) };
	}

	/**
	 * Removes what is older than the policy keeps, as `Timeline.gc` does, and then the blobs beside the log that nothing refers to any
	 * more. A second call waits for the end of the first.
	 */
	gc(policy: CollectionPolicy = {}): Promise<Collection> {
		const { restore } = this.tasks;
		const collected = this.#kernel.gc(policy);
		if (!restore || policy.dryRun) return collected;
		return collected.then(async (collection) => {
			await restore.collect();
			return collection;
		});
	}

	/** Stops all work; it stays in flight, and goes on at the next start. */
	cancel(): void {
		this.#kernel.cancel();
	}

	/**
	 * Cancels all work and waits until it is quiet, however long a tool takes to stop; waits for moves, discards and `gc` under way; then
	 * closes the log. A full disk is not waited for: the promise rejects with `WAL_FULL`, and records that were not durable, so never
	 * acknowledged, are made again at the next start. The log is closed even if work throws; the first error is thrown then.
	 *
	 * @param how `withinMs`: how long work may take to stop, in milliseconds; what has not stopped is left, and its records stay, as after
	 * a kill. Default: as long as it takes
	 * @throws RuntimeError `RUNTIME_NOT_QUIET` naming what did not stop; all is closed then
	 */
	close(how?: { readonly withinMs?: number }): Promise<void> {
		return this.#kernel.close(how);
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	/** The session of a plan; for an unknown plan the main session, whose own check then names the plans that there are. */
	#ownerOfPlan(plan: string): Session {
		return this.#kernel.sessions.ownerOf((view) => planIn(view.get(planRuns), plan) !== undefined);
	}

	#ownerOfRun(run: string): Session {
		return this.#kernel.sessions.ownerOf((view) => skillRunIn(view.get(skillRuns), run) !== undefined);
	}
}

/** The modes that take back what was done. */
const takingDone = rewindModes.filter((mode) => meaningOf(mode).drops.includes("code"));

/** A piece of work in flight. */
export interface Unended extends Pick<Piece, "kind" | "id" | "title" | "status" | "spent"> {
	readonly scope: SessionScope;
}

function planEntry(scope: SessionScope, plan: string, run: PlanRun): PlanEntry {
	const { steps: finished, calls, tokens } = costOf(run);
	const { goal, why, size, model, chain, tokens: allTokens, extended } = run;
	const status = run.failed ? "failed" : run.status;
	const failed = Object.values(run.steps).filter((step) => step.status === "failed").length;
	return {
		...{ scope, plan, goal, status, finished, failed, size, calls, tokens, ...said(model) },
		...(allTokens === undefined ? {} : { allTokens }),
		...(extended === undefined ? {} : { extended }),
		...(why === undefined ? {} : { why }),
		...(chain === undefined ? {} : { chain }),
	};
}

const stateOf = ({ view }: Session): ConversationState => view.get(conversation);

/** The notices of work that was given up, which a crash kept from being delivered. */
function unsaid({ scope, view }: Session, pieces: readonly Piece[]): readonly BackgroundMessage[] {
	return pieces.flatMap((piece) => {
		const { id: from, chain, unsaid } = piece;
		const isSaid = !unsaid || hasMessageFrom(view.get(conversation), piece, unsaid.seq);
		return isSaid ? [] : [{ scope, from, ...(chain !== undefined && { chain }), ...unsaid }];
	});
}
