/** What other packages of Reyn need of this one, and nobody else: `@reyn/snapshot/internal`. It may change in any version. */
export { asFileName } from "./file-name.ts";
export { projectionsAt } from "./projection.ts";
export { newestSnapshot } from "./restore.ts";
export { projectionsIn } from "./snapshot.ts";
export { unsealed } from "./store.ts";
