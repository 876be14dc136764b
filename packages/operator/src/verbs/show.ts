/** `show`: the state at a moment, or the record of it. */

import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { stateLines } from "../lines/state.ts";
import { flag } from "../param.ts";
import { parseRef } from "../refs.ts";
import { seq, stateShape } from "../shapes.ts";
import { reportState } from "../state-report.ts";
import { asJson } from "../text.ts";
import { readVerb } from "../verb.ts";
import { newest, ref, session } from "./ref.ts";

const recordShape = z.looseObject({ seq, kind: z.string() });

export const show = readVerb({
	name: "show",
	summary: "the state at a moment, with a hash that proves it",
	params: {
		ref,
		entry: flag("the record itself", z.boolean().default(false)),
		n: newest("only the newest so many messages"),
		session,
	},
	example: "@-1",
	result: z.union([stateShape, recordShape]),
	async read(runtime, { ref, entry, n, session }) {
		const seq = await parseRef(ref, runtime);
		if (!entry) return reportState(runtime, seq, session, n);
		const record = await runtime.timeline.record(seq);
		if (!record)
			throw new OperatorError("OPERATOR_NOT_FOUND", "genesis is before the first record; the first one is #1");
		return { ...record };
	},
	lines(result) {
		const state = stateShape.safeParse(result);
		return state.success ? stateLines(state.data) : asJson(result, 2).split("\n");
	},
});
