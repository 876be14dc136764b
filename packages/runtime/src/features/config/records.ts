/** The record of the configuration feature, besides the `file_changed` of each file, and the state of a change that was cut. */
import { defineProjection } from "@reyn/snapshot";
import { fileChanged } from "@reyn/snapshot/files";
import { defineRecord, type Seq } from "@reyn/wal";
import { z } from "zod";

/** The files are as the log has them. It is not waited for: where it is lost, the next start looks again, and changes nothing. */
export const configSettled = defineRecord("config_settled", z.object({}));

/** The oldest change since then: where its process died, its file may still be the old one. */
export const openChange = defineProjection<{ readonly seq?: Seq | undefined }>({
	name: "config_change",
	version: 1,
	schema: z.object({ seq: z.int().positive().exactOptional() }),
	init: () => ({}),
	level: "session",
	handle: (on) => [
		on(fileChanged, (state, _, { seq }) => (state.seq === undefined ? { seq } : state)),
		on(configSettled, () => ({})),
	],
});
