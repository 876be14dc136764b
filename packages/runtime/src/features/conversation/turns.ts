/** Takes the prompts of all sessions, and what is to be told in short; the turns of a session run one after the other. */
import { type AttachedFile, JournalError } from "@reyn/journal";
import { assertShown, assertTaken, attach, attachedAs, unlessAborted } from "@reyn/journal/internal";
import type { Seq } from "@reyn/wal";
import { isReynError } from "@reyn/wal";
import { stopReason } from "../../kernel/background.ts";
import type { Kernel } from "../../kernel/feature.ts";
import { asker } from "../../kernel/services.ts";
import type { Session, SessionScope } from "../../kernel/session.ts";
import { IMAGES } from "../../kernel/store.ts";
import { assertTold } from "../../redaction/redact.ts";
import { assertCompactable } from "./compaction.ts";
import { chainOf, conversation, isPrompt, modelOf, titleOf, turnLane } from "./conversation.ts";
import type { TurnEvent } from "./events.ts";
import { TURN, turnWork } from "./pieces.ts";
import { compactionAsked, turnInterrupted, userPrompt } from "./records.ts";
import { runTurn } from "./turn.ts";

/** A file that is given with a prompt: an image or a PDF, up to 3.75 MB. */
export interface GivenFile {
	/** For people: `shot.png`. What it is its bytes say. */
	readonly name: string;
	readonly bytes: Uint8Array;
}

export interface PromptOptions {
	/** Who waits for the answer, by a name of theirs: a plan that comes of it carries it, and each text and event of its end does. */
	readonly chain?: string | undefined;
}

export class Turns {
	readonly #kernel: Kernel;
	readonly #maxRounds: number;
	readonly #mendings: number;
	/** The turns that were asked for in this process and whose first run is not over. */
	readonly #asked = new Set<Seq>();

	/**
	 * @param maxRounds of model and tools in one turn, before somebody is asked
	 * @param mendings of what a model hands over in one turn
	 */
	constructor(kernel: Kernel, maxRounds: number, mendings: number) {
		if (!(Number.isInteger(maxRounds) && maxRounds >= 1))
			throw new TypeError(`turnRounds is a whole number from 1 on; found ${maxRounds}`);
		this.#kernel = kernel;
		if (!(Number.isInteger(mendings) && mendings >= 0))
			throw new TypeError(`plans.invalidRetries is a whole number from 0 on; found ${mendings}`);
		this.#maxRounds = maxRounds;
		this.#mendings = mendings;
	}

	/**
	 * Gives a prompt to a session; resolves with its turn once the prompt is durable. The same prompt as a cut turn resumes that turn.
	 *
	 * @throws JournalError `FILE_REFUSED`, before anything is recorded
	 */
	async prompt(
		given: string,
		scope: SessionScope,
		attached: readonly GivenFile[],
		{ chain }: PromptOptions,
	): Promise<Seq> {
		const { redact, sessions } = this.#kernel;
		this.#kernel.assertOpen();
		const text = redact?.(given) ?? given;
		for (const name of [scope.agent, scope.session]) assertTold("the name of a session", name, redact?.(name));
		if (chain !== undefined) assertTold("the name of who waits", chain, redact?.(chain));
		const files = await this.#attach(attached, scope);
		const session = await this.#kernel.beforeClose(sessions.ensure(scope));
		if (text !== given) this.#emit({ type: "prompt_redacted", scope: session.scope });
		const again = this.#cutTurn(session, text, files, chain);
		if (again === undefined) {
			const { seq, durable } = session.log.append(
				userPrompt({
					...{ text, by: "person", model: this.#kernel.agent(session.scope).model.id },
					...(chain !== undefined && { chain }),
					...(files.length > 0 && { files }),
				}),
				session.scope,
			);
			this.#asked.add(seq);
			await durable;
			this.run(session);
			return seq;
		}
		this.#emit({ type: "prompt_known", scope: session.scope, turn: again });
		this.run(session);
		return again;
	}

	/**
	 * Begins a turn that tells in short what was said so far, and nothing else; resolves with it once that is durable.
	 *
	 * @throws RuntimeError `RUNTIME_UNKNOWN_SESSION`, `RUNTIME_COMPACTION`; nothing is recorded then
	 */
	async compact(scope: SessionScope): Promise<Seq> {
		const { sessions } = this.#kernel;
		this.#kernel.assertOpen();
		await this.#kernel.beforeClose(sessions.rewound(scope));
		const session = sessions.at(scope);
		assertCompactable(session);
		const { model } = this.#kernel.agent(session.scope);
		const { seq, durable } = session.log.append(compactionAsked({ model: model.id }), session.scope);
		await durable;
		this.run(session);
		return seq;
	}

	/** Stops the running turn of a session, if there is one. */
	async interrupt(session: Session): Promise<boolean> {
		const turn = turnWork(session.scope);
		if (!session.isRunning(turn)) return false;
		await session.stop(turn, INTERRUPTED);
		return true;
	}

	/** Runs the open turns of a session one after the other. */
	run(session: Session): void {
		const work = turnWork(session.scope);
		const open = (): readonly Seq[] => session.view.get(conversation).open;
		if (session.isRunning(work) || open().length === 0) return;
		session.start(work, async (signal) => {
			try {
				let last: Seq | undefined;
				for (let [turn] = open(); turn !== undefined && !signal.aborted; [turn] = open()) {
					// The turn has ended, but this state does not see that: running it again would pay for it endlessly.
					if (turn === last) return;
					last = turn;
					// A turn that is kept holds up the next one, which may rest on its answer.
					if ((await this.#turn(session, turn, signal)) === "kept") return;
				}
			} catch {
				// The log takes no records, not even that a turn has stopped: the turn stays open, and goes on at the next start.
			}
		});
	}

	/** An open turn with this prompt that was cut: it is not one that was just asked for. */
	#cutTurn({ view }: Session, text: string, files: readonly AttachedFile[], chain?: string): Seq | undefined {
		const state = view.get(conversation);
		return state.open.find(
			(turn) => !this.#asked.has(turn) && isPrompt(state, turn, text, files) && chainOf(state, turn) === chain,
		);
	}

	/**
	 * Keeps what is given with a prompt, before the record that names it. What a cut turn has lost is there again then.
	 *
	 * @throws JournalError `FILE_REFUSED`, and nothing is kept
	 */
	async #attach(given: readonly GivenFile[], scope: SessionScope): Promise<readonly AttachedFile[]> {
		if (given.length === 0) return [];
		const { redact } = this.#kernel;
		const { model } = this.#kernel.agent(scope);
		const named = given.map(({ name, bytes }) => ({ name: redact?.(name) ?? name, bytes }));
		const files = named.map(({ name, bytes }) => attachedAs(name, bytes));
		for (const file of files) assertTaken(file, model);
		assertShown(files);
		const store = this.#kernel.blobs(IMAGES);
		return Promise.all(named.map(({ name, bytes }) => attach(name, bytes, store)));
	}

	async #turn(session: Session, turn: Seq, signal: AbortSignal): Promise<"over" | "kept"> {
		const { scope, log } = session;
		const kernel = this.#kernel;
		const keep = this.#keeperOf(turn, signal);
		const title = titleOf(session.view.get(conversation), turn);
		const piece = {
			kind: TURN,
			id: String(turn),
			work: turnWork(scope),
			status: "running",
			title,
			chain: chainOf(session.view.get(conversation), turn),
			since: turn,
		} as const;
		const agent = kernel.agentFor(scope, piece, modelOf(session.view.get(conversation), turn));
		try {
			await runTurn(session, turn, {
				...kernel.using(session, signal),
				// No store for results: the conversation is folded from the steps of turns, so their records have to hold the texts.
				results: undefined,
				texts: kernel.results,
				keep,
				maxRounds: this.#maxRounds,
				mendings: this.#mendings,
				more: (rounds) => this.#mayGoOn(session, turn, rounds, signal),
				model: agent.model,
				instructions: await unlessAborted(agent.instructions(), signal),
				tools: kernel.tools({ session, piece, for: "turn", model: agent.model.id }),
				onText: (delta, round) => this.#emit({ type: "text", scope, turn, round, delta }),
			});
			await keep(() => session.checkpoint("turn", title.length > 60 ? `${title.slice(0, 59)}…` : title));
			return "over";
		} catch (error) {
			return this.#stopped(session, log, turn, signal, error);
		} finally {
			this.#asked.delete(turn);
		}
	}

	/** Asks a person, durably: a turn that goes on after a crash is told the same. @throws JournalError `CALL_WAITING` */
	async #mayGoOn(session: Session, turn: Seq, rounds: number, signal: AbortSignal): Promise<boolean> {
		const answer = await this.#kernel.get(asker).ask(
			session,
			{
				key: `${turnLane(turn)} rounds ${rounds}`,
				from: { kind: TURN, id: String(turn) },
				question: `The turn has no answer after ${rounds} ${rounds === 1 ? "round" : "rounds"} of model and tools. Go on for another ${this.#maxRounds}?`,
				choices: ["yes", "no"],
				waits: true,
			},
			signal,
		);
		if (answer.kind === "later")
			throw new JournalError("CALL_WAITING", `the turn waits for an answer to #${answer.seq}`, { seq: answer.seq });
		return answer.text === "yes";
	}

	#keeperOf(turn: Seq, signal: AbortSignal) {
		return <T>(write: () => T | Promise<T>): Promise<T> =>
			this.#kernel.space.keep(`turn ${turn}`, "said", write, signal);
	}

	/**
	 * Decides whether a turn that stopped stays open. It does when a rewind or the end of the process cut it: the rewind closes it, or
	 * the next start goes on with it. It does too when its model is away, a call waits for a permit, or a call in doubt cannot be
	 * asked about: what it has paid for and done is kept until a person resumes it, or gives it up.
	 */
	async #stopped(
		session: Session,
		log: Session["log"],
		turn: Seq,
		signal: AbortSignal,
		error: unknown,
	): Promise<"over" | "kept"> {
		const { scope } = session;
		const reason = stopReason(signal, error);
		const { code } = (error ?? {}) as { code?: unknown };
		const waits = code === "MODEL_UNAVAILABLE" || code === "CALL_WAITING" || code === "CALL_IN_DOUBT";
		if (waits && !signal.aborted) {
			// Prompts that wait behind it were not begun: asking one of them again means the same prompt.
			for (const open of session.view.get(conversation).open) this.#asked.delete(open);
			this.#emit({ type: "turn_end", scope, turn, outcome: "stopped", reason });
			return "kept";
		}
		const isFinal = !isReynError(error, "STALE_LINEAGE") && (!signal.aborted || reason === INTERRUPTED);
		let isRecorded = false;
		try {
			if (!isFinal) return "over";
			await (await this.#keeperOf(turn, signal)(() => log.append(turnInterrupted({ turn, reason }), scope))).durable;
			isRecorded = true;
		} finally {
			if (!isRecorded) this.#emit({ type: "turn_end", scope, turn, outcome: "interrupted", reason });
		}
		return "over";
	}

	#emit(event: TurnEvent): void {
		this.#kernel.emit(event);
	}
}

const INTERRUPTED = "interrupted by the user";
