/** Hosts plans: starts one for a turn, runs it in the background, and delivers its answer. */
import { hash } from "node:crypto";
import { JournalError, journal, type Tool, type ToolAnswer, type Using } from "@reyn/journal";
import { entriesOf } from "@reyn/journal/internal";
import {
	type AtLimit,
	amended,
	type Decomposition,
	execute,
	findKept,
	findPlan,
	inFlight,
	type PlanAmendment,
	PlanError,
	type PlanLimits,
	type PlanRun,
	type PlanRuns,
	type PlanStep,
	parseDecomposition,
	planAborted,
	planIn,
	planLane,
	planPaused,
	planResumed,
	planRuns,
	planStarted,
	planStepsReset,
	planTool,
	readDecomposition,
	type StepContext,
	type StepLimit,
	type StepRun,
	textOf,
	withDependents,
	writeDecomposition,
} from "@reyn/plan";
import { amend, attemptLane, costOf, isSettled, keptOf, shownTo, stepOf, tokensOf } from "@reyn/plan/internal";
import type { View } from "@reyn/snapshot";
import { type BlobStore, canonicalJson, isReynError, type Scope, type Seq, within } from "@reyn/wal";
import { brief } from "../../kernel/audit.ts";
import { atOnce, type End, type Keep, sayEnd, shownWhenOver, type Went } from "../../kernel/background.ts";
import { RuntimeError } from "../../kernel/errors.ts";
import type { FeatureHost, Frame, Kernel, Piece } from "../../kernel/feature.ts";
import { asker, type BackgroundMessages, backgroundMessages, type From } from "../../kernel/services.ts";
import type { Session, SessionScope } from "../../kernel/session.ts";
import { RESULTS } from "../../kernel/store.ts";
import type { PlanEvent } from "./events.ts";
import { PLANS } from "./kept.ts";
import { PLAN, planPiece, planWork } from "./pieces.ts";
import { type ProposalOptions, refusalBy, startQuestion } from "./proposal.ts";
import { chainOf } from "./tell.ts";

/** A step of a plan, and how far it has come. */
export type StepOfPlan = Pick<PlanStep, "id" | "description" | "tools" | "model" | "max_tokens"> &
	StepRun & {
		/** The ids of the steps whose results it needs. */
		readonly needs: readonly string[];
		/** The ids of the steps that run again where the plan is resumed from this one: it, and all that depend on it. */
		readonly again: readonly string[];
		/** The beginning of what it has found, a line. Absent: it has found nothing, or that is lost. */
		readonly beginning?: string;
		/** Of one that is not over: the tokens of the calls of its attempt that are recorded, and not paid again. Absent: none is. */
		readonly atLeast?: number;
		/**
		 * What it would be shown if it ran now, by part. Absent: unknown, as a step that it needs is not over or its result is lost, or a tool
		 * that it names is not here.
		 */
		readonly context?: Pick<StepContext, "parts" | "cut">;
	};

/** What a resume of a plan would do. */
export interface ResumePreview {
	/** The steps that would run, each with the tokens that its last attempt took. Absent: unknown. */
	readonly runs: readonly { readonly id: string; readonly tokens?: number }[];
	/** The ids of the steps that stay as they are. */
	readonly stays: readonly string[];
}

/** The steps of a plan before and after an amendment. */
export interface AmendPreview {
	readonly before: readonly PlanStep[];
	readonly after: readonly PlanStep[];
}

/** `retry_pending`: it goes on, and its finished steps count. `discard`: it is given up, and its user is asked to ask again. */
export type PlanResume = "retry_pending" | "discard";

/** What becomes of a step at a limit where nobody can be asked. */
export interface OnLimit {
	/** `refuse`: it fails. `extend`: its limit is extended, `times` times each. */
	readonly unattended: "refuse" | "extend";
	readonly times: number;
}

type Moved = Parameters<NonNullable<FeatureHost["moved"]>>[0];

interface Awaited {
	readonly scope: SessionScope;
	readonly plan: string;
	readonly chain: string;
}

export class PlanHost implements FeatureHost {
	readonly #kernel: Kernel;
	readonly #blobs: BlobStore;
	readonly #limits: PlanLimits;
	readonly #messages: BackgroundMessages;
	readonly #resume: PlanResume;
	readonly #onLimit: OnLimit;
	readonly #proposals: ProposalOptions;
	/** The plans that were begun in this process, or that a person has set going in it. */
	readonly #own = new Set<string>();
	/** The plans before a move: those that somebody waits for, and those that run. Undefined: this process makes none. */
	#before: { readonly awaited: readonly Awaited[]; readonly running: ReadonlySet<string> } | undefined;
	/** The plans that somebody waits for which are gone by moves that another process has not finished. */
	#gone: readonly Awaited[] = [];

	constructor(
		kernel: Kernel,
		limits: PlanLimits,
		resume: PlanResume,
		onLimit: OnLimit = { unattended: "refuse", times: 0 },
		proposals: ProposalOptions = {},
	) {
		this.#kernel = kernel;
		this.#blobs = kernel.blobs(PLANS);
		this.#limits = limits;
		this.#resume = resume;
		this.#onLimit = onLimit;
		this.#proposals = proposals;
		this.#messages = kernel.get(backgroundMessages);
	}

	/** Offers the `plan` tool to turns; plan steps do not get it. */
	tools({ session, piece, for: who, model }: Frame): readonly Tool[] {
		const isOffered = who === "turn" && this.#proposals.offer !== "never";
		return isOffered ? [this.#toolFor(session, piece, model)] : [];
	}

	async quiet(): Promise<void> {
		const sessions = [...this.#kernel.sessions];
		this.#before = {
			awaited: sessions.flatMap(({ scope, view }) => awaitedIn(scope, view)),
			running: new Set(this.#running()),
		};
	}

	/** Who waits for a plan that is not there any more hears that at once. One that runs since the move a person has set going. */
	async moved(move: Moved): Promise<void> {
		const before = this.#before;
		this.#before = undefined;
		const gone = (before?.awaited ?? (await this.#awaitedBefore(move))).filter(({ scope, plan }) => {
			const session = this.#kernel.sessions.find(scope);
			return !(session && runOf(session, plan));
		});
		if (!before) {
			this.#gone = [...this.#gone, ...gone];
			return;
		}
		for (const plan of this.#running()) if (!before.running.has(plan)) this.#own.add(plan);
		this.#tellGone(gone);
	}

	/** What the process before may have told already. */
	async opened(): Promise<void> {
		this.#tellGone(this.#gone);
		this.#gone = [];
	}

	async #awaitedBefore({ seq, coverage }: Moved): Promise<readonly Awaited[]> {
		const { sessions, timeline } = this.#kernel;
		const moved = sessions.everOpened().filter((each) => within(each, coverage.scope) || within(coverage.scope, each));
		const found: Awaited[] = [];
		for (const scope of moved) found.push(...awaitedIn(scope, await timeline.at(seq - 1, scope)));
		return found;
	}

	#tellGone(gone: readonly Awaited[]): void {
		const reason = "the log was rewound to before its start";
		for (const { scope, plan, chain } of gone)
			this.#emit({ type: "plan_end", scope, plan, chain, outcome: "rewound", failed: [], reason });
	}

	#running(): readonly string[] {
		return [...this.#kernel.sessions].flatMap(({ view }) =>
			inFlight(view.get(planRuns)).flatMap(([plan, { status }]) => (status === "running" ? [plan] : [])),
		);
	}

	/** The classes of models that a step may name. */
	get #classes(): readonly string[] {
		return Object.keys(this.#proposals.models ?? {});
	}

	/** The `plan` tool. The id of the plan is given, so that a turn which is cut and calls the tool again starts no second plan. */
	#toolFor(session: Session, turn: Piece, model: string | undefined): Tool {
		const plan = `p${turn.id}`;
		const names = this.#stepTools(session, turn, model).map(({ name }) => name);
		return {
			...planTool(names, this.#classes),
			purity: "side_effect",
			endsTurn: true,
			// What the steps do is decided on when they do it.
			wants: async () => [],
			call: async (args, { signal }) => {
				const { space } = this.#kernel;
				// Taken now, since a rewind during the waits below gives the session another log.
				const { log } = session;
				if (runOf(session, plan)) return { text: `plan ${plan} has started; one turn starts one plan`, isError: true };
				let decomposition: ReturnType<typeof parseDecomposition>;
				try {
					decomposition = parseDecomposition(args, names, this.#classes);
				} catch (error) {
					return { text: (error as Error).message, isError: true };
				}
				const refusal = await this.#confirmed(session, turn, decomposition, signal);
				if (refusal) return refusal;
				const keep = <T>(write: () => T | Promise<T>): Promise<T> => space.keep(`plan ${plan}`, "steps", write, signal);
				const hash = await keep(() => writeDecomposition(decomposition, this.#blobs));
				const { goal, steps } = decomposition;
				const record = planStarted({
					plan,
					goal,
					steps: steps.length,
					decomposition: hash,
					...(model !== undefined && { model }),
					...chainOf(turn),
				});
				const { durable } = await keep(() => log.append(record, planScope(session, plan)));
				await durable;
				this.#own.add(plan);
				this.#launch(session, plan, "new");
				return started(plan);
			},
			// Its process died, or a person had to be asked first: the log knows.
			reconcile: async () => (runOf(session, plan) ? { kind: "done", result: started(plan) } : { kind: "not_done" }),
		};
	}

	/** The tools that steps may use: the agent's own, and what features offer to steps. */
	#stepTools(session: Session, piece: Piece, model: string | undefined): readonly Tool[] {
		return this.#kernel.tools({ session, piece, for: "step", ...(model !== undefined && { model }) });
	}

	/** Asks a person about the same steps once in a turn. @returns what the model is told @throws JournalError `CALL_WAITING` */
	async #confirmed(
		session: Session,
		{ kind, id }: Piece,
		steps: Decomposition,
		signal: AbortSignal,
	): Promise<ToolAnswer | undefined> {
		if (this.#proposals.confirm !== "ask") return undefined;
		const asking = {
			key: `${kind}/${id} plan ${hash("sha256", canonicalJson(steps))}`,
			from: { kind, id },
			...startQuestion(steps),
		};
		const answer = await this.#kernel.get(asker).ask(session, asking, signal);
		if (answer.kind !== "later") return refusalBy(answer);
		throw new JournalError("CALL_WAITING", `the plan waits for an answer to #${answer.seq}`, { seq: answer.seq });
	}

	/** Runs a plan in the background from wherever it stands. For a plan that was given up, it delivers the notice that a crash cut. */
	goOn(session: Session, { id }: Piece): void {
		this.#launch(session, id);
	}

	#launch(session: Session, plan: string, how: "new" | "again" = "again"): void {
		const work = planWork(session.scope, plan);
		const run = runOf(session, plan);
		if (session.isRunning(work) || !(run?.status === "running" || run?.ended)) return;
		session.start(work, async (signal) => {
			const show = (): Promise<void> => this.#messages.show(session, fromOf(plan), signal);
			this.#emitStop(session, plan, await shownWhenOver(() => this.#run(session, plan, how, signal), show, signal));
		});
	}

	/**
	 * Stops a plan for a person, and says so in the conversation.
	 *
	 * @throws PlanError `PLAN_UNKNOWN` when it has ended by itself meanwhile, or has its answer: that is shown
	 */
	async discard(session: Session, plan: string, reason: string): Promise<void> {
		await session.stop(planWork(session.scope, plan), reason);
		const { status } = findPlan(session.view.get(planRuns), plan);
		if (status === "running" && this.#isAnswered(session, plan)) {
			this.#launch(session, plan);
			throw new PlanError("PLAN_UNKNOWN", `plan ${plan} is over: its answer is in the conversation`, { plan });
		}
		await this.#giveUp(session, plan, reason, discarded(plan, reason), atOnce, { by: "person" });
		await this.#messages.show(session, fromOf(plan));
	}

	/** The steps of a plan in its order, of one that is over too; none if they are lost. @throws PlanError `PLAN_UNKNOWN` */
	async steps(session: Session, plan: string): Promise<readonly StepOfPlan[]> {
		const known = runOf(session, plan) ?? findKept(session.view.get(planRuns), plan);
		const read = await readDecomposition(known.decomposition, this.#blobs);
		if (read.kind === "lost") return [];
		// It may have come further while they were read.
		const run = runOf(session, plan) ?? known;
		const { decomposition } = read;
		const texts = new Map<string, string>();
		for (const { id } of decomposition.steps) {
			const text = await this.#givenBy(stepOf(run, id));
			if (text !== undefined) texts.set(id, text);
		}
		const { tools } = this.#kernel.agent(session.scope);
		return decomposition.steps.map((step) => {
			const { id, description, tools: uses, depends_on: needs, model, max_tokens } = step;
			const now = stepOf(run, id);
			const text = texts.get(id);
			return {
				...{ id, description, tools: uses, needs, again: withDependents(decomposition, id) },
				...(model !== undefined && { model }),
				...(max_tokens !== undefined && { max_tokens }),
				...now,
				...(now.status === "completed" && text !== undefined && { beginning: brief(text) }),
				...(now.status === "running" && recordedTokens(session, attemptLane({ plan, step: id, attempt: now.attempt }))),
				...contextOf(decomposition, step, texts, tools),
			};
		});
	}

	/** All that a step has found, or why it has failed. @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST`; JournalError `RESULT_LOST` */
	async result(session: Session, plan: string, step: string): Promise<string> {
		const run = runOf(session, plan) ?? findKept(session.view.get(planRuns), plan);
		const steps = await this.#stepsOf(run.decomposition, plan);
		withDependents(steps, step);
		return textOf(stepOf(run, step), this.#kernel.blobs(RESULTS));
	}

	/** What a step had found at a moment. @throws RuntimeError `RUNTIME_ADOPT`; PlanError `PLAN_UNKNOWN`; JournalError `RESULT_LOST` */
	async resultAt(from: Seq, view: View, plan: string, step: string): Promise<string> {
		const { steps } = planIn(view.get(planRuns), plan) ?? findKept(view.get(planRuns), plan);
		const run = Object.hasOwn(steps, step) ? steps[step] : undefined;
		if (run?.status === "completed") return textOf(run, this.#kernel.blobs(RESULTS));
		const done = Object.keys(steps).filter((id) => steps[id]?.status === "completed");
		throw new RuntimeError(
			"RUNTIME_ADOPT",
			`step ${step} of plan ${plan} had found nothing at #${from}; of that plan those had: ${done.join(", ") || "none"}`,
			{ from, plan, step },
		);
	}

	/** What a step gives to those that depend on it. Undefined: it is not over, or that is lost. */
	async #givenBy(step: StepRun): Promise<string | undefined> {
		try {
			return isSettled(step) ? await textOf(step, this.#kernel.blobs(RESULTS)) : undefined;
		} catch (error) {
			if (!isReynError(error, "RESULT_LOST")) throw error;
			return undefined;
		}
	}

	/** Stops a plan for a person: it waits until it is resumed. @throws PlanError `PLAN_UNKNOWN` when it is over */
	async pause(session: Session, plan: string): Promise<void> {
		const { status } = findPlan(session.view.get(planRuns), plan);
		if (status !== "paused")
			await session.log.append(
				planPaused({ plan, why: "a person has paused it", by: "person" }),
				planScope(session, plan),
			).durable;
		await session.stop(planWork(session.scope, plan), "it is paused");
		// It may have ended by itself meanwhile.
		findPlan(session.view.get(planRuns), plan);
	}

	/** What {@link resume} would do. @throws PlanError as it does, and `PLAN_LOST` without `from` too */
	async resuming(session: Session, plan: string, from?: string): Promise<ResumePreview> {
		const run = (from === undefined ? findPlan : findKept)(session.view.get(planRuns), plan);
		const made = await this.#stepsOf(run.decomposition, plan);
		const ids = made.steps.map(({ id }) => id);
		const again = from === undefined ? ids.filter((id) => !isSettled(stepOf(run, id))) : withDependents(made, from);
		return {
			runs: again.map((id) => {
				const tokens = tokensOf(stepOf(run, id));
				return { id, ...(tokens !== undefined && { tokens }) };
			}),
			stays: ids.filter((id) => !again.includes(id)),
		};
	}

	/** Why a plan that is in flight is given up, and does not go on: its process has ended, and so it is configured. Undefined: it goes on. */
	givesUp(session: Session, plan: string): string | undefined {
		const isGivenUp = this.#resume === "discard" && !this.#own.has(plan) && !this.#isAnswered(session, plan);
		return isGivenUp ? "its process ended, and plan_resume says discard" : undefined;
	}

	/**
	 * Goes on with a plan. With `from`, that step and all steps that depend on it run again, also of a plan that has its answer.
	 *
	 * @returns the ids of the steps that run again
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_UNKNOWN_STEP`, `PLAN_LOST`; nothing is changed then
	 */
	async resume(session: Session, plan: string, from?: string): Promise<readonly string[]> {
		const runs = (): PlanRuns => session.view.get(planRuns);
		const { decomposition, status } = from === undefined ? findPlan(runs(), plan) : findKept(runs(), plan);
		const again = from === undefined ? [] : withDependents(await this.#stepsOf(decomposition, plan), from);
		const scope = planScope(session, plan);
		// One that runs, and of which nothing is to run again, pays for no open call again.
		if (again.length > 0 || status === "paused") await session.stop(planWork(session.scope, plan), "it is resumed");
		if (again.length > 0) {
			// It may have been given up meanwhile.
			findKept(runs(), plan);
			const { durable } = session.log.append(planStepsReset({ plan, steps: [...again], by: "person" }), scope);
			for (const step of again) this.#kernel.endBelow(session, `${planLane(plan)}/${step}`, "its step runs again");
			await durable;
		} else if (findPlan(runs(), plan).status === "paused")
			await session.log.append(planResumed({ plan, by: "person" }), scope).durable;
		this.#own.add(plan);
		this.#launch(session, plan);
		return again;
	}

	/**
	 * Gives a plan other pending steps; what is over or under way stays.
	 *
	 * @throws PlanError `PLAN_UNKNOWN`, `PLAN_LOST`, `PLAN_INVALID`; nothing is changed then
	 */
	async amend(session: Session, plan: string, amendment: PlanAmendment): Promise<void> {
		await amend(plan, amendment, {
			...{ runs: () => session.view.get(planRuns), blobs: this.#blobs },
			...{ tools: this.#toolNames(session, plan), models: this.#classes },
			append: (draft) => session.log.append(draft, planScope(session, plan)),
		});
	}

	/** What {@link amend} would do. @throws PlanError as it does */
	async amending(session: Session, plan: string, amendment: PlanAmendment): Promise<AmendPreview> {
		const { decomposition } = findPlan(session.view.get(planRuns), plan);
		const before = await this.#stepsOf(decomposition, plan);
		const run = findPlan(session.view.get(planRuns), plan);
		return {
			before: before.steps,
			after: amended(run, before, amendment, this.#toolNames(session, plan), this.#classes).steps,
		};
	}

	/** @throws PlanError `PLAN_UNKNOWN` */
	#toolNames(session: Session, plan: string): readonly string[] {
		const { model } = findPlan(session.view.get(planRuns), plan);
		return this.#stepTools(session, planPiece(session.view, plan), model).map(({ name }) => name);
	}

	async #stepsOf(decomposition: string, plan: string): Promise<Decomposition> {
		return keptOf({ decomposition }, plan, this.#blobs);
	}

	/** @throws JournalError `CALL_WAITING` */
	async #atLimit(session: Session, limit: StepLimit, signal: AbortSignal): Promise<AtLimit> {
		const { plan, step, extended } = limit;
		const answer = await this.#kernel.get(asker).ask(
			session,
			{
				...aboutOf(limit, runOf(session, plan)),
				from: fromOf(plan),
				question: limitText(limit),
				choices: ["extend", "fail", "pause"],
			},
			signal,
		);
		if (answer.kind === "later")
			throw new JournalError("CALL_WAITING", `step ${step} waits for an answer to #${answer.seq}`, { seq: answer.seq });
		if (answer.kind === "answered") return answer.text as AtLimit;
		return this.#onLimit.unattended === "extend" && extended < this.#onLimit.times ? "extend" : "fail";
	}

	async #run(session: Session, plan: string, how: "new" | "again", signal: AbortSignal): Promise<Went> {
		const current = (): PlanRun => runOf(session, plan) as PlanRun;
		const keep: Keep = (write) => this.#kernel.space.keep(`plan ${plan}`, "end", write, signal);
		const { ended } = current();
		if (ended) {
			// A crash may have cut the ends of its children, too.
			const giveUp = (): void => this.#endBelow(session, plan, ended.reason);
			return sayEnd(session, { ...endOf(session, plan), giveUp }, this.#messages, keep);
		}
		const reason = this.givesUp(session, plan);
		if (reason !== undefined) {
			return this.#giveUp(session, plan, reason, discarded(plan, reason), keep);
		}
		const read = await readDecomposition(current().decomposition, this.#blobs);
		if (read.kind === "lost") {
			// The model is not asked to plan again: recorded results would not belong to the new steps.
			const text = `Plan ${plan} was discarded, because its steps are lost: ${read.why}. Please ask again.`;
			return this.#giveUp(session, plan, read.why, text, keep);
		}
		const done = costOf(current());
		this.#kernel.saved(done.calls, done.tokens);
		const { goal, steps } = read.decomposition;
		const { model } = this.#kernel.agentFor(session.scope, fromOf(plan), current().model);
		const tools = this.#stepTools(session, planPiece(session.view, plan), model.id);
		// The start is an event of its record; a resumed run has no record, so it is told here.
		if (how === "again")
			this.#emit({
				type: "plan_started",
				scope: session.scope,
				plan,
				...chainOf(current()),
				goal,
				steps,
				finished: done.steps,
			});
		const scope = planScope(session, plan);
		const { failed } = await execute(plan, read.decomposition, scope, {
			...this.#using(session, signal),
			model,
			models: this.#proposals.models,
			tools,
			limits: this.#limits,
			run: current,
			steps: () => this.#stepsOf(current().decomposition, plan),
			atLimit: (limit) => this.#atLimit(session, limit, signal),
			children: {
				cost: (lane, before) => this.#kernel.costBelow(session, lane, before),
				end: (lane, reason) => this.#kernel.endBelow(session, lane, reason),
			},
			progress: (progress) => {
				const { status } = progress.change;
				if (status === "resumed" || status === "retrying")
					this.#emit({ type: "plan_step", scope: session.scope, ...progress });
			},
			context: (context) => this.#emit({ type: "plan_step_context", scope: session.scope, ...context }),
			isDelivered: () => this.#isAnswered(session, plan),
			deliver: async (text, spilled) => {
				const said = await keep(() =>
					this.#messages.record(session, fromOf(plan, current()), current().since, text, spilled),
				);
				await said?.durable;
			},
			onBoundary: async (kind, title, at) => {
				await keep(() => session.checkpoint(kind, title, at));
			},
		});
		return { outcome: "completed", failed };
	}

	/** Records that a plan is given up, and the notice to deliver; no notice if its answer was delivered already. */
	#giveUp(
		session: Session,
		plan: string,
		reason: string,
		text: string,
		keep: Keep,
		who: { by?: "person" } = {},
	): Promise<Went> {
		const aborted = planAborted({ plan, reason, ...who, ...(this.#isAnswered(session, plan) ? {} : { tell: text }) });
		const giveUp = (): void => {
			session.log.append(aborted, planScope(session, plan));
			this.#endBelow(session, plan, reason);
		};
		return sayEnd(session, { ...endOf(session, plan), giveUp }, this.#messages, keep);
	}

	#endBelow(session: Session, plan: string, reason: string): void {
		this.#kernel.endBelow(session, planLane(plan), `plan ${plan} was discarded: ${reason}`);
	}

	/** Is the answer of its last step in the conversation, though the plan may not be recorded as completed yet? */
	#isAnswered(session: Session, plan: string): boolean {
		return this.#messages.hasRecorded(session, fromOf(plan), runOf(session, plan)?.since ?? 0);
	}

	/** Tells that a plan has stopped. The end of a plan, and a pause, are told from their records instead. */
	#emitStop(session: Session, plan: string, went: Went): void {
		const { scope } = session;
		if (went.outcome === "stopped" && runOf(session, plan)?.status !== "paused")
			this.#emit({ type: "plan_end", scope, plan, ...chainOf(runOf(session, plan)), failed: [], ...went });
	}

	/** The ports of plan steps: retries of a step's model are told as progress of the step. */
	#using(session: Session, signal: AbortSignal): Using {
		const using = this.#kernel.using(session, signal);
		const observe: Using["observe"] = (event) => {
			if (event.type !== "retrying" || event.kind !== "model") using.observe?.(event);
		};
		return { ...using, observe };
	}

	#emit(event: PlanEvent): void {
		this.#kernel.emit(event);
	}
}

const awaitedIn = (scope: SessionScope, view: View): readonly Awaited[] =>
	inFlight(view.get(planRuns)).flatMap(([plan, { chain }]) => (chain === undefined ? [] : [{ scope, plan, chain }]));

const runOf = ({ view }: Session, plan: string): PlanRun | undefined => planIn(view.get(planRuns), plan);

const endOf = (session: Session, plan: string): End => ({
	from: fromOf(plan, runOf(session, plan)),
	scope: planScope(session, plan),
	lane: planLane(plan),
	ended: () => runOf(session, plan)?.ended,
});

const fromOf = (plan: string, run?: PlanRun): From => ({ kind: PLAN, id: plan, ...chainOf(run) });

function contextOf(
	decomposition: Decomposition,
	step: PlanStep,
	texts: ReadonlyMap<string, string>,
	tools: readonly Tool[],
): Pick<StepOfPlan, "context"> {
	const own = tools.filter(({ name }) => step.tools.includes(name));
	const isKnown = step.depends_on.every((id) => texts.has(id)) && own.length === new Set(step.tools).size;
	if (!isKnown) return {};
	const results = new Map(step.depends_on.map((id) => [id, texts.get(id) ?? ""]));
	const { parts, cut } = shownTo(decomposition, step, results, own);
	return { context: { parts, cut } };
}

/** What the model calls took that are recorded in the lane of an attempt which is not over. */
function recordedTokens({ view }: Session, lane: string): Pick<StepOfPlan, "atLeast"> {
	const paid = entriesOf(view.get(journal), lane).flatMap(({ purity, outcome }) =>
		purity === "llm" && outcome?.type === "completed" && outcome.usage ? [outcome.usage] : [],
	);
	const atLeast = paid.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
	return paid.length > 0 ? { atLeast } : {};
}

const planScope = ({ scope }: Session, plan: string): Scope => ({ ...scope, run: plan });

/** What a question at a limit is about. That of a plan is asked anew once steps of it run again. */
function aboutOf(limit: StepLimit, run: PlanRun | undefined): { readonly key: string; readonly terms?: string } {
	const { plan, extended, limit: kind } = limit;
	if (kind !== "plan_tokens") return { key: `${attemptLane(limit)} ${kind} ${extended}` };
	const again = Object.values(run?.steps ?? {}).reduce((sum, { attempt }) => sum + attempt, 0);
	return { key: `${planLane(plan)} ${kind}`, terms: `extended ${extended}, again ${again}` };
}

function limitText({ plan, step, limit, reached, base, reason }: StepLimit): string {
	if (limit === "plan_tokens")
		return `Plan ${plan} has used ${reached} tokens. Extend the limit by ${base} tokens, let the steps that would go on fail, or pause the plan?`;
	const why = {
		iterations: `has no result after ${reached} rounds of model and tools`,
		retries: `got no answer of its model after ${reached} retries: ${reason}`,
		tokens: `has used ${reached} tokens`,
		seconds: `has worked for ${reached} s`,
	}[limit];
	const more = { iterations: "round", retries: "retry", tokens: "token", seconds: "second" }[limit];
	const many = limit === "retries" ? "retries" : `${more}s`;
	return `Step ${step} of plan ${plan} ${why}. Extend the limit by ${base} ${base === 1 ? more : many}, let the step fail, or pause the plan?`;
}

const discarded = (plan: string, reason: string): string =>
	`Plan ${plan} was discarded: ${reason}. Ask again if you still need the answer.`;

const started = (plan: string): string =>
	`plan ${plan} started; it works in the background and brings its answer by itself`;
