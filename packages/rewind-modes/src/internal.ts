/** What other packages of Reyn need of this one, and nobody else: `@reyn/rewind-modes/internal`. It may change in any version. */
export { dropOf, meaningOf } from "./modes.ts";
export { counted } from "./preview-rewind.ts";
