/** Plans of a session: starting one for a turn, running it in the background, and delivering its answer. */
import { laneClosed, type Model, type Tool, type Using } from "@reyn/journal";
import {
	costOf,
	execute,
	type PlanLimits,
	type PlanRun,
	parseDecomposition,
	planAborted,
	planLane,
	planResumed,
	planRuns,
	planStarted,
	planStepsReset,
	planTool,
	readDecomposition,
	withDependents,
	writeDecomposition,
} from "@reyn/plan";
import type { Scope, Seq } from "@reyn/wal";
import { type Deliver, sayOnce, stopReason } from "./background.ts";
import type { RuntimeEvent } from "./events.ts";
import type { Gate } from "./gate.ts";
import type { Layout } from "./layout.ts";
import type { Meter } from "./meter.ts";
import type { Session } from "./session.ts";
import type { Space } from "./space.ts";
import { planWork } from "./work.ts";

export interface PlanHostPorts {
	readonly layout: Layout;
	readonly gate: Gate;
	readonly space: Space;
	readonly model: Model;
	/** The tools that steps may use. */
	readonly tools: readonly Tool[];
	readonly limits: PlanLimits;
	readonly meter: Meter;
	/** What steps run on, for work in a session that stops with a signal. */
	using(session: Session, signal: AbortSignal): Using;
	emit(event: RuntimeEvent): void;
	readonly deliver: Deliver;
}

export class PlanHost {
	readonly #ports: PlanHostPorts;

	constructor(ports: PlanHostPorts) {
		this.#ports = ports;
	}

	/** The `plan` tool of a turn. It may be called twice for one turn, around a crash: there is one plan all the same. */
	toolFor(session: Session, turn: Seq): Tool {
		const names = this.#ports.tools.map(({ name }) => name);
		return {
			...planTool(names),
			purity: "side_effect",
			call: async (args, { signal }) => {
				const plan = `p${turn}`;
				const { layout, gate, space } = this.#ports;
				// The log of now: while this waits, a rewind may make another one the session's.
				const { log } = session;
				if (session.view.get(planRuns)[plan]) return started(plan);
				let decomposition: ReturnType<typeof parseDecomposition>;
				try {
					decomposition = parseDecomposition(args, names);
				} catch (error) {
					return `ERROR: ${(error as Error).message}`;
				}
				const directory = layout.plans(session.scope);
				const keep = <T>(write: () => T | Promise<T>): Promise<T> =>
					space.keep(`plan ${plan}`, "its steps", write, signal);
				// What waits for space does not hold the gate: behind it gc may make some.
				const hash = await keep(() => gate.pass(() => writeDecomposition(directory, plan, decomposition)));
				const { goal, steps } = decomposition;
				const record = planStarted({ plan, goal, steps: steps.length, decomposition: hash });
				const { durable } = await keep(() => log.append(record, planScope(session, plan)));
				await durable;
				this.launch(session, plan);
				return started(plan);
			},
		};
	}

	/** Runs a plan in the background from wherever it stands. One that runs already, or is not to run, is left alone. */
	launch(session: Session, plan: string): void {
		const work = planWork(session.scope, plan);
		if (session.isRunning(work) || session.view.get(planRuns)[plan]?.status !== "running") return;
		session.start(work, async (signal) => {
			try {
				await this.#run(session, plan, signal);
			} catch (error) {
				const reason = stopReason(signal, error);
				this.#ports.emit({ type: "plan_end", scope: session.scope, plan, outcome: "stopped", failed: [], reason });
			}
		});
	}

	/** Stops a plan for a person, and says so in the conversation. */
	async discard(session: Session, plan: string, reason: string): Promise<void> {
		await session.stop(planWork(session.scope, plan), reason);
		// Of the line of history that this plan was discarded on: no later one is told.
		const { log } = session;
		const { scope } = planWork(session.scope, plan);
		await this.#say(session, plan, `Plan ${plan} was discarded: ${reason}. Ask again if you still need the answer.`);
		log.append(planAborted({ plan, reason, by: "person" }), scope);
		await log.append(laneClosed({ lane: planLane(plan) }), scope).durable;
		this.#ports.emit({ type: "plan_end", scope: session.scope, plan, outcome: "discarded", failed: [], reason });
	}

	/**
	 * Goes on with a plan; with `from`, that step and all that depends on it run again. Gives the steps that will.
	 *
	 * @throws PlanError `PLAN_UNKNOWN_STEP`; nothing is changed then
	 */
	async resume(session: Session, plan: string, from?: string): Promise<readonly string[]> {
		const run = session.view.get(planRuns)[plan] as PlanRun;
		let again: readonly string[] = [];
		if (from !== undefined) {
			const read = await readDecomposition(this.#ports.layout.plans(session.scope), plan, run.decomposition);
			if (read.kind === "sound") again = withDependents(read.decomposition, from);
		}
		await session.stop(planWork(session.scope, plan), "it is resumed from a step");
		const scope = planScope(session, plan);
		if (again.length > 0) session.log.append(planStepsReset({ plan, steps: [...again] }), scope);
		await session.log.append(planResumed({ plan }), scope).durable;
		this.launch(session, plan);
		return again;
	}

	async #run(session: Session, plan: string, signal: AbortSignal): Promise<void> {
		const { layout, emit, meter, limits, model, tools } = this.#ports;
		const current = (): PlanRun => session.view.get(planRuns)[plan] as PlanRun;
		const read = await readDecomposition(layout.plans(session.scope), plan, current().decomposition);
		if (read.kind === "lost") {
			// Never made again by the model: new steps would not be the ones whose results are recorded.
			await this.#say(
				session,
				plan,
				`Plan ${plan} was discarded, because its steps are lost: ${read.why}. Please ask again.`,
			);
			session.log.append(planAborted({ plan, reason: read.why }), planScope(session, plan));
			await session.log.append(laneClosed({ lane: planLane(plan) }), planScope(session, plan)).durable;
			emit({ type: "plan_end", scope: session.scope, plan, outcome: "discarded", failed: [], reason: read.why });
			return;
		}
		const done = costOf(current());
		meter.replayed(done.calls, done.tokens);
		const { goal, steps } = read.decomposition;
		emit({ type: "plan_started", scope: session.scope, plan, goal, steps, finished: done.steps });
		const scope = planScope(session, plan);
		const { failed } = await execute(plan, read.decomposition, scope, {
			...this.#ports.using(session, signal),
			model,
			tools,
			limits,
			run: current,
			progress: (progress) => emit({ type: "plan_step", scope: session.scope, ...progress }),
			deliver: (text) => this.#say(session, plan, text),
			onBoundary: async (kind, title, at) => {
				const seq = await session.checkpoint(kind, title, at);
				emit({ type: "checkpoint", seq, kind, title });
			},
		});
		emit({ type: "plan_end", scope: session.scope, plan, outcome: "completed", failed });
	}

	#say(session: Session, plan: string, text: string): Promise<void> {
		const { since } = session.view.get(planRuns)[plan] as PlanRun;
		return sayOnce(session, { plan }, since, text, this.#ports.deliver);
	}
}

const planScope = ({ scope }: Session, plan: string): Scope => ({ ...scope, run: plan });

const started = (plan: string): string =>
	`plan ${plan} started; it works in the background and brings its answer by itself`;
