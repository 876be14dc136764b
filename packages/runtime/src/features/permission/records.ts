/** The records of permissions: facts about the world, which no rewind takes back. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

export const grantedSchema = z.object({
	action: z.string(),
	/** A subject; or a pattern of subjects, as the tool has said what a lasting permission covers. */
	on: z.string(),
	/** `on` is the very subject, whatever letters it has. */
	exact: z.literal(true).exactOptional(),
	agent: z.string(),
	/** Only in this session; absent: in all of the agent. */
	session: z.string().exactOptional(),
	by: z.string(),
});

/** A person allows something for good, or for a session. It is identified by the seq of this record. */
export const permissionGranted = defineRecord("fact_permission_granted", grantedSchema);

export const permissionRevoked = defineRecord(
	"fact_permission_revoked",
	z.object({ grant: z.int().positive(), by: z.string() }),
);

export const permissionRecords = [permissionGranted, permissionRevoked] as const;
