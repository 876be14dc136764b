/** Tracks which realm and branch the running code belongs to, across every `await`. */
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * One store for all runs: a store lives for ever, and in Node 22 each one slows down every `await` of the process.
 *
 * The value is a symbol, because Node 22 keeps it on each promise, where a script can find it. Only its maker knows what the symbol
 * stands for.
 */
export const standing = new AsyncLocalStorage<symbol | undefined>();
