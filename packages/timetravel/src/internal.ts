/** What other packages of Reyn need of this one, and nobody else: `@reyn/timetravel/internal`. It may change in any version. */
export { assertActor } from "./bound.ts";
export { writeBeginning } from "./branch-index.ts";
export { isMeta } from "./records.ts";
