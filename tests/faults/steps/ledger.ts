/**
 * What really happened, kept outside the journal, and what the journal must have made of it.
 *
 * A step is asked for by its program, called in tries, and each call makes one effect at most. How it is counted: a try is
 * called once, and once more for each call that was left open: its start is durable, its outcome is not, and whoever waited for
 * it is gone (a process that died, or a call around it that was given up). That is the price of `retry`; `skip` and `discard`
 * never call a try a second time. So with one crash, and no retries of its own, a step has 2 effects at most under `retry`, and
 * 1 under the others; a second crash adds one only if it leaves another call open.
 */
import type { InDoubtPolicy } from "@reyn/journal";
import { type Made, type PlannedStep, type Program, planned, SKIPPED, stepsOf, type Told } from "./program.ts";

/** A line of the log that is about a step, as it lies on the disk. */
export interface StepLine {
	readonly seq: number;
	readonly kind: string;
	readonly data: {
		readonly name: string;
		readonly occ: number;
		readonly attempt?: number;
		readonly retryable?: boolean;
	};
}

/** What a process found of a step when it began. */
interface Found {
	readonly attempt: number;
	readonly is: "open" | "completed" | "failed" | "to be tried again";
}

/** Of a step, over all processes. */
interface Account {
	readonly step: PlannedStep;
	/** Those of its effects: one, if all is well. */
	readonly keys: Set<string>;
	/** By try: how many effects, and how often it was left open. */
	readonly effects: number[];
	readonly leftOpen: number[];
	isDone: boolean;
	isSkipped: boolean;
}

/** Of a step, in one process. */
interface Asked {
	times: number;
	/** Of whoever asked for it last, or had its result. */
	lastAttempt: number;
	isOver: boolean;
	/** What was said to be done about it, being in doubt. */
	decision?: InDoubtPolicy | "reconciled";
}

export class Ledger {
	readonly policy: InDoubtPolicy;
	/** What must not be. */
	readonly wrong: string[] = [];
	readonly counts = { effects: 0, started: 0, repeated: 0, retry: 0, skip: 0, discard: 0, reconciled: 0, waits: 0 };
	readonly #accounts: ReadonlyMap<string, Account>;
	readonly #ownerOf = new Map<string, string>();
	readonly #top: readonly string[];
	#process = 0;
	#found: ReadonlyMap<string, Found> = new Map();
	#asked = new Map<string, Asked>();
	#isStopped = false;
	#isSlow = false;

	constructor(program: Program, policy: InDoubtPolicy) {
		this.policy = policy;
		const account = (step: PlannedStep): [string, Account] => [
			step.id,
			{ step, keys: new Set(), effects: [], leftOpen: [], isDone: false, isSkipped: false },
		];
		this.#accounts = new Map([...stepsOf(program)].map(account));
		this.#top = program.flatMap(({ lines }) => lines.flat().map(({ id }) => id));
	}

	hasSeen(key: string): boolean {
		return this.#ownerOf.has(key);
	}

	/** A process has opened the log, and found these lines. @param isSlow may its far sides be late? */
	begin(lines: readonly StepLine[], isSlow = false): void {
		this.#process++;
		this.#found = foundIn(lines);
		for (const [id, { is, attempt }] of this.#found)
			if (is === "open" && this.#asked.get(id)?.lastAttempt === attempt) count(this.#account(id).leftOpen, attempt);
		this.#asked = new Map();
		this.#isStopped = false;
		this.#isSlow = isSlow;
	}

	tell(told: Told): void {
		switch (told.kind) {
			case "asked":
				this.#ask(told.id);
				break;
			case "called":
				this.#called(told);
				break;
			case "effect":
				this.#happened(told);
				break;
			case "reconciled":
				this.#sameKey(told);
				this.#reconciled(told);
				break;
			case "in_doubt":
				this.#inDoubt(told);
				break;
			case "ended":
				this.#ended(told.id, told.value);
				break;
			case "stopped":
				this.#isStopped = true;
				if (told.code === "CALL_IN_DOUBT" && this.#isSlow) {
					this.counts.waits++;
					break;
				}
				if (told.code !== "STEP_DISCARDED" || this.policy !== "discard")
					this.#blame(`${told.id} stopped the run with ${told.code}`);
				if (this.counts.discard === 0) this.#blame(`${told.id} was discarded, and no event said so`);
		}
	}

	/** The process came to the end of its program, or to a stop. */
	end(): void {
		if (this.#isStopped) return;
		for (const id of this.#top) if (!this.#asked.get(id)?.isOver) this.#blame(`${id} has no result at the end`);
	}

	#ask(id: string): void {
		const { times = 0, lastAttempt = 0, isOver = false } = this.#asked.get(id) ?? {};
		// The one that was asked for it before has been given up: what it called may be open for ever.
		if (!isOver && lastAttempt > 0) count(this.#account(id).leftOpen, lastAttempt);
		this.#asked.set(id, { times: times + 1, lastAttempt: isOver ? lastAttempt : 0, isOver });
	}

	#called({ id, attempt, key }: Told & { kind: "called" }): void {
		const { step, isDone } = this.#account(id);
		const asked = this.#askedFor(id);
		const found = this.#found.get(id);
		const what = `try ${attempt} of ${id} is called`;
		if (asked.isOver) this.#blame(`${what}, which is over`);
		if (found?.is === "completed") this.#blame(`${what}, whose completion was durable`);
		if (found?.is === "failed") this.#blame(`${what}, whose failure was durable`);
		if (isDone) this.#blame(`${what}, which the far side had said is done`);
		if (asked.times === 1 && found?.is === "open" && asked.decision !== "retry")
			this.#blame(`${what}, which is in doubt; decided: ${asked.decision ?? "nothing"}`);
		const first = asked.times > 1 ? attempt : nextTry(found);
		const expected = asked.lastAttempt > 0 ? asked.lastAttempt + 1 : first;
		if (attempt !== expected) this.#blame(`${what}, and try ${expected} was due`);
		if (attempt > step.tries.length) this.#blame(`${what}, of ${step.tries.length}`);
		if ((key === undefined) !== (step.purity === "llm")) this.#blame(`${what} with the key ${key}`);
		asked.lastAttempt = attempt;
	}

	#happened(made: Told & { kind: "effect" }): void {
		const { id, attempt, key, isStarted } = made;
		const { keys, effects, leftOpen } = this.#account(id);
		this.#sameKey(made);
		keys.add(key);
		this.#ownerOf.set(key, id);
		if (isStarted) this.counts.started++;
		else this.#blame(`an effect of ${id}, try ${attempt}, without a durable start`);
		count(effects, attempt);
		const most = 1 + (this.#mayRepeat(id) ? (leftOpen[attempt] ?? 0) : 0);
		const times = effects[attempt] ?? 0;
		if (times > most) this.#blame(`${times} effects of ${id}, try ${attempt}; ${most} at most under ${this.policy}`);
		this.counts.effects++;
		if (times > 1) this.counts.repeated++;
	}

	/** A far side that knows nothing of an effect says so: then it is not the policy that decides. */
	#mayRepeat(id: string): boolean {
		return this.policy === "retry" || this.#account(id).step.farSide === "knows";
	}

	/** That of the effects: who asks and has made none may lose its start, and with it the key. */
	#sameKey({ id, key }: { readonly id: string; readonly key: string }): void {
		const [known = key] = this.#account(id).keys;
		if (known !== key) this.#blame(`${id} has the keys ${known} and ${key}`);
		const owner = this.#ownerOf.get(key) ?? id;
		if (owner !== id) this.#blame(`${id} has the key of ${owner}`);
	}

	/** What the far side knows to have happened, or not to have, is in no doubt: no event says so of the latter. */
	#reconciled({ id, answer }: Told & { kind: "reconciled" }): void {
		if (answer === "done") this.#account(id).isDone = true;
		const asked = this.#askedFor(id);
		if (answer === "not_done" && asked.decision === undefined) asked.decision = "retry";
	}

	/** An event names a step, not which of two equal ones: it is the one that is in doubt. */
	#inDoubt({ name, decision }: Told & { kind: "in_doubt" }): void {
		this.counts[decision]++;
		const waiting = [...this.#asked].find(
			([id, { decision, isOver, times }]) =>
				id.startsWith(`${name}:`) &&
				decision === undefined &&
				!isOver &&
				(times > 1 || this.#found.get(id)?.is === "open"),
		);
		if (!waiting) {
			this.#blame(`${name} was said to be in doubt, and is not`);
			return;
		}
		const [id, asked] = waiting;
		asked.decision = decision;
		const account = this.#account(id);
		if (decision === "skip") account.isSkipped = true;
		const expected = this.#decisionOf(account);
		// While an earlier call is on its way nobody knows better than the policy.
		if (decision !== expected && (asked.times === 1 || decision !== this.policy))
			this.#blame(`${id} is in doubt; decided: ${decision}, expected: ${expected}`);
	}

	#decisionOf({ step, keys }: Account): InDoubtPolicy | "reconciled" {
		if (step.farSide !== "knows") return this.policy;
		return [...keys].some((key) => this.hasSeen(key)) ? "reconciled" : "retry";
	}

	#ended(id: string, value: string): void {
		const { step, isSkipped } = this.#account(id);
		const asked = this.#askedFor(id);
		if (asked.times === 1 && this.#found.get(id)?.is === "open" && asked.decision === undefined)
			this.#blame(`${id} was in doubt, and no event said so`);
		const whole = planned(step);
		if (value !== whole && !(isSkipped && value === SKIPPED))
			this.#blame(`${id} gave ${value}; ${whole} without a crash`);
		asked.isOver = true;
	}

	#account(id: string): Account {
		const account = this.#accounts.get(id);
		if (!account) throw new Error(`the program has no step ${id}`);
		return account;
	}

	#askedFor(id: string): Asked {
		const asked = this.#asked.get(id);
		if (!asked) throw new Error(`nobody asked for ${id}`);
		return asked;
	}

	#blame(what: string): void {
		this.wrong.push(`process ${this.#process}: ${what}`);
	}
}

/** The lines of a log's files that are about steps; what a kill has cut is none. */
export function stepLines(files: Iterable<string>): StepLine[] {
	const lines: StepLine[] = [];
	for (const file of files)
		for (const line of file.split("\n"))
			if (line.includes('"kind":"step_') && line.endsWith('"}')) lines.push(JSON.parse(line) as StepLine);
	return lines.sort((a, b) => a.seq - b.seq);
}

/** Is there a start of this try, and is the first start of its step the one that its key names? */
export function hasStart(lines: readonly StepLine[], { id, attempt, key }: Made): boolean {
	const starts = lines.filter(({ kind, data }) => kind === "step_started" && idOf(data) === id);
	return key.endsWith(`:${starts[0]?.seq}`) && starts.some(({ data }) => (data.attempt ?? 1) === attempt);
}

const idOf = ({ name, occ }: StepLine["data"]): string => `${name}:${occ}`;

function foundIn(lines: readonly StepLine[]): Map<string, Found> {
	const found = new Map<string, Found>();
	for (const { kind, data } of lines) {
		const { attempt = found.get(idOf(data))?.attempt ?? 1 } = data;
		const is =
			kind === "step_started"
				? "open"
				: kind === "step_completed"
					? "completed"
					: data.retryable
						? "to be tried again"
						: "failed";
		found.set(idOf(data), { attempt, is });
	}
	return found;
}

/** With which try a process has to begin. */
const nextTry = (found: Found | undefined): number =>
	found === undefined ? 1 : found.is === "to be tried again" ? found.attempt + 1 : found.attempt;

function count(counts: number[], attempt: number): void {
	counts[attempt] = (counts[attempt] ?? 0) + 1;
}
