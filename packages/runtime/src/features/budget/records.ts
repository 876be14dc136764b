/** The record of budgets: a fact about the world, which no rewind takes back. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

export const limitNames = [
	"turn_tokens",
	"turn_usd",
	"plan_tokens",
	"plan_usd",
	"session_tokens",
	"session_usd",
	"day_tokens",
	"day_usd",
] as const;

export type LimitName = (typeof limitNames)[number];

/** A person lets more be spent than the budget says. */
export const budgetExtended = defineRecord(
	"fact_budget_extended",
	z.object({
		limit: z.enum(limitNames),
		/** The turn (`turn/12`), the plan, or the day (`2026-11-27`, UTC); of a session absent, since that is the scope. */
		of: z.string().exactOptional(),
		/** The limit from now on: tokens, or US dollars with at most six decimals. */
		to: z.number().positive().max(1e15),
		by: z.string(),
	}),
);

export const budgetRecords = [budgetExtended] as const;
