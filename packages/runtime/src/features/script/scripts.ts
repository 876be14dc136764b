/** Script runs of all sessions: start, resume, preview, verify and watch them. */
import {
	type Divergence,
	type InDoubtPolicy,
	journalRecords,
	laneClosed,
	ReplayDivergenceError,
	type StepEvent,
	type Using,
} from "@reyn/journal";
import { endedBy, eventOfRecord, eventOfStep, scriptLane, toJson } from "@reyn/journal/internal";
import {
	checkScript as checkModule,
	type EndStatus,
	type Explanation,
	explain,
	loadScript,
	type Reuse,
	runScript,
	type ScriptEvent,
	ScriptMemo,
	type ScriptModule,
	type ScriptRun,
	scriptCompleted,
	scriptFailed,
	scriptRecords,
	scriptResumed,
	scriptRuns,
	scriptStarted,
} from "@reyn/journal/script";
import type { View } from "@reyn/snapshot";
import {
	type Appender,
	canonicalJson,
	isReynError,
	type Scope,
	type Seq,
	scopeKey,
	WalError,
	type WalRecord,
} from "@reyn/wal";
import { isFull } from "@reyn/wal/internal";
import { stopReason } from "../../kernel/background.ts";
import { RuntimeError } from "../../kernel/errors.ts";
import type { Agent, Kernel } from "../../kernel/feature.ts";
import type { AskPerson } from "../../kernel/services.ts";
import type { Session, SessionScope } from "../../kernel/session.ts";
import { mainSession } from "../../kernel/sessions.ts";
import { assertTold } from "../../redaction/redact.ts";
import type { ScriptRunEvent } from "./events.ts";
import { SCRIPT, scriptWork } from "./pieces.ts";
import { LiveQuestions, openQuestionsIn, questionFor, questionsIn, type ScriptQuestion } from "./questions.ts";
import { argsText, ScriptFiles, type ScriptText, scriptsArea, versionOf } from "./script-files.ts";
import { Unrecorded } from "./tell.ts";

export interface ScriptOptions {
	/** Puts a question of a script to a person; one that they leave open lets the script wait. Default: nobody is here. */
	readonly ask?: AskPerson | undefined;
	/** Run scripts in a process of their own. Default: false. */
	readonly isolate?: boolean | undefined;
	/** Called when a script of this process begins to compute; see `RuntimeOptions`. Default: nothing is called. */
	readonly watchTimeSlice?: ((limitMs: number) => () => void) | undefined;
}

/** How one attempt at a run is made. */
export interface ScriptAttempt {
	/** Run it in a process of its own, even if the runtime does not. Default: as the runtime does. */
	readonly isolate?: boolean | undefined;
	/** Answers to the questions of the script, in order; `ask` of the runtime gets the questions after that. Default: none. */
	readonly answers?: readonly string[] | undefined;
}

/** How a run goes on. An absent field stays as it was. */
export interface ScriptResume extends ScriptAttempt {
	readonly script?: ScriptText | undefined;
	readonly args?: unknown;
	readonly reuse?: Reuse | undefined;
	/** Refuse if the script asks for something else than is recorded. Default: false. */
	readonly strict?: boolean | undefined;
	/** What to do with steps in doubt. Default: what the runtime says. */
	readonly whenInDoubt?: InDoubtPolicy | undefined;
}

/** What a preview of a resume assumes. */
export interface ScriptPreview extends ScriptResume {
	/**
	 * Preview what a resume would do had all been killed when this record was the last one: of what came after it only the prices count.
	 * An effect whose outcome only another line of history knows is in doubt then. Default: as all is now.
	 */
	readonly at?: Seq | undefined;
}

/** How this attempt at a run ended. */
export type ScriptEnd =
	| { readonly status: "completed"; readonly result: unknown }
	| {
			readonly status: Exclude<EndStatus, "completed">;
			readonly reason: { readonly message: string; readonly code?: string; readonly detail?: unknown };
	  };

export interface Verification {
	readonly explanation: Explanation;
	readonly divergences: readonly Divergence[];
}

export interface ScriptRunEntry extends ScriptRun {
	readonly run: string;
	readonly scope: SessionScope;
	/** What the run asks people, in the order of asking. */
	readonly questions: readonly ScriptQuestion[];
}

/** The script runs of a runtime, each by its id, whichever session it is of. */
export class Scripts {
	readonly #kernel: Kernel;
	readonly #files: ScriptFiles;
	readonly #options: ScriptOptions;
	readonly #live = new Map<string, LiveRun>();

	/** Use `scripts` of a runtime. */
	constructor(kernel: Kernel, options: ScriptOptions) {
		this.#kernel = kernel;
		this.#files = new ScriptFiles(kernel.blobs(scriptsArea.area));
		this.#options = options;
	}

	/** The runs of all sessions, newest first. */
	list(): readonly ScriptRunEntry[] {
		const all = [...this.#kernel.sessions].flatMap(({ scope, view }) =>
			Object.entries(view.get(scriptRuns)).map(([run, state]) => {
				return { run, scope, ...state, questions: openQuestionsIn(view, run) };
			}),
		);
		return all.sort((a, b) => b.started - a.started);
	}

	/**
	 * Stores a script and its arguments, and runs it. A rewind of the session that is under way is waited for, and a new session is opened.
	 * Resolves with the id of the run and a promise of its end. A run that is cut stays open; it never resumes by itself.
	 *
	 * @throws what {@link checkScript} does; RuntimeError `RUNTIME_CLOSED`; WalError `WAL_FULL`; no record is written then
	 */
	async start(
		script: ScriptText,
		args: unknown,
		scope: SessionScope = mainSession,
		attempt: ScriptAttempt = {},
	): Promise<StartedScript> {
		const { sessions, ids } = this.#kernel;
		this.#kernel.assertOpen();
		// No session is opened for a script that cannot run.
		if (!sessions.find(scope)) await checkScript(script, args, this.#optionsOf(attempt));
		this.#kernel.assertOpen();
		const session = await this.#kernel.beforeClose(sessions.ensure(scope));
		const run = `r${ids.hex(4)}`;
		return this.#launch(session, run, new LiveQuestions(), async () => {
			const module = await checkScript(script, args, this.#optionsOf(attempt));
			this.#assertTold({ module, args });
			const agent = this.#kernel.agent(session.scope);
			const kept = await this.#keep({ module, args });
			const started = scriptStarted({ run, name: script.name, ...kept, model: agent.model.id });
			await session.log.append(started, scopeOf(session, run)).durable;
			return { module, args, attempt, agent };
		});
	}

	/**
	 * Goes on with a run, perhaps with an edited script or other arguments. Recorded calls are not made again. A rewind of the session
	 * that is under way is waited for.
	 *
	 * @throws RuntimeError `RUNTIME_CLOSED`, `RUNTIME_SCRIPT_RUNS`; WalError `WAL_FULL`; what {@link check} throws; no record is written then
	 */
	resume(run: string, how: ScriptResume = {}): Promise<StartedScript> {
		return this.#resume(run, how, new LiveQuestions());
	}

	/**
	 * Answers what a run asks, and resolves once the answer is durable. Where this process runs it, it goes on with that, and `ask` of the
	 * runtime is withdrawn; else it is resumed as it was.
	 *
	 * @param to the seq of the question. Default: that of the first one
	 * @throws RuntimeError `RUNTIME_ANSWER` where the run does not ask that, or ends before it takes the answer; what {@link resume} throws
	 */
	async answer(run: string, text: string, to?: Seq): Promise<StartedScript> {
		this.#kernel.assertOpen();
		const session = this.#ownerOf(run);
		runOf(session.view, run);
		const { seq } = questionFor(openQuestionsIn(session.view, run), run, text, to);
		const live = this.#live.get(run);
		const questions = live?.questions ?? new LiveQuestions();
		const recorded = questions.give({ seq, text }, live !== undefined);
		if (!recorded) throw busy(run, `goes on without an answer to #${seq} for now`);
		const { end } = live ?? (await this.#resume(run, {}, questions));
		if (await recorded) return { run, end };
		throw new RuntimeError("RUNTIME_ANSWER", `the script run ${run} ended before it took the answer to #${seq}`, {
			run,
			seq,
		});
	}

	/** Resumes a run that is not under way here. */
	async goOn(run: string): Promise<StartedScript | undefined> {
		return this.#live.has(run) ? undefined : this.resume(run);
	}

	/** Does this run ask this now, and not one of its tools? */
	asks(run: string, question: Seq): boolean {
		return openQuestionsIn(this.#ownerOf(run).view, run).some(({ seq }) => seq === question);
	}

	async #resume(run: string, how: ScriptResume, questions: LiveQuestions): Promise<StartedScript> {
		this.#kernel.assertOpen();
		await this.#kernel.sessions.rewound(this.#ownerOf(run).scope);
		this.#kernel.assertOpen();
		const session = this.#ownerOf(run);
		return this.#launch(session, run, questions, async () => {
			const version = await this.#checked(session, run, how);
			const kept = await this.#keep(version);
			const { model: begunWith, reuse = "prefix" } = runOf(session.view, run);
			const agent = this.#kernel.agentFor(session.scope, { kind: SCRIPT, id: run }, begunWith);
			const resumed = scriptResumed({ run, ...kept, reuse: how.reuse ?? reuse, model: agent.model.id });
			await session.log.append(resumed, scopeOf(session, run)).durable;
			return { ...version, attempt: how, agent, whenInDoubt: how.whenInDoubt };
		});
	}

	/**
	 * Throws what {@link resume} would be refused with. Reads only.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN`, `RUNTIME_SCRIPT_LOST`, `RUNTIME_SCRIPT_OTHER`, `RUNTIME_SCRIPT_PRUNED`; as
	 * {@link checkScript} does; with `strict`, also `REPLAY_DIVERGENCE`
	 */
	async check(run: string, how: ScriptResume = {}): Promise<void> {
		await this.#checked(this.#ownerOf(run), run, how);
	}

	/**
	 * What {@link resume} would do and cost, now or after a crash at a moment that has passed. Reads only.
	 *
	 * @throws as {@link check} does without `strict`; RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN` also where there was no such run then;
	 * TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED`
	 */
	explain(run: string, how: ScriptPreview = {}): Promise<Explanation> {
		return this.#explainFrom(run, how, "to go on");
	}

	async #explainFrom(run: string, { at, ...how }: ScriptPreview, as: As): Promise<Explanation> {
		const session = this.#ownerOf(run);
		const now = runOf(session.view, run);
		this.#assertKept(now, run);
		const found = at === undefined ? now : runOf(await this.#kernel.timeline.at(at, session.scope), run, at);
		const { module, args } = await this.#versionOf(found, run, how);
		const memo = await this.#memoOf(session, run, as, at);
		if (at === undefined) await this.#learn(memo, session, run);
		memo.begin({ run, ...module.version, args: versionOf(argsText(args)), reuse: how.reuse });
		const ready = { module, args, attempt: how };
		const whole = at === undefined ? [] : [await this.#memoOf(session, run)];
		const { result, ...explanation } = await this.#explain(session, run, ready, memo, found, whole);
		return explanation;
	}

	/**
	 * Replays a run without making any call, by default with its own text: does it still do what is recorded?
	 *
	 * @throws as {@link check} does with `strict`, except `REPLAY_DIVERGENCE`
	 */
	async verify(run: string, script?: ScriptText, attempt: Pick<ScriptAttempt, "isolate"> = {}): Promise<Verification> {
		const session = this.#ownerOf(run);
		const found = runOf(session.view, run);
		this.#assertWhole(session, run);
		const { module, args } = await this.#versionOf(found, run, { script, ...attempt });
		const memo = await this.#memoOf(session, run, "as it was");
		const { result, ...explanation } = await this.#explain(session, run, { module, args, attempt }, memo, found);
		const divergences = [...explanation.divergences];
		if (found.status === "completed" && divergences.length === 0) {
			const before = found.result === undefined ? undefined : await this.#files.readResult(found.result);
			const [expected, got] = [before, result].map((each) =>
				each === undefined ? "nothing" : canonicalJson(this.#written(each)),
			);
			const beyond = explanation.beyond === undefined ? got : `it failed: ${explanation.beyond}`;
			if (expected !== got || explanation.beyond !== undefined)
				divergences.push({ expected: cut(expected ?? ""), got: cut(beyond ?? ""), seq: undefined, path: "the result" });
		}
		return { explanation, divergences };
	}

	/**
	 * The events of a run: first those so far, then new ones, whichever process runs it, until it ends or the signal aborts.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN`
	 */
	async *watch(run: string, signal: AbortSignal): AsyncGenerator<ScriptEvent> {
		const session = this.#ownerOf(run);
		const { wal, timeline } = this.#kernel;
		const { status, started } = runOf(session.view, run);
		const { lineage } = timeline;
		const { tip } = lineage;
		const range = { after: Math.max(started, wal.first) - 1, scope: scopeOf(session, run) };
		for await (const record of wal.read({ ...range, through: tip })) {
			const event = lineage.isActive(record) ? eventOfRecord(record) : undefined;
			if (event) yield event;
		}
		if (status !== "open") return;
		for await (const record of wal.follow({ ...range, after: tip, signal })) {
			const event = eventOfRecord(record);
			if (event) yield event;
			if (event?.type === "ended") return;
		}
	}

	/** The text that a run has now. @throws RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN`, `RUNTIME_SCRIPT_LOST` */
	async text(run: string): Promise<ScriptText> {
		const { name, script } = runOf(this.#ownerOf(run).view, run);
		return { name, source: await this.#files.readScript(script) };
	}

	/** The result of a completed run; undefined if it is not completed, or returned nothing. @throws as {@link text} does */
	async result(run: string): Promise<unknown> {
		const { result } = runOf(this.#ownerOf(run).view, run);
		return result === undefined ? undefined : this.#files.readResult(result);
	}

	#optionsOf({ isolate }: ScriptAttempt): ScriptOptions {
		return { ...this.#options, isolate: isolate || this.#options.isolate };
	}

	#ownerOf(run: string): Session {
		return this.#kernel.sessions.ownerOf((view) => Object.hasOwn(view.get(scriptRuns), run));
	}

	/** Prepares and runs a script as one piece of work, so that a second start of the same run is refused from the first moment on. */
	#launch(
		session: Session,
		run: string,
		questions: LiveQuestions,
		prepare: () => Promise<Ready>,
	): Promise<StartedScript> {
		const work = scriptWork(session.scope, run);
		const begun = Promise.withResolvers<StartedScript>();
		if (session.isRunning(work)) begun.reject(busy(run, `is under way in process ${process.pid}`));
		else {
			const over = session.start(work, async (signal) => {
				try {
					const ready = await prepare();
					const end = this.#run(session, run, { ...ready, questions }, this.#kernel.using(session, signal));
					// Told only once the work is over, since the caller may resume the run at once.
					const told = end.finally(() => over);
					// The caller need not await the end, so a rejection must not count as unhandled.
					told.catch(() => {});
					this.#live.set(run, { questions, end: told });
					begun.resolve({ run, end: told });
					await end.finally(() => {
						this.#live.delete(run);
						questions.end();
					});
				} catch (error) {
					// Has no effect once the run has begun: then its end rejects.
					begun.reject(error);
				}
			});
			if (!over) begun.reject(busy(run, "is being rewound"));
		}
		return begun.promise;
	}

	async #run(session: Session, run: string, ready: Running, base: Using): Promise<ScriptEnd> {
		const { module, args, attempt, agent, whenInDoubt, questions } = ready;
		const using = whenInDoubt ? { ...base, whenInDoubt: () => whenInDoubt, toolInDoubt: undefined } : base;
		const { model, tools } = agent;
		const { ask, isolate, watchTimeSlice } = this.#optionsOf(attempt);
		const answers = [...(attempt.answers ?? [])];
		const scope = scopeOf(session, run);
		const { memo, unfollow } = await this.#followed(session, run);
		const unrecorded = new Unrecorded((event) => {
			const told: ScriptRunEvent = { type: "script", scope: session.scope, run, event };
			this.#kernel.emit(told);
		});
		const tell = (event: ScriptEvent): void => unrecorded.say(event);
		const log: Appender = {
			append(draft, at) {
				const appended = using.log.append(draft, at);
				unrecorded.record(appended.record);
				questions.recorded(appended.durable, () => questionsIn(session.view, run));
				return appended;
			},
		};
		let recalled = 0;
		const work = (): Promise<unknown> =>
			runScript(module, run, args, scope, {
				...using,
				log,
				recall: (step) => memo.recall(step),
				stepsIn: (lane) => memo.stepsIn(lane),
				expected: memo.expected(),
				observe: (event: StepEvent) => {
					using.observe?.(event);
					if (event.type === "ghost" && event.usage) recalled += event.usage.inputTokens + event.usage.outputTokens;
					const shown = eventOfStep(event);
					if (shown) tell(shown);
				},
				model,
				tools,
				ask: async (question) =>
					answers.length > 0
						? answers.shift()
						: questions.ask(
								question,
								ask && ((asked) => ask({ ...asked, scope: session.scope, from: { kind: SCRIPT, id: run } })),
							),
				isolate,
				watchTimeSlice,
				print: (line) => tell({ type: "printed", line }),
				// The rest is told before the end is recorded.
			}).finally(() => unrecorded.flush());
		const end = await this.#recorded(session, run, using, work, () => recalled).finally(unfollow);
		// The other ends have a record, which tells them.
		if (end.status === "stopped" || end.status === "waiting")
			tell({ type: "ended", status: end.status, reason: end.reason.message });
		// Listeners get the end before the promise of the end resolves.
		await this.#kernel.told();
		return end;
	}

	/** Does the work of a run and records its end, waiting while the disk is full: that is no failure of the script. */
	async #recorded(
		session: Session,
		run: string,
		{ log, signal }: Using,
		work: () => Promise<unknown>,
		recalled: () => number,
	): Promise<ScriptEnd> {
		const scope = scopeOf(session, run);
		const keep = <T>(write: () => T | Promise<T>): Promise<T> =>
			this.#kernel.space.keep(`script run ${run}`, "end", write, signal);
		let by: ReturnType<typeof endedBy> = {};
		const end = await outcomeOf(async () => {
			const result = await work().catch((error: unknown) => {
				by = endedBy(error);
				throw error;
			});
			const kept = result === undefined ? undefined : await keep(() => this.#files.keepResult(this.#written(result)));
			const done = scriptCompleted({ run, ...(kept === undefined ? {} : { result: kept }), recalled: recalled() });
			// Both records or none: within one turn of the event loop the log does not become full.
			const { durable } = await keep(() => {
				log.append(done, scope);
				// A resume reads the steps from the log, so the state of the session need not hold them.
				return log.append(laneClosed({ lane: scriptLane(run) }), scope);
			});
			await durable;
			return result;
		}, signal);
		if (end.status !== "failed") return end;
		try {
			// Redacted first, since the text that replaces a secret may be longer than it.
			const reason = asRecorded(this.#written(end.reason));
			const failed = scriptFailed({ run, reason, ...by, recalled: recalled() });
			const { durable } = await keep(() => log.append(failed, scope));
			await durable;
			return end;
		} catch (error) {
			// Without a record of the failure, the run stays open.
			if (!signal.aborted) throw error;
			return { status: "stopped", reason: { message: stopReason(signal, error) } };
		}
	}

	async #explain(
		session: Session,
		run: string,
		{ module, args, attempt }: Previewed,
		memo: ScriptMemo,
		{ status, name, started, model: begunWith }: ScriptRun,
		whole: readonly ScriptMemo[] = [],
	): Promise<Explanation & { readonly result?: unknown }> {
		const others = Object.entries(session.view.get(scriptRuns))
			.filter(([id, each]) => id !== run && each.name === name && each.started < started)
			.sort(([, a], [, b]) => b.started - a.started)
			.slice(0, MAX_EARLIER);
		const { logId, results, redact } = this.#kernel.using(session, new AbortController().signal);
		const { model, tools } = this.#kernel.agent(session.scope, begunWith);
		const { isolate, watchTimeSlice } = this.#optionsOf(attempt);
		return explain(module, run, args, scopeOf(session, run), {
			logId,
			results,
			...(redact && { redact }),
			model,
			tools,
			isolate,
			watchTimeSlice,
			memo,
			earlier: [...whole, ...(await Promise.all(others.map(([id]) => this.#memoOf(session, id))))],
			isOver: status === "completed",
		});
	}

	/** The script and arguments that a resume would run. @throws as {@link check} does */
	async #checked(session: Session, run: string, how: ScriptResume): Promise<Version> {
		const found = runOf(session.view, run);
		this.#assertKept(found, run);
		const version = await this.#versionOf(found, run, how);
		this.#assertTold(version, found);
		if (!how.strict) return version;
		this.#assertWhole(session, run);
		const { divergences } = await this.#explainFrom(run, how, "as it was");
		if (divergences[0]) throw new ReplayDivergenceError(divergences[0], "Nothing was called");
		return version;
	}

	async #versionOf(found: ScriptRun, run: string, { script, args, ...attempt }: ScriptResume): Promise<Version> {
		if (script && script.name !== found.name)
			throw new RuntimeError(
				"RUNTIME_SCRIPT_OTHER",
				`the run ${run} is of ${found.name}; found ${script.name}. Give an edited ${found.name}`,
				{ run, expected: found.name, found: script.name },
			);
		const files = this.#files;
		const source = script?.source ?? (await files.readScript(found.script));
		const given = args === undefined ? await files.readArgs(found.args) : args;
		return { module: await checkScript({ name: found.name, source }, given, this.#optionsOf(attempt)), args: given };
	}

	/** The recorded steps of a run, and each further one, also where another line of history knows how it ended. */
	async #followed(session: Session, run: string): Promise<{ readonly memo: ScriptMemo; unfollow(): void }> {
		const key = scopeKey(scopeOf(session, run));
		let take = (record: WalRecord): void => void meanwhile.push(record);
		const meanwhile: WalRecord[] = [];
		const { tip } = this.#kernel.wal;
		const unfollow = session.follow((record) => {
			if (scopeKey(record.scope) === key) take(record);
		});
		try {
			const memo = await this.#memoOf(session, run, "to go on", tip);
			for (const record of meanwhile) memo.record(record);
			take = (record) => memo.record(record);
			return { memo, unfollow };
		} catch (error) {
			unfollow();
			throw error;
		}
	}

	/**
	 * The recorded steps of a run on the line of history that ends at `through`. `as` says whether the failures that ended it count or are
	 * forgotten.
	 */
	async #memoOf(
		session: Session,
		run: string,
		as: As = "to go on",
		through = this.#kernel.wal.tip,
	): Promise<ScriptMemo> {
		const { wal, timeline } = this.#kernel;
		const line = timeline.lineage.path(through, scopeOf(session, run));
		const memo = new ScriptMemo();
		const { started } = runOf(session.view, run);
		const kinds = [...journalRecords, ...scriptRecords].map(({ kind }) => kind);
		const range = {
			after: Math.max(started, wal.first) - 1,
			scope: scopeOf(session, run),
			kinds: { only: kinds },
			through,
		};
		let end: WalRecord | undefined;
		for await (const record of wal.read(range)) {
			if (!line.has(record)) continue;
			if (end) memo.record(end);
			end = scriptFailed.is(record) ? record : undefined;
			if (!end) memo.record(record);
		}
		if (end && as === "to go on") memo.record(end);
		return memo;
	}

	/** Takes what other lines of history know of its open calls, as a resume does when it comes to one. */
	async #learn(memo: ScriptMemo, session: Session, run: string): Promise<void> {
		const { wal, clock } = this.#kernel;
		for (const [i, { kind, data }] of (await session.known(memo.openStarts())).entries())
			memo.record({ seq: wal.tip + 1 + i, ts: clock.now(), scope: scopeOf(session, run), kind, data, crc: "" });
	}

	/** @throws RuntimeError `RUNTIME_SCRIPT_PRUNED` when records of the run were collected: a strict check cannot tell what was there */
	#assertWhole(session: Session, run: string): void {
		const { started } = runOf(session.view, run);
		const { first } = this.#kernel.wal;
		if (started < first) throw pruned(run, started, first, "what it did cannot be compared");
	}

	/** @throws RuntimeError `RUNTIME_SCRIPT_PRUNED` when the calls of a completed run were collected. Those of any other hold the log. */
	#assertKept({ started, status }: ScriptRun, run: string): void {
		const { first } = this.#kernel.wal;
		if (started < first && status === "completed")
			throw pruned(
				run,
				started,
				first,
				"going on would make all of its calls again. To have that, start a run of its own",
			);
	}

	/** Stores the text and the arguments durably. @returns what the record says of them @throws WalError `WAL_FULL` */
	async #keep({ module, args }: Version): Promise<Pick<ScriptRun, "script" | "program" | "args">> {
		const files = this.#files;
		try {
			await files.keepScript(module.source);
			return { ...module.version, args: await files.keepArgs(args) };
		} catch (error) {
			if (!isFull(error)) throw error;
			const text = `there is no space for the text and the arguments of ${module.file}, so it was not run: ${error.message}. Free some, and run it again`;
			throw new WalError("WAL_FULL", text, { code: error.code }, { cause: error });
		}
	}

	/**
	 * Refuses secrets in the text or the arguments. These are stored unchanged, since a redacted text would be another script under
	 * another hash. A text that is stored already is not refused.
	 *
	 * @throws RuntimeError `RUNTIME_SECRET`
	 */
	#assertTold({ module, args }: Version, kept?: Pick<ScriptRun, "script" | "args">): void {
		const { redact } = this.#kernel;
		if (!redact) return;
		const { file, source } = module;
		assertTold("the name of a script", file, redact(file));
		if (module.version.script !== kept?.script) assertTold(file, source, redact(source));
		if (versionOf(argsText(args)) === kept?.args) return;
		const [given, left] = [args, this.#written(args)].map((each) => JSON.stringify(each ?? null, undefined, "\t"));
		assertTold("its arguments", given as string, left);
	}

	/** The redacted value. */
	#written<T>(value: T): T {
		const { redact } = this.#kernel;
		return redact ? (toJson(value, redact).json as T) : value;
	}
}

/**
 * Parses a script and checks its arguments, without making a call, so that mistakes are known before anything is written.
 *
 * @throws JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `SCRIPT_TIMEOUT`, `DETERMINISM`, where it is isolated `SCRIPT_ISOLATION` and
 * `SCRIPT_LOST`; WalError `WAL_NOT_JSON`
 */
export async function checkScript(
	{ name, source }: ScriptText,
	args: unknown,
	{ isolate, watchTimeSlice }: Pick<ScriptOptions, "isolate" | "watchTimeSlice"> = {},
): Promise<ScriptModule> {
	const module = loadScript(source, name);
	argsText(args);
	await checkModule(module, args, { isolate, watchTimeSlice });
	return module;
}

/** The script and the arguments of a run. */
interface Version {
	readonly module: ScriptModule;
	readonly args: unknown;
}

/** A run that is looked at. */
interface Previewed extends Version {
	readonly attempt: ScriptAttempt;
}

/** One that can be run. */
interface Ready extends Previewed {
	readonly agent: Agent;
	readonly whenInDoubt?: InDoubtPolicy | undefined;
}

/** One that is run here. */
interface Running extends Ready {
	readonly questions: LiveQuestions;
}

interface LiveRun extends Pick<Running, "questions"> {
	readonly end: Promise<ScriptEnd>;
}

export interface StartedScript {
	readonly run: string;
	/** Rejects only when the log itself fails. */
	readonly end: Promise<ScriptEnd>;
}

/** How many earlier runs of a script are looked through for the cost of its calls. */
const MAX_EARLIER = 3;

type As = "as it was" | "to go on";

/** Errors that stop a run without being a failure of its script: nothing is recorded, and a resume goes on. */
const notOfScript = [
	"CALL_IN_DOUBT",
	"STEP_DISCARDED",
	"STALE_LINEAGE",
	"REPLAY_DIVERGENCE",
	"SCRIPT_ISOLATION",
	"SCRIPT_LOST",
] as const;

async function outcomeOf(work: () => Promise<unknown>, signal: AbortSignal): Promise<ScriptEnd> {
	try {
		return { status: "completed", result: await work() };
	} catch (error) {
		const { code, detail, message = String(error) } = error as { code?: unknown; detail?: unknown; message?: string };
		if (signal.aborted) return { status: "stopped", reason: { message: stopReason(signal, error) } };
		const reason = asRecorded({ message: String(message), ...(typeof code === "string" ? { code } : {}), detail });
		if (isReynError(error, ...notOfScript)) return { status: "stopped", reason };
		return { status: code === "SCRIPT_WAITING" ? "waiting" : "failed", reason };
	}
}

type Reason = Exclude<ScriptEnd, { status: "completed" }>["reason"];

/** The longest text in a reason, in characters: a record holds 8 MiB, and a character may take six bytes of it. */
const MAX_TEXT = 256 * 1024;

/**
 * The reason as the log gives it back: long texts are cut, half a character is U+FFFD; a detail that is too large, too deep or no JSON is
 * left out.
 */
function asRecorded({ message, code, detail }: Reason): Reason {
	const kept = detail === undefined ? undefined : detailOf(detail);
	return {
		message: shortened(message),
		...(code === undefined ? {} : { code: shortened(code) }),
		...(kept === undefined ? {} : { detail: kept }),
	};
}

const shortened = (text: string): string =>
	(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`).toWellFormed();

function detailOf(detail: unknown): unknown {
	try {
		const { json } = toJson(detail);
		return canonicalJson(json).length <= MAX_TEXT ? json : undefined;
	} catch {
		return undefined;
	}
}

const pruned = (run: string, started: Seq, first: Seq, so: string): RuntimeError =>
	new RuntimeError(
		"RUNTIME_SCRIPT_PRUNED",
		`the script run ${run} began at #${started}, and gc has taken away what is before #${first}: ${so}`,
		{ run, started, first },
	);

const busy = (run: string, why: string): RuntimeError =>
	new RuntimeError("RUNTIME_SCRIPT_RUNS", `the script run ${run} ${why}; wait until that is over`, { run });

/** @throws RuntimeError `RUNTIME_UNKNOWN_SCRIPT_RUN` */
/** @param at the moment of the state; undefined: now */
function runOf(view: View, run: string, at?: Seq): ScriptRun {
	const runs = view.get(scriptRuns);
	const found = Object.hasOwn(runs, run) ? runs[run] : undefined;
	if (found) return found;
	const known = Object.keys(runs);
	throw new RuntimeError(
		"RUNTIME_UNKNOWN_SCRIPT_RUN",
		`there is no script run "${run}"${at === undefined ? "" : ` at #${at}`}; there are ${known.join(", ") || "none"}`,
		{ run, known },
	);
}

const scopeOf = ({ scope }: Session, run: string): Scope => scriptWork(scope, run).scope;

const cut = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text);
