/** What other packages of Reyn need of this one, and nobody else: `@reyn/plan/internal`. It may change in any version. */
export { amend } from "./amend.ts";
export { keptOf } from "./artifact.ts";
export { defaultPlanLimits } from "./execute.ts";
export { shownTo } from "./narrow.ts";
export { costOf, tokensOf } from "./operate.ts";
export { isInFlight } from "./plan-runs.ts";
export { attemptLane } from "./records.ts";
export { isSettled, stepOf } from "./step-status.ts";
