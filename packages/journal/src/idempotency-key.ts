/** The idempotency key of a call: the log's id, and the seq of the first durable start of the call. */
import type { Seq } from "@reyn/wal";

export const keyOf = (logId: string, started: Seq): string => `${logId}:${started}`;

/** The seq of the first durable start of the call that a key is of. */
export const startOf = (key: string): Seq => Number(key.slice(key.lastIndexOf(":") + 1));
