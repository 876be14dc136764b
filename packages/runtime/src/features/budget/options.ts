/** The options of budgets and prices, checked: a limit that nobody understands would stop nothing. */
import type { Prices } from "@reyn/journal";
import { dollarsSchema, pricesSchema } from "@reyn/journal/internal";
import { z } from "zod";
import { RuntimeError } from "../../kernel/errors.ts";

/** So much may be spent before a person is asked. */
export interface BudgetLimit {
	/** Tokens, in and out, at most 10^12. Default: no limit. */
	readonly tokens?: number | undefined;
	/** US dollars, with at most six decimals. Default: no limit. */
	readonly usd?: number | undefined;
}

/** At a limit a person is asked whether to go on; until somebody answers, nothing more is spent there. */
export interface BudgetOptions {
	/** Of one turn. */
	readonly turn?: BudgetLimit | undefined;
	/** Of one plan. */
	readonly plan?: BudgetLimit | undefined;
	/** Of one session: its turns, plans, skills and scripts. */
	readonly session?: BudgetLimit | undefined;
	/** Of one day (UTC), in all sessions. */
	readonly day?: BudgetLimit | undefined;
}

export interface MoneyOptions {
	readonly budget?: BudgetOptions | undefined;
	readonly prices?: Prices | undefined;
}

const limit = z
	.strictObject({ tokens: z.int().positive().max(1e12).optional(), usd: dollarsSchema.positive().optional() })
	.optional();

const schema = z.strictObject({
	budget: z.strictObject({ turn: limit, plan: limit, session: limit, day: limit }).optional(),
	prices: pricesSchema.optional(),
});

/** @throws RuntimeError `RUNTIME_BUDGET` */
export function assertMoney(options: MoneyOptions): void {
	const { error } = schema.safeParse(options);
	const [issue] = error?.issues ?? [];
	if (!issue) return;
	throw new RuntimeError("RUNTIME_BUDGET", `${issue.path.join(".")}: ${issue.message}; nothing was opened`, {
		path: issue.path,
	});
}
