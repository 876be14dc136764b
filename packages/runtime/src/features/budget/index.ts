/** Budgets: how much may be spent before a person is asked. */
import type { Feature } from "../../kernel/feature.ts";
import { asker } from "../../kernel/services.ts";
import { auditBudget } from "./audit.ts";
import { BudgetHost } from "./budget-host.ts";
import { assertMoney, type MoneyOptions } from "./options.ts";
import { budgetRecords } from "./records.ts";
import { spentByDay, spentInSession } from "./spent.ts";

/** @param options without `budget` every call is made; what is spent is counted all the same @throws RuntimeError `RUNTIME_BUDGET` */
export function budgetFeature({ budget, prices }: MoneyOptions = {}): Feature<BudgetHost> {
	assertMoney({ budget, prices });
	return {
		name: "budget",
		records: { outside: budgetRecords },
		keeps: budgetRecords,
		projections: [spentByDay, spentInSession],
		needs: [asker],
		audit: auditBudget,
		start: (kernel) => new BudgetHost(kernel, { budget, prices }),
	};
}
