/** A user's own state, as a fold of entries: so that a recovery reads only what came after a checkpoint. */
import { type AnyProjection, defineProjection } from "@reyn/snapshot";
import type { StandardSchemaV1 } from "@reyn/wal";
import { z } from "zod";
import { rewindNote } from "../records.ts";
import { type Entry, entryOf } from "./entry.ts";
import type { Types } from "./types.ts";

export interface EntryFold<S> {
	/** Raise it when `init` or `next` changes: states that were stored are not used then. */
	readonly version: number;
	/** The state before the first entry. It is JSON, and so is each next one. */
	init(): S;
	/**
	 * The state after one more entry that counts; it must neither throw nor change the state before. Rewinds change what counts, and do not
	 * come here, but for the note of `summarize`: its type is `rewind`, and its `data.text` is for the model.
	 */
	next(state: S, entry: Entry): S;
}

export function projectionOf<S>({ version, init, next }: EntryFold<S>, { kinds }: Types): AnyProjection {
	return defineProjection<S>({
		name: "entries",
		version,
		schema: z.json() as unknown as StandardSchemaV1<unknown, S>,
		level: "session",
		init: () => init() as never,
		handle: (on) =>
			[...kinds.values(), rewindNote].map((kind) =>
				on(kind as never, (state, _, record) => next(state as S, entryOf(record)) as never),
			),
	});
}
