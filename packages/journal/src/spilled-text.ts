/** Texts that are too large for a record: they lie beside the log, alone, or in the reply of a model that they are the text of. */
import type { BlobStore } from "@reyn/wal";
import { z } from "zod";
import type { ModelReply } from "./model-step.ts";
import { loadResult, storeResult } from "./results.ts";

/** Where a text lies: its JSON has this hash. */
export const spilledTextSchema = z.object({ sha256: z.string(), bytes: z.int().nonnegative() });
export type SpilledText = z.infer<typeof spilledTextSchema>;

/**
 * Keeps a text, or the text of a reply, beside the log where it is above 32 KiB; durable when this resolves. A reply that a step gave
 * lies there already, and is not there twice. Undefined: it goes into a record, also where there is no place for it.
 */
export async function spillText(text: string | ModelReply, blobs?: BlobStore): Promise<SpilledText | undefined> {
	return (await storeResult(text, blobs)).spilled;
}

/** @throws JournalError `RESULT_LOST` when it is missing or changed there */
export async function readText(spilled: SpilledText, blobs?: BlobStore): Promise<string> {
	const kept = keptText.parse(await loadResult({ spilled }, blobs));
	return typeof kept === "string" ? kept : kept.text;
}

const keptText = z.union([z.string(), z.object({ text: z.string() })]);
