/** The events of budgets. */
import type { Scope } from "@reyn/wal";

/** A model has no price, so its calls are not counted in the dollars of a budget. It is said once in a process. */
export type BudgetEvent = { readonly type: "budget_unpriced"; readonly scope: Scope; readonly model: string };
