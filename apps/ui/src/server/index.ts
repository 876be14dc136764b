/** A page beside a durable agent, served on this machine alone. */
export { type CopyOptions, copyPage } from "./copy.ts";
export { type UiCode, UiError } from "./errors.ts";
export { type Served, type ServeOptions, serve } from "./serve.ts";
export type { Subject } from "./subject.ts";
