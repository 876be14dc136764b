/** Programs of steps, drawn by a seed, and how one runs over a journal. Every call tells what it does, so that a ledger can judge it. */
import {
	type InDoubtPolicy,
	type Journal,
	type Lane,
	NonRetryableError,
	type Reconciled,
	type RetryPolicy,
	type StepContext,
	type StepEvent,
} from "@reyn/journal";
import type { Random } from "../../kit/seeded.ts";

/** Parts come one after the other; the lines of a part run beside each other. */
export type Program = readonly Part[];

export interface Part {
	/** In one lane the steps of all lines are called in one go; in lanes of their own, each line is a sequence. */
	readonly in: "one lane" | "lanes";
	readonly lines: readonly (readonly PlannedStep[])[];
}

export interface PlannedStep {
	/** Its name, and how many equal calls come before it: what the ledger knows it by. */
	readonly id: string;
	readonly name: string;
	readonly purity: "side_effect" | "external" | "llm";
	/** What becomes of each of its tries; the value does not depend on which of them answers. */
	readonly tries: readonly Try[];
	readonly retry?: RetryPolicy;
	readonly timeoutMs?: number;
	/** Whether the far side knows what it has seen, and can be asked. */
	readonly farSide?: "knows" | "has no idea";
	readonly value: string;
	/** Steps that its call makes, in a sequence. */
	readonly inner: readonly PlannedStep[];
}

export interface Try {
	/** Does the call reach the far side? */
	readonly effect: boolean;
	/** `late` reaches it only after it was told to stop. */
	readonly ends: "answers" | "fails" | "is refused" | "hangs" | "is late";
	/** Over before any timer goes off. */
	readonly prompt: boolean;
}

/** What `skip` gives. */
export const SKIPPED = "(skipped)";
/** What a program goes on with when a step has failed. */
const FAILED = "(failed)";

export const policies: readonly InDoubtPolicy[] = ["retry", "skip", "discard"];

/** What a run tells of itself. */
export type Told =
	/** The step was asked for. */
	| { readonly kind: "asked"; readonly id: string }
	| { readonly kind: "called"; readonly id: string; readonly attempt: number; readonly key?: string | undefined }
	/** It happened; `isStarted`: its start was durable then. */
	| ({ readonly kind: "effect"; readonly isStarted: boolean } & Made)
	/** What the far side said when it was asked. */
	| {
			readonly kind: "reconciled";
			readonly id: string;
			readonly key: string;
			readonly answer: Reconciled<string>["kind"];
	  }
	| { readonly kind: "in_doubt"; readonly name: string; readonly decision: InDoubtPolicy | "reconciled" }
	/** What came of it; a value is cut to a length. */
	| { readonly kind: "ended"; readonly id: string; readonly value: string }
	| { readonly kind: "stopped"; readonly id: string; readonly code: string };

/** Where a program runs. */
export interface World {
	/** Resolves when what is under way goes on; never, when the process dies before. */
	turn(): Promise<void>;
	/** No timer goes off while it runs. */
	promptly<T>(run: () => Promise<T>): Promise<T>;
	/** Does a far side that is asked take its time? Then the limit of its step may be over before it has answered. */
	readonly isSlow: boolean;
	tell(told: Told): void;
	/** Is the start of this try durable? */
	isStarted(made: Made): boolean;
	/** Has an effect with this key happened? */
	hasSeen(key: string): boolean;
}

/** A call of an effect. */
export interface Made {
	readonly id: string;
	readonly attempt: number;
	readonly key: string;
}

/** One run of a program: that of one process. */
export class Run {
	readonly #journal: Journal;
	readonly #world: World;
	/** The keys of the calls that may yet reach the far side. */
	readonly #onTheWay: string[] = [];
	/** How often the far side was asked about each of them. */
	readonly #questions = new Map<string, number>();

	constructor(journal: Journal, world: World) {
		this.#journal = journal;
		this.#world = world;
	}

	/** A step that fails is no reason to stop; anything else that goes wrong is, when all that runs beside it is over. */
	async toEnd(program: Program): Promise<void> {
		for (const [at, part] of program.entries()) {
			const lines =
				part.in === "lanes"
					? part.lines.map((line, i) => this.#sequence(line, this.#journal.lane(`part${at}/line${i}`)))
					: part.lines.flat().map((step) => this.#perform(step, this.#journal.lane("main")));
			const stopped = (await Promise.allSettled(lines)).find(({ status }) => status === "rejected");
			if (stopped) throw (stopped as PromiseRejectedResult).reason;
		}
	}

	async #sequence(steps: readonly PlannedStep[], lane: Lane): Promise<void> {
		for (const step of steps) await this.#perform(step, lane);
	}

	async #perform(step: PlannedStep, lane: Lane): Promise<void> {
		const { id, name, purity, retry, timeoutMs, farSide } = step;
		const { tell } = this.#world;
		tell({ kind: "asked", id });
		let value: string;
		try {
			value = await lane.perform<string>({
				kind: purity === "llm" ? "model" : "step",
				name,
				args: {},
				purity,
				retry,
				timeoutMs,
				empty: SKIPPED,
				call: (context) => this.#call(step, context),
				...(farSide && { reconcile: (key) => this.#reconcile(step, key) }),
			});
		} catch (error) {
			// Whoever made this call has been given up, and with it all that it was about to do.
			if (lane.signal.aborted) throw error;
			const { code = String(error) } = error as { code?: string };
			if (!failures.includes(code)) {
				tell({ kind: "stopped", id, code });
				throw error;
			}
			value = FAILED;
		}
		tell({ kind: "ended", id, value: brief(value) });
	}

	async #call(step: PlannedStep, context: StepContext): Promise<string> {
		const { attempt, idempotencyKey: key } = context;
		const { id, tries } = step;
		const plan = tries[attempt - 1] as Try;
		this.#world.tell({ kind: "called", id, attempt, key });
		if (key !== undefined) this.#onTheWay.push(key);
		try {
			const make = (): Promise<string> => this.#make(step, plan, context);
			return await (plan.prompt ? this.#world.promptly(make) : make());
		} finally {
			if (key !== undefined) this.#onTheWay.splice(this.#onTheWay.indexOf(key), 1);
		}
	}

	async #make({ id, inner, value }: PlannedStep, { effect, ends }: Try, context: StepContext): Promise<string> {
		const { attempt, idempotencyKey: key, signal, lane } = context;
		const { tell, turn, isStarted } = this.#world;
		await turn();
		await this.#sequence(inner, lane);
		if (ends === "is late") {
			await stopOf(signal);
			await turn();
		}
		if (effect && key !== undefined) {
			const made = { id, attempt, key };
			tell({ kind: "effect", ...made, isStarted: isStarted(made) });
		}
		await turn();
		switch (ends) {
			case "answers":
			case "is late":
				return value;
			case "fails":
				throw Object.assign(new Error(`${id} fails`), { code: "FAILS" });
			case "is refused":
				throw new NonRetryableError(`${id} is refused`);
			case "hangs":
				await stopOf(signal);
				throw signal.reason;
		}
	}

	async #reconcile({ id, farSide, value }: PlannedStep, key: string): Promise<Reconciled<string>> {
		const { isSlow, promptly, turn, tell, hasSeen } = this.#world;
		const question = (this.#questions.get(key) ?? 0) + 1;
		this.#questions.set(key, question);
		await (isSlow ? turn() : promptly(turn));
		const knows = farSide === "knows" && !this.#onTheWay.includes(key);
		const answer: Reconciled<string> = !knows
			? { kind: "unknown" }
			: hasSeen(key)
				? { kind: "done", result: value }
				: { kind: "not_done" };
		// To one that was asked again meanwhile nobody listens.
		if (this.#questions.get(key) === question) tell({ kind: "reconciled", id, key, answer: answer.kind });
		return answer;
	}
}

export function observer(world: World): (event: StepEvent) => void {
	return (event) => {
		if (event.type === "in_doubt" && event.decision !== "waits")
			world.tell({ kind: "in_doubt", name: event.name, decision: event.decision });
	};
}

const failures = ["FAILS", "NON_RETRYABLE", "STEP_FAILED", "STEP_TIMEOUT"];

const stopOf = (signal: AbortSignal): Promise<void> =>
	new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});

/** A value as it is told. */
const brief = (value: string): string => (value.length > 40 ? `${value.slice(0, 20)}… ${value.length}` : value);

/** What a step comes to without a crash. */
export const planned = ({ tries, value }: PlannedStep): string =>
	tries.at(-1)?.ends === "answers" ? brief(value) : FAILED;

export function* stepsOf(program: Program): Generator<PlannedStep> {
	for (const { lines } of program) for (const step of lines.flat()) yield* [step, ...step.inner];
}

export function drawProgram(random: Random): Program {
	const draw = new Drawing(random);
	return Array.from({ length: 2 + random.below(3) }, () => draw.part());
}

class Drawing {
	readonly #random: Random;
	#steps = 0;

	constructor(random: Random) {
		this.#random = random;
	}

	part(): Part {
		if (this.#random.chance(0.4)) {
			const lines = this.#list(2, 3, () => this.#list(1, 2, () => this.step()));
			return { in: "lanes", lines };
		}
		if (this.#random.chance(0.6)) return { in: "one lane", lines: [[this.step()]] };
		const first = this.step();
		// Two equal calls, told apart by their order alone. Nobody outside could say which of them an event is about.
		const { farSide: _, ...twin } = { ...first, inner: [] };
		return { in: "one lane", lines: [[twin], [{ ...twin, id: `${first.name}:1`, value: `${first.name} again` }]] };
	}

	/** @param around that of the step whose call makes this one */
	step(around?: { readonly timeoutMs?: number }): PlannedStep {
		const name = `s${++this.#steps}`;
		const purity = this.#random.chance(0.2) ? "llm" : this.#random.chance(0.5) ? "external" : "side_effect";
		// What runs against a timer has none of its own: else time would have to stand still, and pass.
		const isPlain = around?.timeoutMs !== undefined;
		const timeoutMs = !isPlain && this.#random.chance(0.3) ? 50 : undefined;
		const maxAttempts = !isPlain && this.#random.chance(0.5) ? 2 + this.#random.below(2) : 1;
		// A model that failed is simply asked again: it leaves nothing to compare.
		const endsWell = purity === "llm" || this.#random.chance(0.8);
		const tries = Array.from({ length: maxAttempts }, (_, i) =>
			this.#try(i === maxAttempts - 1, endsWell, timeoutMs !== undefined),
		);
		const limit = timeoutMs === undefined ? {} : { timeoutMs };
		// Who knows of an effect says that it is done, though its caller was told that it failed.
		const farSide = this.#random.chance(0.5)
			? endsWell && this.#random.chance(0.6)
				? "knows"
				: "has no idea"
			: undefined;
		return {
			id: `${name}:0`,
			name,
			purity,
			tries,
			...limit,
			...(maxAttempts > 1 && { retry: { maxAttempts, initialIntervalMs: 20 } }),
			...(farSide && { farSide }),
			// Some lie beside the log.
			value: this.#random.chance(0.06) ? `${name} at length`.padEnd(40_000, "x") : `${name} done`,
			inner: around === undefined && this.#random.chance(0.25) ? this.#list(1, 2, () => this.step(limit)) : [],
		};
	}

	#try(isLast: boolean, endsWell: boolean, hasLimit: boolean): Try {
		if (isLast && endsWell) return { effect: true, ends: "answers", prompt: hasLimit };
		// One that may be too slow: the value is that of the last try anyway.
		if (hasLimit && endsWell && this.#random.chance(0.4)) return { effect: true, ends: "answers", prompt: false };
		const ways: Try["ends"][] = ["fails"];
		if (isLast) ways.push("is refused");
		if (hasLimit) ways.push("hangs", "is late");
		const ends = this.#random.pick(ways);
		return { effect: this.#random.chance(0.6), ends, prompt: false };
	}

	#list<T>(least: number, most: number, make: () => T): T[] {
		return Array.from({ length: least + this.#random.below(most - least + 1) }, make);
	}
}
