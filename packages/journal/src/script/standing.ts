/** Where the code of a script stands, across every `await`. */
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * One store for all runs: it is never given up, and in Node 22 each one makes every `await` of the process dearer.
 *
 * Node 22 keeps it on each promise, where a script finds it. So it is a symbol, and what that one stands for is known to
 * whoever has made it.
 */
export const standing = new AsyncLocalStorage<symbol | undefined>();
