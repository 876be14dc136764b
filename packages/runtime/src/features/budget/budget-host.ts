/** Lets calls of models pass while a budget lasts; at its end a person is asked, and nothing is tried again. */
import { type Cost, dollarsInWords, type GatedCall, inDollars, type Prices, type Verdict } from "@reyn/journal";
import { dayOf, priceFor, workOf } from "@reyn/journal/internal";
import type { FeatureHost, Kernel } from "../../kernel/feature.ts";
import { asker } from "../../kernel/services.ts";
import type { Session, SessionScope } from "../../kernel/session.ts";
import type { BudgetEvent } from "./events.ts";
import { billOf, type Reached, reachedOf, saidFor } from "./limits.ts";
import type { BudgetOptions, MoneyOptions } from "./options.ts";
import { budgetExtended } from "./records.ts";
import { SPENT_UP, spentByDay, spentInSession, spentOn, tokensIn } from "./spent.ts";

/** What a turn, a plan, a skill or a script has cost. */
export interface SpentOnWork {
	/** In and out. */
	readonly tokens: number;
	readonly cost: Cost;
}

export class BudgetHost implements FeatureHost {
	readonly prices: Prices;
	readonly gate: FeatureHost["gate"];
	readonly #kernel: Kernel;
	/** The models of which was said that their calls are not counted in dollars. */
	readonly #said = new Set<string>();
	/** Who asks about a limit, by the limit: others wait for the answer. */
	readonly #asking = new Map<string, Promise<unknown>>();

	constructor(kernel: Kernel, { budget, prices = {} }: MoneyOptions) {
		this.#kernel = kernel;
		this.prices = prices;
		const isLimited = Object.values(budget ?? {}).some(
			(limit) => limit?.tokens !== undefined || limit?.usd !== undefined,
		);
		this.gate = budget && isLimited ? (session, call) => this.#decide(session, call, budget) : undefined;
	}

	/** What a work of a session has cost on all lines of history, of the newest 32 days on which something was spent there. */
	async spentOn(scope: SessionScope, work: string): Promise<SpentOnWork> {
		const { view } = await this.#kernel.timeline.wholeLog.live(scope);
		const spent = spentOn(view.get(spentInSession), work);
		return { tokens: tokensIn(spent), cost: billOf(spent, this.prices).cost };
	}

	async #decide(session: Session, call: GatedCall, budget: BudgetOptions): Promise<Verdict> {
		if (call.type !== "model") return { kind: "pass" };
		this.#sayUnpriced(session, call, budget);
		// All limits are looked at again after an answer, which may have taken days.
		for (;;) {
			const reached = await this.#reached(session, call, budget);
			if (!reached) return { kind: "pass" };
			const verdict = await this.#alone(session, reached, call, async () => {
				const now = await this.#reached(session, call, budget);
				return now && nameOf(now) === nameOf(reached) ? this.#ask(session, call, now) : undefined;
			});
			if (verdict) return verdict;
		}
	}

	async #reached(
		{ scope }: Session,
		{ lane, key: call }: GatedCall,
		budget: BudgetOptions,
	): Promise<Reached | undefined> {
		const { wholeLog } = this.#kernel.timeline;
		const [session, all] = await Promise.all([wholeLog.live(scope), wholeLog.live()]);
		const ledger = {
			session: session.view.get(spentInSession),
			all: all.view.get(spentByDay),
			work: workOf(lane),
			call,
			day: dayOf(this.#kernel.clock.now()),
		};
		return reachedOf(budget, ledger, this.prices);
	}

	/** @returns undefined: the limit was extended, durably */
	async #ask(session: Session, { lane, signal }: GatedCall, reached: Reached): Promise<Verdict | undefined> {
		const { name, of, unit, limit, spent, base } = reached;
		const [kind = "", id = ""] = lane.split("/");
		const answer = await this.#kernel.get(asker).ask(
			session,
			{
				// It is over with the work.
				key: `${workOf(lane)} budget ${nameOf(reached)}`,
				// A call that was refused, and is asked for once more, is asked about anew.
				terms: `${limit}, refused ${reached.refused}`,
				from: { kind, id },
				question: `${spentInWords(reached)}. Go on for another ${inWords(unit, base)}?`,
				...(reached.unknown > 0 && { lines: [unknownInWords(reached.unknown)] }),
				choices: ["yes", "no"],
				explained: "no",
				waits: true,
			},
			signal,
		);
		switch (answer.kind) {
			case "later":
				return { kind: "wait", for: `an answer to #${answer.seq}` };
			case "answered": {
				const [, choice, why] = /^(\w+)(?:: (.*))?$/s.exec(answer.text) ?? [];
				if (choice !== "yes")
					return spentUp(reached, `${answer.by} says no${why ? ` (${why})` : ""}: raise the budget, or ask again`);
				const to = saidFor(unit, spent + base);
				const draft = budgetExtended({ limit: name, ...(of !== undefined && { of }), to, by: answer.by });
				await session.log.append(draft, session.scope).durable;
				return undefined;
			}
		}
	}

	/** One asks at a time about one limit: what a person says to the first counts for all that wait. */
	#alone<T>({ scope }: Session, reached: Reached, { signal }: GatedCall, act: () => Promise<T>): Promise<T> {
		const key = reached.name.startsWith("day") ? nameOf(reached) : JSON.stringify([scope, nameOf(reached)]);
		const before = this.#asking.get(key) ?? Promise.resolve();
		const acted = before.then(() => {
			signal.throwIfAborted();
			return act();
		});
		const over = acted.then(
			() => {},
			() => {},
		);
		this.#asking.set(key, over);
		void over.then(() => this.#asking.get(key) === over && this.#asking.delete(key));
		return acted;
	}

	/** What is not counted is said, once for each model. */
	#sayUnpriced({ scope }: Session, { name }: GatedCall, { turn, plan, session, day }: BudgetOptions): void {
		const isInDollars = [turn, plan, session, day].some((limit) => limit?.usd !== undefined);
		if (!isInDollars || priceFor(this.prices, { kind: "model", name }) || this.#said.has(name)) return;
		this.#said.add(name);
		this.#kernel.emit({ type: "budget_unpriced", scope, model: name } satisfies BudgetEvent);
	}
}

const nameOf = ({ name, of }: Reached): string => (of === undefined ? name : `${name} ${of}`);

const inWords = (unit: Reached["unit"], amount: bigint): string =>
	unit === "tokens" ? `${amount.toLocaleString("en")} tokens` : dollarsInWords(inDollars(amount));

function spentInWords({ name, of, unit, spent, limit }: Reached): string {
	const [over] = name.split("_");
	const who = over === "session" ? "this session" : over === "day" ? `${of} (UTC)` : (of ?? "").replace("/", " ");
	const left = unit === "tokens" ? spent.toLocaleString("en") : inWords(unit, spent);
	return `${who} has spent ${left} of ${inWords(unit, limit)}`;
}

const unknownInWords = (calls: number): string =>
	`${calls} ${calls === 1 ? "call is" : "calls are"} not in it, of which nobody knows what ${calls === 1 ? "it" : "they"} cost`;

const spentUp = (reached: Reached, why: string): Verdict => ({
	kind: "deny",
	forNow: true,
	code: SPENT_UP,
	reason: `${spentInWords(reached)}; ${why}`,
});
