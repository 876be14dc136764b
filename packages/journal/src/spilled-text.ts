/** Texts too large for a record: they lie beside the log, by themselves or as part of a stored model reply. */
import type { BlobStore } from "@reyn/wal";
import { z } from "zod";
import type { ModelReply } from "./model-step.ts";
import { loadResult, storeResult } from "./results.ts";

/** Refers to a text beside the log: the hash and the size of its JSON. */
export const spilledTextSchema = z.object({ sha256: z.string(), bytes: z.int().nonnegative() });
export type SpilledText = z.infer<typeof spilledTextSchema>;

/**
 * Stores a text, or the text of a reply, beside the log when it is above 32 KiB, or what is said; it is durable when this resolves. A reply that a
 * step gave lies there already, under the same hash. Undefined: the text goes into a record, since it is small or `blobs` is absent.
 */
export async function spillText(
	text: string | ModelReply,
	blobs?: BlobStore,
	inlineBytes?: number,
): Promise<SpilledText | undefined> {
	return (await storeResult(text, blobs, undefined, inlineBytes)).spilled;
}

/** Reads a text from beside the log. @throws JournalError `RESULT_LOST` when it is missing or changed there */
export async function readText(spilled: SpilledText, blobs?: BlobStore): Promise<string> {
	const kept = keptText.parse(await loadResult({ spilled }, blobs));
	return typeof kept === "string" ? kept : kept.text;
}

const keptText = z.union([z.string(), z.object({ text: z.string() })]);
