/** `compact`: have what was said in a session told in short, before it would have to be. */
import { z } from "zod";
import { seq } from "../shapes.ts";
import { workVerb } from "../verb.ts";
import { session } from "./ref.ts";

export const compact = workVerb({
	name: "compact",
	summary: "have the model tell in short what was said, and read that from then on; nothing of it is gone",
	params: { session },
	example: "",
	isAlone: true,
	begun: z.object({ turn: seq }),
	check: async (runtime, { session }) => runtime.checkCompaction(session),
	begin: async (runtime, { session }) => ({ turn: await runtime.compact(session) }),
	lines: ({ turn }) => [`what was said is told in short in #${turn}`],
});
