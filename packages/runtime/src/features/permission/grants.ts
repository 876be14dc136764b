/** What people have granted and not revoked, whatever line of history they were on. */
import { defineProjection } from "@reyn/snapshot";
import { z } from "zod";
import { grantedSchema, permissionGranted, permissionRevoked } from "./records.ts";

const grant = grantedSchema.extend({
	seq: z.int().positive(),
	/** When, in milliseconds since 1970. */
	at: z.number(),
});

/** Something that a person has granted. */
export type Grant = z.infer<typeof grant>;

export const grants = defineProjection<readonly Grant[]>({
	name: "grants",
	version: 1,
	schema: z.array(grant),
	init: () => [],
	follows: "log",
	level: "process",
	handle: (on) => [
		on(permissionGranted, (state, granted, { seq, ts: at }) => [...state, { ...granted, seq, at }]),
		on(permissionRevoked, (state, { grant }) => state.filter(({ seq }) => seq !== grant)),
	],
});
