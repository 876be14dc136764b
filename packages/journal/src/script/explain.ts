/**
 * Previews a resume before anything is spent. The script runs against its recorded calls. A call that is not recorded gets the answer of
 * an earlier run at that place, or an empty one. Nothing is called, and nothing is written.
 */
import { codeOf, type Scope, type Seq } from "@reyn/wal";
import type { Identity, JournalEntry, Recall } from "../entry.ts";
import { type Divergence, JournalError, ReplayDivergenceError, reasonOf } from "../errors.ts";
import { failureOf, isStop, recalledAs, thrownAs } from "../failure.ts";
import type { Lane } from "../lane.ts";
import { type Order, rankOf, type Ticket } from "../order.ts";
import { type Asked, describe } from "../perform.ts";
import type { Model, Tool, Usage } from "../ports.ts";
import { leavesOutcome, startsDurably } from "../purity.ts";
import { loadResult, type StoredResult } from "../results.ts";
import type { Using } from "../step.ts";
import { isInner } from "./branches.ts";
import type { ScriptModule } from "./load.ts";
import type { Memory, ScriptMemo } from "./memo.ts";
import { scriptLane } from "./records.ts";
import { ScriptHost, type ScriptStep } from "./run-script.ts";

/** One call of the script, in the order in which they are made. */
export interface ExplainedCall {
	readonly lane: string;
	/** The position of the call in its lane, from 0. */
	readonly at: number;
	readonly kind: string;
	readonly label: string;
	/**
	 * `hit`: recalled. `live`: to be made. `again`: the world is asked again. `in_doubt`: started, outcome unknown. `failed`: its
	 * failure is recalled.
	 */
	readonly state: "hit" | "live" | "again" | "in_doubt" | "failed";
	/** Why the call is live: nothing is recorded here, another call is, or a call that this one may rest on has changed. */
	readonly why?: "new" | "changed" | "after a change";
	/** The first field that differs from the call that is recorded here. */
	readonly differs?: { readonly field: string; readonly was: string | undefined; readonly is: string | undefined };
	/** The record that it is compared with or recalled from. */
	readonly seq?: Seq;
	/** Tokens that are recalled. */
	readonly saved: number;
	/** The part of `saved` that rests on assumed answers before it: if these come otherwise, this may be another call, and to be paid for. */
	readonly guessed: number;
	/** Present when it is found behind assumed answers: if these come otherwise, this may be another call, and be made. */
	readonly isGuess?: true;
	/** The tokens that the call will cost: what the same call cost before, else the estimate of the script. Undefined: unknown. */
	readonly toPay: number | undefined;
	/** The seq of an earlier start of an effect that this call makes a second time, or may make so inside of it. */
	readonly repeats?: Seq;
}

export interface Explanation {
	readonly calls: readonly ExplainedCall[];
	readonly saved: number;
	/** The part of `saved` that rests on assumed answers: of models, of effects, of a world that is asked again. */
	readonly guessed: number;
	/** The tokens of all calls whose price is known. The tokens in `guessed` may have to be paid too. */
	readonly toPay: number;
	/** How many live calls have no known price. */
	readonly unknown: number;
	/**
	 * Saved tokens of all tokens, 0 to 100; undefined when a price is unknown, or the rest of the script, or where some are guessed, or in
	 * `unreached` without an `instead`, or the world is asked again.
	 */
	readonly percentFree: number | undefined;
	/** Was the script followed to its end? If not, `beyond` says what it did with the assumed answers. */
	readonly isWhole: boolean;
	readonly beyond?: string;
	/** How many calls got an assumed answer: the calls after them may come otherwise. */
	readonly assumed: number;
	/**
	 * What was begun or paid for before, and no call here stands for, nor is it in `repeats`: calls of the script, and of one that was cut
	 * what was made inside. Where answers are assumed, or the world's are asked again, the script may come to it, and make it again with all
	 * that is inside. `instead`: what is in its place here, which may be an edit of it, or stand before it. Empty where all is recorded.
	 */
	readonly unreached: readonly { readonly seq: Seq; readonly label: string; readonly instead?: string }[];
	/** Where the script asks for something else than is recorded. */
	readonly divergences: readonly Divergence[];
	/** Where the run would stop with `REPLAY_DIVERGENCE`, before anything is called. Absent: it would not, as far as it was followed. */
	readonly refused?: Divergence;
}

export interface ExplainPorts extends Pick<Using, "logId" | "results" | "redact"> {
	readonly model: Model;
	readonly tools: readonly Tool[];
	/** The recorded calls of the run. The preview changes it, so make a fresh one each time. */
	readonly memo: ScriptMemo;
	/** Earlier runs of a script of the same name, newest first: what their calls cost. */
	readonly earlier?: readonly ScriptMemo[];
	/** Does the script run in a process of its own? Default: false. */
	readonly isolate?: boolean | undefined;
	/** As in `ScriptPorts`. */
	readonly watchTimeSlice?: ((limitMs: number) => () => void) | undefined;
	/** Is the run over? Then every call has to be recorded. */
	readonly isOver: boolean;
}

/** Errors that are thrown by the preview: with them nothing is known of what the script would do. */
const notOfScript = ["SCRIPT_INVALID", "SCRIPT_ARGS", "DETERMINISM", "SCRIPT_ISOLATION", "SCRIPT_LOST"];

/** Whatever was told before was told before this. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER - 2 ** 32;

/** How many assumed calls are followed at most: with assumed answers a script may go on for ever. */
const MAX_ASSUMED = 1000;

/**
 * @throws JournalError `SCRIPT_INVALID`, `SCRIPT_ARGS`, `DETERMINISM`, `SCRIPT_ISOLATION`, `SCRIPT_LOST`; what the script itself
 * throws is part of the answer
 */
export async function explain(
	module: ScriptModule,
	run: string,
	args: unknown,
	scope: Scope,
	ports: ExplainPorts,
): Promise<Explanation & { readonly result?: unknown }> {
	const explorer = new Explorer(ports);
	const host = new ScriptHost(run, scope, explorer.using, {
		place: (lane, step, order) => explorer.place(lane, step, order),
		suspend: (reason) => explorer.stop(reason),
		diverged: (divergence, goOn) => explorer.diverged(divergence, goOn),
	});
	let end: { beyond?: string; result?: unknown } = {};
	try {
		end = { result: await host.run(module, args) };
	} catch (error) {
		const { code } = error as { code?: unknown };
		const isOfScript = !notOfScript.includes(String(code));
		if (!isOfScript) throw error;
		end = { beyond: reasonOf(error).message };
	}
	return { ...explorer.explanation(end.beyond), ...(end.result === undefined ? {} : { result: end.result }) };
}

class Explorer {
	readonly using: ConstructorParameters<typeof ScriptHost>[2];
	readonly #ports: ExplainPorts;
	/** The calls in the order in which they were asked for; an empty slot for one that never began. */
	readonly #calls: (ExplainedCall | undefined)[] = [];
	readonly #divergences: Divergence[] = [];
	/** Calls that come in another order than is recorded. */
	readonly #reordered: Divergence[] = [];
	#refused: Divergence | undefined;
	readonly #made = new Set<string>();
	readonly #enough = new AbortController();
	#assumed = 0;
	/** Is the world asked again? What it says leads anywhere. */
	#isWorldAsked = false;
	/** Has the script been given an assumed answer? */
	#isGuessing = false;

	constructor(ports: ExplainPorts) {
		this.#ports = ports;
		this.using = {
			...ports,
			model: { id: ports.model.id, generate: unrecorded },
			// Pure tools are called for real: they are not recorded, cost nothing and change nothing.
			tools: ports.tools.map((tool) => (leavesOutcome(tool.purity) ? uncalled(tool) : tool)),
			gate: undefined,
			log: { append: unrecorded },
			expected: ports.memo.expected(),
			stepsIn: (lane) => ports.memo.stepsIn(lane),
			// For the inner steps of a call. A world step counts as unchanged, since its new answer is not known.
			recall(step) {
				const known = ports.memo.recall(step);
				if (known.kind === "world") return { kind: "ghost", kept: known.kept, order: known.order };
				if (known.kind !== "ghost" && known.kind !== "failed") return known;
				const { from, ...recalled } = known;
				return recalled;
			},
			whenInDoubt: () => "discard",
			signal: this.#enough.signal,
			clock: { now: () => Number.MAX_SAFE_INTEGER },
			ask: async () => undefined,
			print() {},
		};
	}

	/** Ends the preview: the script cannot go on by itself. */
	stop(reason: Error): void {
		this.#enough.abort(reason);
	}

	/** Notes that calls come in another order than recorded, and lets the script go on: the rest of the preview is useful all the same. */
	diverged(divergence: Divergence, goOn: () => void): void {
		this.#reordered.push(divergence);
		this.#refused ??= divergence;
		goOn();
	}

	place<T>(lane: Lane, step: ScriptStep<T>, order: Order): () => Asked<T> {
		const id = lane.take(step);
		return () => this.#ask(lane, id, step, order);
	}

	#ask<T>(lane: Lane, id: Identity, step: ScriptStep<T>, order: Order): Asked<T> {
		const { memo } = this.#ports;
		this.#made.add(`${id.lane} ${id.place?.at}`);
		const known = memo.recall(id);
		const isGuess = this.#isGuessing;
		const at = this.#calls.push(undefined) - 1;
		const isUnheardOf = startsDurably(id.purity) && known.kind === "fresh" && !known.failed;
		const asked = { ...id, isUnheardOf, describe: () => describe(id) };
		const isTold = known.kind === "ghost" || known.kind === "world" || known.kind === "failed";
		const isPure = !leavesOutcome(id.purity);
		const rank = isPure ? 0 : rankOf(known);
		const ticket = order.ask(asked, isTold ? known.order : undefined, rank);
		const told = async (): Promise<T> => {
			if (isTold || isPure) this.#calls[at] = this.#row(id, known);
			else
				await this.#begins(ticket, () => {
					this.#calls[at] = this.#row(id, known);
				});
			const ending = await this.#ending(lane, id, step, known, at, ticket);
			const row = this.#calls[at];
			const isFound = row?.state === "hit" || row?.state === "failed";
			if (isGuess && row) this.#calls[at] = { ...row, guessed: row.saved, ...(isFound && { isGuess }) };
			await ticket.turn(this.using.signal);
			if (!isPure) memo.told(id, isTold);
			return ending();
		};
		return { known: { kind: "fresh" }, told, atHand() {}, observe() {}, done: () => ticket.done() };
	}

	/** Waits until the call would begin. One that would be refused ends the preview, as it ends the run. */
	async #begins(ticket: Ticket, refused: () => void): Promise<void> {
		try {
			await ticket.mayBegin(this.using.signal);
		} catch (error) {
			if (error instanceof ReplayDivergenceError) {
				const { expected, got, seq, path } = error;
				refused();
				const divergence = { expected, got, seq, path };
				this.#divergences.push(divergence);
				this.#refused ??= divergence;
				this.stop(error);
			}
			throw error;
		}
	}

	/** The row of a call in the preview. */
	#row(id: Identity, known: Recall): ExplainedCall {
		const { memo } = this.#ports;
		const here = memo.at(id.lane, id.place?.at ?? 0);
		const own = memo.own(id) ?? here;
		const row = freeRowOf(id);
		switch (known.kind) {
			case "ghost": {
				const seq = known.from === undefined ? seqOf(own) : { seq: known.from.seq };
				return { ...row, state: "hit", ...seq, saved: tokensOf(known.usage) };
			}
			case "world":
				return {
					...row,
					state: known.settled ? "hit" : "again",
					...(known.from ? { seq: known.from.seq } : seqOf(own)),
				};
			case "failed":
				return { ...row, state: "failed", ...seqOf(own) };
			case "in_doubt":
				return {
					...{ ...row, state: "in_doubt", toPay: this.#isFree(id) ? 0 : undefined },
					...{ ...seqOf(own), ...repeatsOf(memo.effectInside(id)) },
				};
			case "fresh":
				if (!leavesOutcome(id.purity)) return { ...row, state: "again" };
				return { ...row, state: "live", ...this.#whyLive(id, here) };
		}
	}

	/** Makes a pure call, which is recorded nowhere. */
	async #pure<T>(call: () => Promise<T>): Promise<() => T> {
		try {
			const value = await call();
			return () => value;
		} catch (error) {
			return () => {
				throw error;
			};
		}
	}

	/** Decides what answer the script gets for a call. */
	async #ending<T>(
		lane: Lane,
		id: Identity,
		step: ScriptStep<T>,
		known: Recall,
		at: number,
		ticket: Ticket,
	): Promise<() => T> {
		const given = (value: T) => () => value;
		switch (known.kind) {
			case "ghost":
			case "world": {
				const found = await this.#found<T>(id, known.kept);
				// What has no effect is made again where its result is lost.
				if (!found)
					return this.#live(lane, id, step, { ...freeRowOf(id), state: id.purity === "world" ? "again" : "live" }, at);
				if (known.kind === "ghost" || known.settled) return given(found.value);
				this.#isWorldAsked = true;
				return this.#guessed(found.value);
			}
			case "failed":
				return () => {
					throw recalledAs(known.reason, id);
				};
			case "in_doubt":
				this.#calls[at] = this.#row(id, known);
				ticket.assumed(this.#ports.memo.turnOf(id) ?? AFTER_ALL + at);
				return this.#guessed(await this.#assume(id, step));
			case "fresh": {
				const { signal } = this.using;
				if (!leavesOutcome(id.purity))
					return this.#pure(() => step.call({ signal, attempt: 1, lane: lane.inside(id) }));
				ticket.assumed(this.#ports.memo.turnOf(id) ?? AFTER_ALL + at);
				return this.#live(lane, id, step, this.#row(id, known), at);
			}
		}
	}

	/** The recorded result; undefined where it is lost, and the call has no effect. @throws JournalError `RESULT_LOST` for an effect */
	async #found<T>(id: Identity, kept: StoredResult): Promise<{ readonly value: T } | undefined> {
		try {
			return { value: (await loadResult(kept, this.#ports.results)) as T };
		} catch (error) {
			if (codeOf(error) !== "RESULT_LOST" || startsDurably(id.purity)) throw error;
			return undefined;
		}
	}

	/** Goes on with what a call that is to be made may give. */
	async #live<T>(lane: Lane, id: Identity, step: ScriptStep<T>, row: ExplainedCall, at: number): Promise<() => T> {
		// The script may end before it is known how far the call came.
		this.#calls[at] = { ...row, toPay: step.usage || !this.#isFree(id) ? undefined : 0 };
		const parts = await this.#followParts(lane, id, step);
		const { saved, guessed, end } = parts;
		this.#calls[at] = { ...row, saved, guessed, toPay: this.#toPay(id, step, parts) };
		if (end)
			return () => {
				this.#isGuessing ||= end.isGuess;
				return end.give();
			};
		return this.#guessed(await this.#assume(id, step));
	}

	/** Gives an assumed answer: what follows may come otherwise. */
	#guessed<T>(value: T): () => T {
		return () => {
			this.#isGuessing = true;
			return value;
		};
	}

	explanation(beyond: string | undefined): Explanation {
		const { memo, isOver } = this.#ports;
		for (const { id, entry } of isOver && beyond === undefined ? memo.calls() : []) {
			if (!id.place || isInner(id.lane) || entry.mayBeGone || this.#made.has(`${id.lane} ${id.place.at}`)) continue;
			const seq = seqOf({ entry }).seq;
			this.#divergences.push({ expected: describe(id), got: "no call", seq, path: `${id.lane}[${id.place.at}]` });
		}
		const calls = this.#calls.filter((call) => call !== undefined);
		const sum = (of: (call: ExplainedCall) => number): number => calls.reduce((all, call) => all + of(call), 0);
		const saved = sum((call) => call.saved);
		const guessed = sum((call) => call.guessed);
		const toPay = sum((call) => call.toPay ?? 0);
		const unknown = sum((call) => (call.toPay === undefined ? 1 : 0));
		const isWhole = beyond === undefined;
		const unreached = this.#assumed > 0 || this.#isGuessing ? this.#unreached(calls) : [];
		const isAsked = this.#isWorldAsked || unreached.some(({ instead }) => instead === undefined);
		const isKnown = isWhole && unknown + guessed === 0 && !isAsked;
		const all = saved + toPay;
		return {
			calls,
			saved,
			guessed,
			toPay,
			unknown,
			percentFree: isKnown && all > 0 ? Math.round((100 * saved) / all) : undefined,
			isWhole,
			...(beyond === undefined ? {} : { beyond }),
			assumed: this.#assumed,
			unreached,
			divergences: this.#divergences.length > 0 ? this.#divergences : this.#reordered,
			...(this.#refused && { refused: this.#refused }),
		};
	}

	#unreached(calls: readonly ExplainedCall[]): Explanation["unreached"] {
		const named = new Set(calls.map(({ repeats }) => repeats));
		return this.#ports.memo
			.left(named)
			.map(({ seq, id, instead }) => ({
				...{ seq, label: freeRowOf(id).label },
				...(instead && { instead: freeRowOf(instead).label }),
			}))
			.toSorted((a, b) => a.seq - b.seq);
	}

	#whyLive(id: Identity, here: Memory | undefined): Pick<ExplainedCall, "why" | "differs" | "seq" | "repeats"> {
		const { memo, isOver } = this.#ports;
		const itself = startsDurably(id.purity) ? memo.effectLike(id)?.entry.started : undefined;
		const repeats = repeatsOf(itself ?? memo.effectInside(id));
		const path = `${id.lane}[${id.place?.at}]`;
		// A call that was begun and has no outcome is this very one.
		if (here && here.id.fp !== id.fp) {
			const differs = firstDifference(here.id, id);
			const divergence = { expected: describe(here.id), got: describe(id), seq: seqOf(here).seq, path };
			// Not a divergence after a failure: a run that goes on may ask for other calls there.
			if (!here.entry.mayBeGone) this.#divergences.push(divergence);
			return { why: "changed", differs, ...seqOf(here), ...repeats };
		}
		if (here?.entry.outcome?.type === "completed") return { why: "after a change", ...seqOf(here), ...repeats };
		if (isOver) this.#divergences.push({ expected: "the end", got: describe(id), seq: undefined, path });
		return { why: "new", ...repeats };
	}

	/** Goes through the recorded inner steps of a call that was cut. */
	async #followParts<T>(lane: Lane, id: Identity, step: ScriptStep<T>): Promise<Parts<T>> {
		const { using } = this;
		let [saved, guessed, isGuess] = [0, 0, false];
		if (!step.usage) return { saved, guessed };
		const inner = lane.inside(id, {
			...using,
			recall: (part, program) => {
				const known = this.#ports.memo.recall(part);
				isGuess ||= known.kind === "world" && !known.settled;
				return using.recall(part, program);
			},
			observe(event) {
				if (event.type !== "ghost") return;
				saved += tokensOf(event.usage);
				if (isGuess) guessed += tokensOf(event.usage);
			},
		});
		try {
			const result = await step.call({ signal: using.signal, attempt: 1, lane: inner });
			return { saved, guessed, end: { give: () => result, isGuess } };
		} catch (error) {
			const isCut = error instanceof Unrecorded || using.signal.aborted || isStop(error);
			if (isCut) return { saved, guessed };
			// What failed in it is recorded, and fails it again.
			const give = (): never => {
				throw thrownAs(error, failureOf(error, using.redact), id);
			};
			return { saved, guessed, end: { give, isGuess } };
		}
	}

	/** The tokens that a call will cost: what the same call cost before, else the script's estimate, minus its recorded inner steps. */
	#toPay<T>(id: Identity, step: ScriptStep<T>, { saved, end }: Parts<T>): number | undefined {
		if (end) return 0;
		if (!step.usage) return this.#isFree(id) ? 0 : undefined;
		const cost = this.#alike(id);
		const whole = cost ? tokensOf(usageOf(cost)) : step.estimate;
		// What has used all of that and is not over costs more: nobody knows how much.
		return whole === undefined || (saved > 0 && saved >= whole) ? undefined : whole - saved;
	}

	/** Costs an effect nothing? What its like has called a model for may cost anything. */
	#isFree({ name }: Identity): boolean {
		const { memo, earlier = [] } = this.#ports;
		return ![memo, ...earlier].some((each) => each.paysInside(name));
	}

	/** The newest call with the same kind, name and arguments that is known to its end, of this run or an earlier one. */
	#alike(id: Identity): JournalEntry | undefined {
		const { memo, earlier = [] } = this.#ports;
		for (const each of [memo, ...earlier]) {
			const found = each.alike(id);
			if (found) return found;
		}
		return undefined;
	}

	/** The newest call of the same kind at the same place, when there is none alike. */
	#atThisPlace({ lane, kind, place }: Identity): JournalEntry | undefined {
		const { memo, earlier = [] } = this.#ports;
		for (const each of [memo, ...earlier]) {
			const found = each.at(lane.replace(scriptLane(memo.run), scriptLane(each.run)), place?.at ?? 0);
			if (found?.id.kind === kind && found.entry.outcome?.type === "completed") return found.entry;
		}
		return undefined;
	}

	/** The assumed answer of a call: the result of an earlier one, or an empty one. */
	async #assume<T>(id: Identity, step: ScriptStep<T>): Promise<T> {
		if (++this.#assumed > MAX_ASSUMED) {
			this.#enough.abort(new JournalError("REPLAY_DIVERGENCE", `more than ${MAX_ASSUMED} calls are not recorded`));
			throw this.#enough.signal.reason;
		}
		const { outcome } = this.#alike(id) ?? this.#atThisPlace(id) ?? {};
		if (outcome?.type === "completed") {
			try {
				return (await loadResult(outcome.kept, this.#ports.results)) as T;
			} catch {
				// A lost result counts as none.
			}
		}
		return step.assumed as T;
	}
}

const repeatsOf = (seq: Seq | undefined): Pick<ExplainedCall, "repeats"> => (seq === undefined ? {} : { repeats: seq });

/** A row that neither saves nor costs anything yet. */
const freeRowOf = ({ lane, place, kind, name }: Identity) => ({
	...{ lane, at: place?.at ?? 0, kind, label: place?.label ?? name },
	...{ saved: 0, guessed: 0, toPay: 0 },
});

interface Parts<T> {
	/** The tokens of the recorded inner steps. */
	readonly saved: number;
	/** The part of them that comes after a world step which is asked again. */
	readonly guessed: number;
	/** Present when all inner steps are recorded. `give` throws if the call has failed. */
	readonly end?: { readonly isGuess: boolean; give(): T };
}

/** Stands in for the model and the tools of a preview: it calls nothing. */
function unrecorded(): never {
	throw new Unrecorded("REPLAY_DIVERGENCE", "this is not recorded");
}

class Unrecorded extends JournalError {}

/** A tool that neither calls nor reconciles. */
const uncalled = ({ name, description, parameters, purity }: Tool): Tool => ({
	name,
	description,
	parameters,
	purity,
	call: unrecorded,
});

/** The first field that differs, in the order of the present call. */
function firstDifference(was: Identity, is: Identity): NonNullable<ExplainedCall["differs"]> {
	if (was.kind !== is.kind) return { field: "kind", was: was.kind, is: is.kind };
	if (was.name !== is.name) return { field: is.kind === "agent" ? "model" : "name", was: was.name, is: is.name };
	const before = was.place?.fields ?? {};
	const now = is.place?.fields ?? {};
	const field = [...Object.keys(now), ...Object.keys(before)].find((each) => now[each] !== before[each]) ?? "…";
	return { field, was: before[field], is: now[field] };
}

const seqOf = (memory: Pick<Memory, "entry"> | undefined): { seq?: Seq } => {
	const seq = memory?.entry.outcome?.seq ?? memory?.entry.started;
	return seq === undefined ? {} : { seq };
};

const usageOf = ({ outcome }: JournalEntry): Usage | undefined =>
	outcome?.type === "completed" ? outcome.usage : undefined;

const tokensOf = (usage: Usage | undefined): number => (usage ? usage.inputTokens + usage.outputTokens : 0);
