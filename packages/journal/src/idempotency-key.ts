/** The idempotency key of a call: the log's id, and the seq of the first durable start of the call. */
import { hash } from "node:crypto";
import type { Seq } from "@reyn/wal";

export const keyOf = (logId: string, started: Seq): string => `${logId}:${started}`;

/** The seq of the first durable start of the call that a key is of. */
export const startOf = (key: string): Seq => Number(key.slice(key.lastIndexOf(":") + 1));

/** The name of the directory in which a tool keeps what came of a call, so that it is found again, and collected with its records. */
export const callName = (key: string): string => hash("sha256", key, "hex").slice(0, 24);
