/** `interrupt`: stop the answer that is under way in a session. */
import { scopeKey } from "@reyn/wal";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { scopeText } from "../lines/scope.ts";
import { workVerb } from "../verb.ts";
import { session } from "./ref.ts";

export const interrupt = workVerb({
	name: "interrupt",
	summary: "stop the answer that is under way in a session; plans go on, and what it has done is kept",
	params: { session },
	example: "",
	isAlone: true,
	isAtOnce: true,
	begun: z.object({ interrupted: z.boolean() }),
	async check(runtime, { session }) {
		if (runtime.restored().turns.some(({ scope }) => scopeKey(scope) === scopeKey(session))) return;
		throw new OperatorError("OPERATOR_NOT_FOUND", `nothing is being answered in ${scopeText(session)}`, { session });
	},
	begin: async (runtime, { session }) => ({ interrupted: await runtime.interrupt(session) }),
	lines: ({ interrupted }) => [interrupted ? "it is stopped" : "nobody is working on an answer"],
});
